package allocator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
	"ironhold/migrations/pg"
)

// ended is how a walk ends before it runs out of candidates: exactly one field is set.
type ended struct {
	hold     *holds.Hold // committed with its insert, unless the order is simulated
	replayed *holds.Hold // this request has its hold already
	refused  *Result     // a cap, seen by the database
}

// lockedMachine is a candidate as it is under its lock.
type lockedMachine struct {
	locked   bool
	class    int
	status   string
	price    int64
	setup    int64
	currency string

	live, service, overdue, cooling bool
}

// claim tries one candidate inside one savepoint: lock, check under the lock, free an overdue
// hold, insert. nil means that the candidate is not to be had and the transaction is as before.
// With waiting set it waits for the locks of the machine and of its hold.
func (r *run) claim(ctx context.Context, tx pgx.Tx, c candidate, next *candidate, waiting bool) (*ended, error) {
	m, err := r.lock(ctx, tx, c, waiting)
	if err != nil {
		if !waiting || pg.Code(err) != pg.CodeLockNotAvailable {
			return nil, err
		}
		r.bound = true // waited as long as it may
		return nil, giveUp(ctx, tx)
	}
	if !m.locked {
		r.step(c, "skipped", "")
		return nil, giveUp(ctx, tx)
	}
	if why := r.ineligible(c, m); why != "" {
		r.step(c, "changed", why)
		return nil, giveUp(ctx, tx)
	}
	var freed *uuid.UUID
	if m.overdue {
		b := &pgx.Batch{}
		holds.QueueExpireOverdue(b, c.ID, func(id uuid.UUID) { freed = &id })
		if err := pg.Pipeline(ctx, tx, b); err != nil {
			return nil, err
		}
		if freed == nil { // another transaction has the overdue hold's row
			r.step(c, "skipped", "its overdue hold is locked")
			return nil, giveUp(ctx, tx)
		}
	}
	h, err := r.insert(ctx, tx, c, m, next, freed)
	if err == nil {
		return &ended{hold: h}, nil
	}
	return r.notInserted(ctx, tx, c, err)
}

// notInserted reads by the constraint's name, through the chain of causes, what the database
// decided against the insert: the names mean opposite things.
func (r *run) notInserted(ctx context.Context, tx pgx.Tx, c candidate, err error) (*ended, error) {
	name := pg.Constraint(err)
	switch name {
	case "holds_one_held_per_machine":
		r.unstep()
		r.step(c, "lost", name)
		return nil, giveUp(ctx, tx)
	case "machines_ready_to_occupy", "machines_one_occupant", "machines_wiped_before_sale":
		r.unstep()
		r.step(c, "changed", name)
		return nil, giveUp(ctx, tx)
	case "holds_one_per_request":
		r.unstep()
		if err := giveUp(ctx, tx); err != nil {
			return nil, err
		}
		h, found, err := holds.FindByKey(ctx, tx, r.o.OrgID, r.o.Key)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errors.New("the key has a hold that cannot be read")
		}
		return &ended{replayed: &h}, nil
	case "org_limits_max_holds", "org_limits_max_machines":
		r.unstep()
		if err := giveUp(ctx, tx); err != nil {
			return nil, err
		}
		return r.limitReached(ctx, tx, name[len("org_limits_"):])
	}
	return nil, err
}

// lock begins the savepoint, locks the machine and looks at its occupancy, as statements of their
// own in one round trip. The look is worthless, and ignored, when the lock was not obtained.
func (r *run) lock(ctx context.Context, tx pgx.Tx, c candidate, waiting bool) (lockedMachine, error) {
	var m lockedMachine
	p := r.policy()
	b := &pgx.Batch{}
	b.Queue(savepoint)
	lock := "select class_id, status, price_month_minor, setup_minor, currency from machines where id = $1 for no key update"
	if waiting {
		left := max(1, time.Until(r.deadline).Milliseconds())
		b.Queue("select set_config('lock_timeout', $1, true)", fmt.Sprint(left))
	} else {
		lock += " skip locked"
	}
	b.Queue(lock, c.ID).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&m.class, &m.status, &m.price, &m.setup, &m.currency)
		m.locked = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if waiting {
		b.Queue("select 1 from holds where machine_id = $1 and state = 'held' for no key update", c.ID)
	}
	b.Queue(selectOccupancy, c.ID, r.o.OrgID, p.Window, p.Duration, p.Ceiling).QueryRow(func(row pgx.Row) error {
		return row.Scan(&m.live, &m.overdue, &m.service, &m.cooling)
	})
	err := pg.Pipeline(ctx, tx, b)
	return m, err
}

