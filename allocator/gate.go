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

// caps are an organisation's, and counts what counts against them.
type (
	caps   struct{ holds, machines int }
	counts struct{ live, active int }
)

// gate is the answers behind the organisation's lock.
type gate struct {
	caps                  caps
	locked                bool
	suspended             *time.Time
	reason                *string
	prior                 uuid.UUID
	yourHold, yourService uuid.UUID
	rollout               func() *RolloutRefusal
}

// queueGate locks the organisation's row and asks, under it, what may refuse an order whatever the
// fleet looks like. The statements travel together, but each is a statement of its own: asked in
// one statement with the lock, a second order would see what was before the first. What counts
// against the caps is counted by the trigger, of each hold that is inserted.
func (r *run) queueGate(b *pgx.Batch) *gate {
	g := &gate{rollout: func() *RolloutRefusal { return nil }}
	b.Queue("select max_holds, max_machines from org_limits where org_id = $1 for no key update", r.o.OrgID).
		QueryRow(func(row pgx.Row) error {
			err := row.Scan(&g.caps.holds, &g.caps.machines)
			g.locked = err == nil
			r.deadline = time.Now().Add(r.a.opt.Budget)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
	b.Queue("select slug, suspended_at, suspended_reason from organisations where id = $1", r.o.OrgID).
		QueryRow(optional(&r.orgSlug, &g.suspended, &g.reason))
	if r.a.opt.Precondition != nil {
		g.rollout = r.a.opt.Precondition(b, r.o.OrgID)
	}
	r.queueKey(b, &g.prior)
	if r.machine != nil {
		b.Queue(`
select id from holds
 where machine_id = $2 and org_id = $1 and state = 'held' and expires_at > clock_timestamp()`, r.o.OrgID, *r.machine).
			QueryRow(optional(&g.yourHold))
		b.Queue("select id from services where machine_id = $2 and org_id = $1 and ended_at is null", r.o.OrgID, *r.machine).
			QueryRow(optional(&g.yourService))
	}
	return g
}

// passed reads the answers: the refusal, or that there is none.
func (r *run) passed(ctx context.Context, tx pgx.Tx, g *gate) (Result, bool, error) {
	if !g.locked {
		// No row locked where one must exist: nothing below would be true.
		return Result{}, false, fmt.Errorf("organisation %s has no limits row to lock", r.o.OrgID)
	}
	r.caps = g.caps
	if g.prior != uuid.Nil {
		h, found, err := holds.FindByKey(ctx, tx, r.o.OrgID, r.o.Key)
		if err != nil || found {
			return r.replay(h), found, err
		}
	}
	if off := g.rollout(); off != nil {
		return Result{Outcome: NotRolledOut, Rollout: off}, true, nil
	}
	if g.suspended != nil {
		res := Result{Outcome: Suspended}
		if g.reason != nil {
			res.Detail = *g.reason
		}
		return res, true, nil
	}
	if g.yourHold != uuid.Nil {
		h, err := r.a.hold(ctx, tx, g.yourHold)
		return Result{Outcome: AlreadyYours, Hold: &h}, err == nil, err
	}
	if g.yourService != uuid.Nil {
		return Result{Outcome: AlreadyYours, ServiceID: &g.yourService}, true, nil
	}
	return Result{}, false, nil
}

// queueCounts counts what the trigger counts.
func (r *run) queueCounts(b *pgx.Batch, c *counts) {
	b.Queue("select count(*) from holds where org_id = $1 and state = 'held' and expires_at > clock_timestamp()", r.o.OrgID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&c.live) })
	b.Queue("select count(*) from services where org_id = $1 and ended_at is null", r.o.OrgID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&c.active) })
}

// reached is the refusal by a cap, nil when there is room.
func (p caps) reached(c counts) *Result {
	limit := &Result{Outcome: LimitReached, LiveHolds: c.live, Active: c.active}
	switch {
	case c.live >= p.holds:
		limit.LimitName, limit.Limit = "max_holds", p.holds
	case c.live+c.active >= p.machines:
		limit.LimitName, limit.Limit = "max_machines", p.machines
	default:
		return nil
	}
	return limit
}

// limitReached explains the refusal of a cap by the trigger; the locks are held still, but a hold
// may have run out since.
func (r *run) limitReached(ctx context.Context, tx pgx.Tx, name string) (*ended, error) {
	var c counts
	b := &pgx.Batch{}
	r.queueCounts(b, &c)
	if err := pg.Pipeline(ctx, tx, b); err != nil {
		return nil, err
	}
	res := r.caps.reached(c)
	if res == nil {
		res = &Result{Outcome: LimitReached, LimitName: name, LiveHolds: c.live, Active: c.active, Limit: r.caps.holds}
		if name == "max_machines" {
			res.Limit = r.caps.machines
		}
	}
	return &ended{refused: res}, nil
}

func (a *Allocator) hold(ctx context.Context, tx pgx.Tx, id uuid.UUID) (holds.Hold, error) {
	return holds.GetIn(ctx, tx, holds.Scope{}, id)
}
