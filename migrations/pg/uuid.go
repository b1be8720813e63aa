package pg

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// registerUUID makes the connection write and read uuid.UUID as the sixteen bytes that it is. The
// driver's own way leads through database/sql and text, a fifth of the time that an order takes in
// this process.
func registerUUID(_ context.Context, conn *pgx.Conn) error {
	m := conn.TypeMap()
	t := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}}
	m.RegisterType(t)
	m.RegisterType(&pgtype.Type{Name: "_uuid", OID: pgtype.UUIDArrayOID, Codec: &pgtype.ArrayCodec{ElementType: t}})
	return nil
}

// uuidCodec is the driver's codec, which also knows uuid.UUID and pointers to it.
type uuidCodec struct{ pgtype.UUIDCodec }

// PlanEncode plans how to write value.
func (c uuidCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	switch value.(type) {
	case uuid.UUID, *uuid.UUID:
		if next := c.UUIDCodec.PlanEncode(m, oid, format, rawUUID{}); next != nil {
			return uuidEncode{next}
		}
	}
	return c.UUIDCodec.PlanEncode(m, oid, format, value)
}

// PlanScan plans how to read into target.
func (c uuidCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*uuid.UUID); ok {
		if next := c.UUIDCodec.PlanScan(m, oid, format, new(rawUUID)); next != nil {
			return uuidScan{next}
		}
	}
	return c.UUIDCodec.PlanScan(m, oid, format, target)
}

// rawUUID is an identifier as the driver's codec knows it.
type rawUUID uuid.UUID

// UUIDValue gives the bytes to the codec.
func (u rawUUID) UUIDValue() (pgtype.UUID, error) { return pgtype.UUID{Bytes: u, Valid: true}, nil }

// ScanUUID takes the bytes from the codec. NULL changes nothing, as with uuid.UUID itself: who
// expects it reads into a pointer.
func (u *rawUUID) ScanUUID(v pgtype.UUID) error {
	if v.Valid {
		*u = v.Bytes
	}
	return nil
}

type uuidEncode struct{ next pgtype.EncodePlan }

// Encode writes an identifier or what a pointer points to; the driver has dealt with nil.
func (p uuidEncode) Encode(value any, buf []byte) ([]byte, error) {
	if ptr, ok := value.(*uuid.UUID); ok {
		return p.next.Encode(rawUUID(*ptr), buf)
	}
	return p.next.Encode(rawUUID(value.(uuid.UUID)), buf) //nolint:forcetypeassert // planned for this type
}

type uuidScan struct{ next pgtype.ScanPlan }

// Scan reads an identifier.
func (p uuidScan) Scan(src []byte, target any) error {
	return p.next.Scan(src, (*rawUUID)(target.(*uuid.UUID))) //nolint:forcetypeassert // planned for this type
}