const selectOccupancy = `
select exists (select from holds where machine_id = $1 and state = 'held' and expires_at > clock_timestamp()),
       exists (select from holds where machine_id = $1 and state = 'held' and expires_at <= clock_timestamp()),
       exists (select from services where machine_id = $1 and ended_at is null),
       (select coalesce(sum(greatest(expires_at - created_at, interval '0')), interval '0') from holds
         where machine_id = $1 and org_id = $2 and created_at > clock_timestamp() - $3::interval) + $4::interval > $5::interval`

// ineligible says why a candidate is none any more, or "".
func (r *run) ineligible(c candidate, m lockedMachine) string {
	switch {
	case m.status != "ready":
		return string(NotReady)
	case m.live:
		return string(HeldByAnother)
	case m.service:
		return string(InService)
	case m.cooling:
		return string(CoolingDown)
	case m.class != c.ClassID: // its facts or its price changed: it has another rank, or none
		return "other_facts"
	}
	return ""
}

// insert freezes the decision, writes hold and attempt, and commits in the same round trip. Of a
// simulation the savepoint is released instead.
func (r *run) insert(ctx context.Context, tx pgx.Tx, c candidate, m lockedMachine, next *candidate, freed *uuid.UUID) (*holds.Hold, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("hold id: %w", err)
	}
	r.step(c, "won", "")
	decision, err := json.Marshal(r.freeze(c, next, freed))
	if err != nil {
		return nil, fmt.Errorf("decision: %w", err)
	}
	h := holds.Hold{ID: id, OrgID: r.o.OrgID, OrgSlug: r.orgSlug, MachineID: c.ID, AssetTag: c.AssetTag, State: holds.Held,
		IdempotencyKey: r.o.Key, RequestHash: r.hash, Request: r.body, Decision: decision, PriceMonthMinor: m.price,
		SetupMinor: m.setup, Currency: m.currency, Terms: r.a.opt.Policy.Terms, CreatedBy: r.o.By.Actor,
		AttemptID: &r.attempt, MachineStatus: m.status}
	row := attemptRow{ID: r.attempt, At: r.clock(), OrgID: r.o.OrgID, Actor: r.o.By.Actor, RequestID: r.o.By.RequestID,
		Key: r.o.Key, Outcome: Held, Request: r.body, Walk: r.walk, Skipped: r.skipped, Lost: r.lost, Changed: r.changed,
		Survey: &Survey{Eligible: r.seen}, ArrivedAt: r.arrived, TookMicros: time.Since(r.began).Microseconds(), HoldID: &id,
		Detail: r.detail("")}
	b := &pgx.Batch{}
	var sent time.Time
	holds.QueueInsert(b, holds.NewHold{ID: id, OrgID: h.OrgID, MachineID: c.ID, IdempotencyKey: h.IdempotencyKey,
		RequestHash: h.RequestHash, Request: h.Request, Decision: h.Decision, PriceMonthMinor: h.PriceMonthMinor,
		SetupMinor: h.SetupMinor, Currency: h.Currency, Terms: h.Terms, AttemptID: h.AttemptID, Duration: r.a.opt.Policy.Duration,
	}, r.o.By.Actor, func(created, expires time.Time) {
		h.CreatedAt, h.ExpiresAt, h.Now = created, expires, created
		r.a.clock.read(created, sent, time.Now()) // nothing is waited for before: a narrow reading
	})
	b.Queue(insertAttempt, row.values()...)
	sent = time.Now()
	if r.simulated {
		b.Queue("release savepoint candidate")
		err = pg.Pipeline(ctx, tx, b)
	} else {
		err = pg.Finish(ctx, tx, b)
	}
	if err != nil {
		return nil, err
	}
	return &h, nil
}

const insertAttempt = `
insert into allocation_attempts (id, at, org_id, actor, request_id, idempotency_key, outcome, request, considered, eligible,
  reasons, near_misses, walk, walked, skipped, lost, changed, detail, arrived_at, took_us, hold_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`

// unstep takes back the "won" of an insert that the database refused.
func (r *run) unstep() { r.walk = r.walk[:len(r.walk)-1] }

// freeze is why this machine: in a month every machine stands differently, and it could not be
// worked out again.
func (r *run) freeze(c candidate, next *candidate, freed *uuid.UUID) Decision {
	won := r.look.ranked.done[c.at]
	d := Decision{Version: Version, Rank: len(r.walk), Eligible: r.seen, Skipped: r.skipped, Lost: r.lost, Changed: r.changed,
		Overdue: freed, Override: r.o.OverrideCoolDown, ClassID: c.ClassID, Over: won.over}
	switch {
	case r.o.Request.Machine != "":
		d.Rule = "exact_machine"
	case next != nil:
		second := r.look.ranked.done[next.at]
		d.Rule = decidingRule(won, second)
		d.RunnerUp = &RunnerUp{AssetTag: next.AssetTag, PriceMonthMinor: second.class.PriceMonthMinor, Over: second.over}
	case len(r.walk) > 1:
		d.Rule = "others_were_taken"
	default:
		d.Rule = "only_one"
	}
	return d
}
