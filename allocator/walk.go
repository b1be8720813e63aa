package allocator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// walkCandidates claims one candidate at a time until there is an end, or returns nil when
// nothing is left to try or a bound was reached (r.bound, r.lost).
func (r *run) walkCandidates(ctx context.Context, tx pgx.Tx, first []candidate) (*ended, error) {
	cands := first
	for {
		r.seen += len(cands)
		for i, c := range cands {
			if r.overTime() {
				return nil, nil
			}
			r.look.tried = append(r.look.tried, c.ID)
			end, err := r.claim(ctx, tx, c, after(cands, i), false)
			if err != nil || end != nil {
				return end, err
			}
			if r.lost >= r.a.opt.LostLimit {
				return nil, nil
			}
		}
		if r.overTime() {
			return nil, nil
		}
		// A fresh look, behind those that were tried.
		next, err := r.look.look(ctx, tx, r.a.opt.WalkLimit)
		if err != nil {
			return nil, err
		}
		if len(next) == 0 {
			return r.wait(ctx, tx)
		}
		cands = next
	}
}

// wait locks the skipped candidates one after another, this time waiting: a machine that is
// merely locked may come free, and "none left" would be a lie until that is known.
func (r *run) wait(ctx context.Context, tx pgx.Tx) (*ended, error) {
	for len(r.waiting) > 0 {
		if r.overTime() {
			return nil, nil
		}
		c := r.waiting[0]
		r.waiting = r.waiting[1:]
		end, err := r.claim(ctx, tx, c, nil, true)
		if err != nil || end != nil {
			return end, err
		}
		if r.lost >= r.a.opt.LostLimit {
			return nil, nil
		}
	}
	return nil, nil
}

func (r *run) overTime() bool {
	r.bound = r.bound || time.Now().After(r.deadline)
	return r.bound
}

// after is the candidate that would have been next.
func after(cands []candidate, i int) *candidate {
	if i+1 < len(cands) {
		return &cands[i+1]
	}
	return nil
}

func (r *run) step(c candidate, result, why string) {
	r.walk = append(r.walk, Step{MachineID: c.ID, AssetTag: c.AssetTag, Result: result, Why: why, At: r.clock()})
	switch result {
	case "skipped":
		r.skipped++
		if !slices.ContainsFunc(r.waiting, func(w candidate) bool { return w.ID == c.ID }) {
			r.waiting = append(r.waiting, c)
		}
	case "changed":
		r.changed++
	case "lost":
		r.lost++
	}
}

const savepoint = "savepoint candidate"

// giveUp rolls back to the savepoint, so that no lock is kept out of order and the transaction is
// healthy again, whatever the candidate's statements met.
func giveUp(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "rollback to savepoint candidate; release savepoint candidate", pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("give up candidate: %w", err)
	}
	return nil
}
