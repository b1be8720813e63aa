package fleet

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// BMC is how operators reach a machine's management controller. Customers never see it.
type BMC struct {
	Address     string `db:"address"`     // host or host:port, where 443 is left out
	Fingerprint string `db:"fingerprint"` // SHA-256 of its certificate in small hexadecimal digits; "": not known
}

// httpsPort is that of a BMC whose address names none.
const httpsPort = "443"

// maxBMCAddress is the longest address of a BMC, in bytes.
const maxBMCAddress = 260

// ParseBMC reads what an operator typed: a host name or IP address, with a port if it is not 443, and
// the SHA-256 of the certificate in 64 hexadecimal digits, with or without colons, or "". Bad input is
// *Invalid with the field address or fingerprint.
func ParseBMC(address, fingerprint string) (BMC, error) {
	host, port, err := SplitBMC(strings.TrimSpace(address))
	if err != nil {
		return BMC{}, err
	}
	b := BMC{Address: host}
	if port != httpsPort {
		b.Address = net.JoinHostPort(host, port)
	}
	fingerprint = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(fingerprint), ":", ""))
	if fingerprint != "" {
		if sum, err := hex.DecodeString(fingerprint); err != nil || len(sum) != 32 {
			return BMC{}, &Invalid{"fingerprint", "must be the SHA-256 fingerprint of the certificate: 64 hexadecimal digits, with or without colons"}
		}
	}
	b.Fingerprint = fingerprint
	return b, nil
}

// SplitBMC reads an address alone. The error is *Invalid.
func SplitBMC(address string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), httpsPort
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if ip, notIP := netip.ParseAddr(host); notIP == nil && ip.Zone() == "" {
		host = ip.String()
	} else if strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		host = ""
	}
	if err != nil || n == 0 || host == "" || len(address) > maxBMCAddress {
		return "", "", &Invalid{"address", "must be the host name or IP address of a BMC, with a port if it is not 443, such as 10.2.0.17 or bmc17.example:8443"}
	}
	return host, port, nil
}

// BMC returns the BMC of a machine; the zero value when none is recorded. Errors: *NotFound.
func (r *Registry) BMC(ctx context.Context, tag string) (b BMC, err error) {
	err = pg.Engine(ctx, r.db, pg.By{}, func(tx pgx.Tx) error {
		m, err := machineByTag(ctx, tx, tag, "")
		if err != nil {
			return err
		}
		b, err = bmcOf(ctx, tx, m.ID)
		return err
	})
	return b, err
}

// SetBMC records the BMC of a machine, with a line in the history; an empty address forgets it. Nothing
// is asked at the address: the drivers do, and refuse a certificate with another fingerprint. Errors:
// *NotFound, *Invalid.
func (r *Registry) SetBMC(ctx context.Context, by pg.By, tag, address, fingerprint string) (b BMC, err error) {
	if strings.TrimSpace(address) != "" {
		if b, err = ParseBMC(address, fingerprint); err != nil {
			return BMC{}, err
		}
	} else if strings.TrimSpace(fingerprint) != "" {
		return BMC{}, &Invalid{"address", "is required with a fingerprint"}
	}
	err = pg.Engine(ctx, r.db, by, func(tx pgx.Tx) error {
		m, err := machineByTag(ctx, tx, tag, "for no key update")
		if err != nil {
			return err
		}
		before, err := bmcOf(ctx, tx, m.ID)
		if err != nil || before == b {
			return err
		}
		if b.Address == "" {
			_, err = tx.Exec(ctx, "delete from machine_bmcs where machine_id = $1", m.ID)
		} else {
			_, err = tx.Exec(ctx, `insert into machine_bmcs (machine_id, address, fingerprint) values ($1, $2, $3)
on conflict (machine_id) do update set address = excluded.address, fingerprint = excluded.fingerprint`, m.ID, b.Address, b.Fingerprint)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `insert into machine_events (machine_id, event, reason, actor, request_id, before, after)
values ($1, 'bmc', '', ironhold_actor(), ironhold_request_id(), to_jsonb($2::text), to_jsonb($3::text))`, m.ID, before.String(), b.String())
		return err
	})
	if err != nil {
		return BMC{}, fmt.Errorf("BMC of machine %s: %w", tag, err)
	}
	return b, nil
}

// String is the BMC for people; "" when there is none.
func (b BMC) String() string { return strings.TrimSpace(b.Address + " " + b.Fingerprint) }

func bmcOf(ctx context.Context, tx pgx.Tx, machine uuid.UUID) (b BMC, err error) {
	err = tx.QueryRow(ctx, "select address, fingerprint from machine_bmcs where machine_id = $1", machine).Scan(&b.Address, &b.Fingerprint)
	if errors.Is(err, pgx.ErrNoRows) {
		return BMC{}, nil
	}
	return b, err
}
