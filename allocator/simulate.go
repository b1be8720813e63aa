package allocator

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
)

// Simulate decides an order as Order does, on the same way through locks, walk, insert and
// triggers, and rolls it back where Order would commit: it tells what would be given and why.
// Nothing is held or logged, and the hold of the result is none that anybody can ask for. The key
// is made here: a simulation repeats nothing.
func (a *Allocator) Simulate(ctx context.Context, o Order) (Result, error) {
	o.Key = "simulated-" + uuid.NewString()
	return a.run(ctx, &run{a: a, o: o, began: time.Now(), simulated: true})
}

// endSimulated lets the constraints speak that wait for a commit, and takes everything back.
func (r *run) endSimulated(ctx context.Context, tx pgx.Tx, h *holds.Hold) (Result, bool, error) {
	if _, err := tx.Exec(ctx, "set constraints all immediate"); err != nil {
		return Result{}, false, fmt.Errorf("simulate: %w", err)
	}
	if err := tx.Rollback(ctx); err != nil {
		return Result{}, false, fmt.Errorf("simulate: %w", err)
	}
	return Result{Outcome: Held, Hold: h, Walk: r.walk}, true, nil
}

// finishSimulated is finish without a trace: no record, nobody told, no reference to quote.
func (r *run) finishSimulated(res Result) Result {
	if res.Walk == nil {
		res.Walk = r.walk
	}
	if res.Hold != nil {
		res.Hold.AttemptID = nil
	}
	return res
}

// noCeiling is longer than anybody has held anything.
const noCeiling = 10 * 365 * 24 * time.Hour

// policy is the one that this order is decided by.
func (r *run) policy() holds.Policy {
	p := r.a.opt.Policy
	if r.o.OverrideCoolDown != "" {
		p.Ceiling = noCeiling
	}
	return p
}

// detail is what the record says beyond its columns.
func (r *run) detail(text string) map[string]string {
	out := map[string]string{}
	if text != "" {
		out["detail"] = text
	}
	if r.o.OverrideCoolDown != "" {
		out["cool_down_overridden"] = r.o.OverrideCoolDown
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
