package allocator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
	"ironhold/migrations/pg"
)

// underLock locks the organisation's row and asks, under it, everything that may refuse an order
// whatever the fleet looks like. The statements travel together, but each is a statement of its
// own: counted in one statement with the lock, a second order would get in at cap 1.
func (r *run) underLock(ctx context.Context, tx pgx.Tx) (Result, bool, error) {
	var (
		maxHolds, maxMachines int
		locked                bool
		suspended             *time.Time
		reason                *string
		prior, yourHold       uuid.UUID
		yourService           uuid.UUID
		live, active          int
		rollout               = func() *RolloutRefusal { return nil }
	)
	b := &pgx.Batch{}
	b.Queue("select max_holds, max_machines from org_limits where org_id = $1 for no key update", r.o.OrgID).
		QueryRow(func(row pgx.Row) error {
			err := row.Scan(&maxHolds, &maxMachines)
			locked = err == nil
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
	b.Queue("select slug, suspended_at, suspended_reason from organisations where id = $1", r.o.OrgID).
		QueryRow(optional(&r.orgSlug, &suspended, &reason))
	if r.a.opt.Precondition != nil {
		rollout = r.a.opt.Precondition(b, r.o.OrgID)
	}
	b.Queue("select id from holds where org_id = $1 and idempotency_key = $2", r.o.OrgID, r.o.Key).QueryRow(optional(&prior))
	if r.machine != nil {
		b.Queue(`
select id from holds
 where machine_id = $2 and org_id = $1 and state = 'held' and expires_at > clock_timestamp()`, r.o.OrgID, *r.machine).
			QueryRow(optional(&yourHold))
		b.Queue("select id from services where machine_id = $2 and org_id = $1 and ended_at is null", r.o.OrgID, *r.machine).
			QueryRow(optional(&yourService))
	}
	b.Queue("select count(*) from holds where org_id = $1 and state = 'held' and expires_at > clock_timestamp()", r.o.OrgID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&live) })
	b.Queue("select count(*) from services where org_id = $1 and ended_at is null", r.o.OrgID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&active) })
	if err := pg.Pipeline(ctx, tx, b); err != nil {
		return Result{}, false, err
	}
	if !locked {
		// No row locked where one must exist: nothing below would be true.
		return Result{}, false, fmt.Errorf("organisation %s has no limits row to lock", r.o.OrgID)
	}
	r.deadline = time.Now().Add(r.a.opt.Budget)

	if prior != uuid.Nil {
		h, found, err := holds.FindByKey(ctx, tx, r.o.OrgID, r.o.Key)
		if err != nil || found {
			return r.replay(h), found, err
		}
	}
	if off := rollout(); off != nil {
		return Result{Outcome: NotRolledOut, Rollout: off}, true, nil
	}
	if suspended != nil {
		res := Result{Outcome: Suspended}
		if reason != nil {
			res.Detail = *reason
		}
		return res, true, nil
	}
	if yourHold != uuid.Nil {
		h, err := r.a.hold(ctx, tx, yourHold)
		return Result{Outcome: AlreadyYours, Hold: &h}, err == nil, err
	}
	if yourService != uuid.Nil {
		return Result{Outcome: AlreadyYours, ServiceID: &yourService}, true, nil
	}
	limit := Result{Outcome: LimitReached, LiveHolds: live, Active: active}
	switch {
	case live >= maxHolds:
		limit.LimitName, limit.Limit = "max_holds", maxHolds
		return limit, true, nil
	case live+active >= maxMachines:
		limit.LimitName, limit.Limit = "max_machines", maxMachines
		return limit, true, nil
	}
	return Result{}, false, nil
}

func (a *Allocator) hold(ctx context.Context, tx pgx.Tx, id uuid.UUID) (holds.Hold, error) {
	return holds.GetIn(ctx, tx, holds.Scope{}, id)
}
