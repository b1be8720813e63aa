package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Event is one entry of a machine's history: "added", "status", "wiped" or "changed".
type Event struct {
	At        time.Time       `db:"at"`
	Event     string          `db:"event"`
	Reason    string          `db:"reason"`
	Actor     string          `db:"actor"`
	RequestID *string         `db:"request_id"`
	Before    json.RawMessage `db:"before"`
	After     json.RawMessage `db:"after"`
}

// maxEvents bounds how much history one answer carries; the newest count.
const maxEvents = 500

// Events returns the history of a machine, newest first, at most the last 500 entries; *NotFound
// for an unknown machine.
func (r *Registry) Events(ctx context.Context, tag string) ([]Event, error) {
	return r.EventsAfter(ctx, tag, 0, maxEvents)
}

// EventsAfter is Events without the newest skip entries, at most limit of them. Entries are never
// taken away, so going on by their number shows none twice but those that moved on meanwhile.
func (r *Registry) EventsAfter(ctx context.Context, tag string, skip, limit int) (list []Event, err error) {
	err = r.read(ctx, func(tx pgx.Tx) error {
		m, err := machineByTag(ctx, tx, tag, "")
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `select at, event, reason, actor, request_id, before, after
			from machine_events where machine_id = $1 order by at desc, event offset $2 limit $3`, m.ID, max(skip, 0), limit)
		if err != nil {
			return fmt.Errorf("history of machine %s: %w", tag, err)
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Event])
		if err != nil {
			return fmt.Errorf("history of machine %s: %w", tag, err)
		}
		return nil
	})
	return list, err
}

// The kinds of an occupant.
const (
	ByHold    = "hold"
	ByService = "service"
)

// Occupant is who has a machine: a hold that is still held, also past its deadline (Overdue), or
// an active service.
type Occupant struct {
	Kind    string     `db:"kind"` // ByHold or ByService
	ID      uuid.UUID  `db:"id"`   // of the hold or service
	OrgID   uuid.UUID  `db:"org_id"`
	OrgSlug string     `db:"org_slug"`
	OrgName string     `db:"org_name"`
	Since   time.Time  `db:"since"`
	Until   *time.Time `db:"until"` // holds only
	Overdue bool       `db:"overdue"`
	Attempt *uuid.UUID `db:"attempt_id"` // the order request that it came from; nil for a substitute, or by hand
}

// Occupant returns who has the machine, nil when nobody has; *NotFound for an unknown machine.
func (r *Registry) Occupant(ctx context.Context, tag string) (o *Occupant, err error) {
	err = r.read(ctx, func(tx pgx.Tx) error {
		m, err := machineByTag(ctx, tx, tag, "")
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			select 'service' as kind, s.id, s.org_id, o.slug as org_slug, o.name as org_name,
				s.started_at as since, null::timestamptz as until, false as overdue, h.attempt_id
			from services s join organisations o on o.id = s.org_id left join holds h on h.id = s.hold_id where s.machine_id = $1 and s.ended_at is null
			union all
			select 'hold', h.id, h.org_id, o.slug, o.name, h.created_at, h.expires_at, h.expires_at <= clock_timestamp(), h.attempt_id
			from holds h join organisations o on o.id = h.org_id where h.machine_id = $1 and h.state = 'held'
			limit 1`, m.ID)
		if err != nil {
			return fmt.Errorf("occupant of machine %s: %w", tag, err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Occupant])
		if err != nil {
			return fmt.Errorf("occupant of machine %s: %w", tag, err)
		}
		if len(list) > 0 {
			o = list[0]
		}
		return nil
	})
	return o, err
}
