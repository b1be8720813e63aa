package holds

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// selectHolds reads holds with what people see beside them, by one reading of the clock.
const selectHolds = `
select h.id, h.org_id, o.slug as org_slug, h.machine_id, m.asset_tag, h.state,
       h.state = 'held' and h.expires_at <= c.now as overdue, c.now,
       h.idempotency_key, h.request_hash, h.request, h.decision,
       h.price_month_minor, h.setup_minor, h.currency, h.terms,
       h.created_by, h.created_at, h.expires_at, h.extended_at, h.closed_at, h.closed_by, h.close_reason,
       h.substitute_of, h.attempt_id, s.id as service_id, m.status as machine_status
  from (select clock_timestamp() as now offset 0) c
 cross join holds h
  join organisations o on o.id = h.org_id
  join machines m on m.id = h.machine_id
  left join services s on s.hold_id = h.id`

const selectServices = `
select s.id, s.org_id, o.slug as org_slug, s.machine_id, m.asset_tag, s.hold_id, s.started_at, s.ended_at,
       s.ended_by, s.end_reason, s.price_month_minor, s.setup_minor, s.currency, s.terms, s.created_by,
       s.os, s.ssh_keys, s.end_at, s.end_planned_by, s.end_planned_reason
  from services s
  join organisations o on o.id = s.org_id
  join machines m on m.id = s.machine_id`

// Filter selects holds or services for a list, newest first.
type Filter struct {
	Scope Scope
	State State     // as people see it: Expired includes the overdue; "" for all; holds only
	After uuid.UUID // the last row of the page before, zero for the first page
	Limit int       // at most this many
}

// Get returns one hold, or a Refused of kind NotFound, also for another organisation's.
func (b *Book) Get(ctx context.Context, s Scope, id uuid.UUID) (Hold, error) {
	var h Hold
	err := b.read(ctx, s, func(tx pgx.Tx) (err error) {
		h, err = getHold(ctx, tx, s, id)
		return err
	})
	return h, err
}

// GetIn reads one hold inside a transaction.
func GetIn(ctx context.Context, tx pgx.Tx, s Scope, id uuid.UUID) (Hold, error) {
	return getHold(ctx, tx, s, id)
}

func getHold(ctx context.Context, tx pgx.Tx, s Scope, id uuid.UUID) (Hold, error) {
	rows, err := tx.Query(ctx, selectHolds+" where h.id = $1", id)
	if err != nil {
		return Hold{}, fmt.Errorf("hold: %w", err)
	}
	h, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Hold])
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !s.covers(h.OrgID) {
		return Hold{}, &Refused{Kind: NotFound, Detail: "no such hold"}
	}
	if err != nil {
		return Hold{}, fmt.Errorf("hold: %w", err)
	}
	return h, nil
}

// FindByKey returns the hold that a request's key has, and whether there is one.
func FindByKey(ctx context.Context, tx pgx.Tx, org uuid.UUID, key string) (Hold, bool, error) {
	rows, err := tx.Query(ctx, selectHolds+" where h.org_id = $1 and h.idempotency_key = $2", org, key)
	if err != nil {
		return Hold{}, false, fmt.Errorf("hold by key: %w", err)
	}
	h, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Hold])
	if errors.Is(err, pgx.ErrNoRows) {
		return Hold{}, false, nil
	}
	if err != nil {
		return Hold{}, false, fmt.Errorf("hold by key: %w", err)
	}
	return h, true, nil
}

// List returns holds, newest first.
func (b *Book) List(ctx context.Context, f Filter) ([]Hold, error) {
	var out []Hold
	err := b.read(ctx, f.Scope, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectHolds+`
 where ($1::uuid is null or h.org_id = $1)
   and ($2::uuid is null or h.id < $2)
   and ($3 = '' or case when h.state = 'held' and h.expires_at <= c.now then 'expired' else h.state end = $3)
 order by h.id desc limit $4`, null(f.Scope.OrgID), null(f.After), string(f.State), f.Limit)
		if err != nil {
			return fmt.Errorf("holds: %w", err)
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[Hold])
		return err
	})
	return out, err
}

// GetService returns one service, or a Refused of kind NotFound, also for another organisation's.
func (b *Book) GetService(ctx context.Context, s Scope, id uuid.UUID) (Service, error) {
	var v Service
	err := b.read(ctx, s, func(tx pgx.Tx) (err error) {
		v, err = getService(ctx, tx, s, " where s.id = $1", id)
		return err
	})
	return v, err
}

func getService(ctx context.Context, tx pgx.Tx, s Scope, where string, id uuid.UUID) (Service, error) {
	rows, err := tx.Query(ctx, selectServices+where, id)
	if err != nil {
		return Service{}, fmt.Errorf("service: %w", err)
	}
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Service])
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !s.covers(v.OrgID) {
		return Service{}, &Refused{Kind: NotFound, Detail: "no such service"}
	}
	if err != nil {
		return Service{}, fmt.Errorf("service: %w", err)
	}
	return v, nil
}

// ListServices returns services, newest first; the filter's State is not used.
func (b *Book) ListServices(ctx context.Context, f Filter) ([]Service, error) {
	var out []Service
	err := b.read(ctx, f.Scope, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectServices+`
 where ($1::uuid is null or s.org_id = $1) and ($2::uuid is null or s.id < $2)
 order by s.id desc limit $3`, null(f.Scope.OrgID), null(f.After), f.Limit)
		if err != nil {
			return fmt.Errorf("services: %w", err)
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[Service])
		return err
	})
	return out, err
}

// Events returns the history of a hold, oldest first.
func (b *Book) Events(ctx context.Context, s Scope, hold uuid.UUID) ([]Event, error) {
	return b.events(ctx, s, `
select at, event, actor, before, after from hold_events
 where hold_id = $1 and ($2::uuid is null or org_id = $2) order by at`, hold)
}

// ServiceEvents returns the history of a service, oldest first.
func (b *Book) ServiceEvents(ctx context.Context, s Scope, service uuid.UUID) ([]Event, error) {
	return b.events(ctx, s, `
select at, event, actor, before, after from service_events
 where service_id = $1 and ($2::uuid is null or org_id = $2) order by at`, service)
}

func (b *Book) events(ctx context.Context, s Scope, sql string, id uuid.UUID) ([]Event, error) {
	var out []Event
	err := b.read(ctx, s, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, id, null(s.OrgID))
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[Event])
		return err
	})
	return out, err
}

// null makes the zero identifier a NULL.
func null(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
