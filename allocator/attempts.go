package allocator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/fleet"
)

// Attempt is the record of one order request, with the two passes.
type Attempt struct {
	ID         uuid.UUID       `db:"id"`
	At         time.Time       `db:"at"`
	OrgID      uuid.UUID       `db:"org_id"`
	OrgSlug    string          `db:"org_slug"`
	Actor      string          `db:"actor"`
	RequestID  string          `db:"request_id"`
	Key        string          `db:"idempotency_key"`
	Outcome    Outcome         `db:"outcome"`
	Request    json.RawMessage `db:"request"`
	Considered int             `db:"considered"`
	Eligible   int             `db:"eligible"`
	Reasons    []Count         `db:"reasons"`
	NearMisses []NearMiss      `db:"near_misses"`
	Walk       []Step          `db:"walk"`
	Skipped    int             `db:"skipped"`
	Lost       int             `db:"lost"`
	Changed    int             `db:"changed"`
	Detail     json.RawMessage `db:"detail"`
	ArrivedAt  *time.Time      `db:"arrived_at"`
	TookUS     int64           `db:"took_us"`
	HoldID     *uuid.UUID      `db:"hold_id"`
	Faster     []FasterHold    `db:"-"` // only in Attempt
}

// FasterHold is a hold that another order got on a machine which this attempt could not have:
// known once that order has committed. ByMS is how much earlier, in milliseconds, that hold began
// than this attempt was answered.
type FasterHold struct {
	AssetTag string    `db:"asset_tag" json:"asset_tag"`
	HoldID   uuid.UUID `db:"hold_id" json:"hold_id"`
	OrgID    uuid.UUID `db:"org_id" json:"-"`
	OrgSlug  string    `db:"org_slug" json:"org"`
	At       time.Time `db:"at" json:"at"`
	ByMS     int64     `db:"by_ms" json:"by_ms"`
}

// AttemptFilter selects attempts, newest first. Zero values do not filter.
type AttemptFilter struct {
	Outcome  Outcome
	Refused  bool // orders that got nothing, whatever the reason; not those that had the machine already
	From, To time.Time
	OrgID    uuid.UUID
	Site     string    // requests that name this site
	Before   uuid.UUID // the last row of the page before
	Limit    int
}

// NotFound says that there is no such attempt, or not yet.
type NotFound struct{ ID uuid.UUID }

func (e *NotFound) Error() string { return "no attempt " + e.ID.String() }

const selectAttempts = `
select t.id, t.at, t.org_id, coalesce(o.slug, '') as org_slug, t.actor, coalesce(t.request_id, '') as request_id,
       t.idempotency_key, t.outcome, t.request, t.considered, t.eligible, t.reasons, t.near_misses, t.walk,
       t.skipped, t.lost, t.changed, t.detail, t.arrived_at, t.took_us, t.hold_id
  from allocation_attempts t
  left join organisations o on o.id = t.org_id`

// Attempts lists records for staff, newest first by identifier, which sorts by time.
func (a *Allocator) Attempts(ctx context.Context, f AttemptFilter) ([]Attempt, error) {
	var out []Attempt
	err := a.reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectAttempts+`
 where ($1 = '' or t.outcome = $1)
   and ($2::timestamptz is null or t.at >= $2) and ($3::timestamptz is null or t.at < $3)
   and ($4::uuid is null or t.org_id = $4) and ($5::uuid is null or t.id < $5)
   and ($7 = '' or t.request -> 'sites' ? $7)
   and (not $8 or t.outcome not in ('held', 'replayed', 'already_yours'))
 order by t.id desc limit $6`, string(f.Outcome), nullTime(f.From), nullTime(f.To), nullID(f.OrgID), nullID(f.Before), f.Limit, f.Site, f.Refused)
		if err != nil {
			return fmt.Errorf("attempts: %w", err)
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[Attempt])
		return err
	})
	return out, err
}

// Attempt returns one record with who was faster, or a *NotFound.
func (a *Allocator) Attempt(ctx context.Context, id uuid.UUID) (Attempt, error) {
	var out Attempt
	err := a.reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectAttempts+" where t.id = $1 limit 1", id)
		if err != nil {
			return fmt.Errorf("attempt: %w", err)
		}
		out, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Attempt])
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotFound{ID: id}
		}
		if err != nil {
			return fmt.Errorf("attempt: %w", err)
		}
		out.Faster, err = a.faster(ctx, tx, &out)
		return err
	})
	return out, err
}

// faster finds the holds that other orders got, around the time of the attempt, on machines that it
// could not have; or, when somebody was so much faster that no look saw the machine, on machines
// that it could have had when it arrived.
func (a *Allocator) faster(ctx context.Context, tx pgx.Tx, t *Attempt) ([]FasterHold, error) {
	var machines []uuid.UUID
	for _, s := range t.Walk {
		if s.Result != "won" {
			machines = append(machines, s.MachineID)
		}
	}
	if len(machines) == 0 && t.Outcome == SomeoneFaster {
		return a.fasterThanLook(ctx, tx, t)
	}
	if len(machines) == 0 {
		return []FasterHold{}, nil
	}
	rows, err := tx.Query(ctx, "select distinct on (h.machine_id) "+fasterColumns+`
  from holds h join machines m on m.id = h.machine_id join organisations o on o.id = h.org_id
 where h.machine_id = any($1) and h.created_at between coalesce($3, $2) - interval '10 s' and $2::timestamptz + interval '5 s'
   and h.attempt_id is distinct from $4
 order by h.machine_id, h.created_at desc`, machines, t.At, t.ArrivedAt, t.ID)
	if err != nil {
		return nil, fmt.Errorf("who was faster: %w", err)
	}
	return collectFaster(rows)
}

const fasterColumns = `m.asset_tag, h.id as hold_id, h.org_id, o.slug as org_slug, h.created_at as at,
       greatest(0, floor(extract(epoch from $2::timestamptz - h.created_at) * 1000))::bigint as by_ms`

// maxFaster bounds the holds that are told of one attempt.
const maxFaster = 25

// fasterThanLook finds them through the attempts of that time: those have an index by time.
func (a *Allocator) fasterThanLook(ctx context.Context, tx pgx.Tx, t *Attempt) ([]FasterHold, error) {
	var r Request
	if err := json.Unmarshal(t.Request, &r); err != nil {
		return nil, fmt.Errorf("who was faster: %w", err)
	}
	cat, err := a.current(ctx, tx)
	if err != nil {
		return nil, err
	}
	var classes []int
	var c fleet.Class
	for _, id := range cat.byPrice {
		if cat.fill(int(id), &c) && fits(&r, &c.Spec) {
			classes = append(classes, c.ID)
		}
	}
	rows, err := tx.Query(ctx, "select "+fasterColumns+`
  from allocation_attempts w
  join holds h on h.id = w.hold_id join machines m on m.id = h.machine_id join organisations o on o.id = h.org_id
 where w.at between $1::timestamptz - interval '5 s' and $2::timestamptz + interval '1 s' and w.outcome = 'held'
   and h.created_at between $1 and $2 and m.class_id = any($3) and ($4 = '' or m.asset_tag = $4)
 order by h.created_at limit $5`, t.ArrivedAt, t.At, classes, r.Machine, maxFaster)
	if err != nil {
		return nil, fmt.Errorf("who was faster: %w", err)
	}
	return collectFaster(rows)
}

func collectFaster(rows pgx.Rows) ([]FasterHold, error) {
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[FasterHold])
	if err != nil {
		return nil, fmt.Errorf("who was faster: %w", err)
	}
	return out, nil
}

func nullID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
