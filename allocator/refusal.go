package allocator

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
)

// explain says why there was nothing, by a look that began after the walk: one that is shared with
// all who ask at the same moment, unless the organisation sees the fleet differently.
func (r *run) explain(ctx context.Context) (s surveyed, err error) {
	if r.shares {
		r.leaveTurn() // those who wait for a look take no part of the database
		look, err := r.a.looks.take(ctx, r.a.lookAtFleet)
		if err != nil {
			return surveyed{}, err
		}
		return look.surveyOnce(r.body, &r.o.Request)
	}
	err = r.a.reading(ctx, func(tx pgx.Tx) error {
		look, err := r.a.lookAt(ctx, tx, r.o.OrgID, r.policy(), r.o.Request.Machine)
		if err == nil {
			s, err = look.survey(&r.o.Request)
		}
		return err
	})
	return s, err
}

// refuse chooses the honest no. Whoever saw something that then was not to be had, lost a race:
// that is another message than "there is nothing".
func (r *run) refuse(ctx context.Context, s surveyed) (Result, error) {
	res := Result{Survey: &s.Survey, NextFreeAt: s.NextFreeAt, Walk: r.walk}
	switch {
	case r.bound:
		res.Outcome, res.RetryAfter = TryAgain, time.Second
	case r.lost >= r.a.opt.LostLimit, r.seen > 0:
		res.Outcome = SomeoneFaster
	case len(s.coolingAlone) > 0:
		until, err := r.coolingUntil(ctx, s.coolingAlone)
		if err != nil {
			return Result{}, err
		}
		res.Outcome, res.Until = CoolDown, until
	case s.latestBlocking != nil && s.latestBlocking.After(r.arrived):
		res.Outcome = SomeoneFaster
	case s.heldAlone:
		res.Outcome = AllHeld
	default:
		res.Outcome = NoneLeft
	}
	return res, nil
}

// coolingUntil is when the first of the machines that only the cool-down excludes may be held
// again by this organisation; nil when it is now.
func (r *run) coolingUntil(ctx context.Context, classes []int) (*time.Time, error) {
	type grant struct {
		Machine   uuid.UUID
		CreatedAt time.Time
		Granted   time.Duration
	}
	var grants []grant
	p := r.a.opt.Policy
	err := r.a.reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
select h.machine_id, h.created_at, greatest(h.expires_at - h.created_at, interval '0')
  from holds h join machines m on m.id = h.machine_id
 where h.org_id = $1 and h.created_at > clock_timestamp() - $2::interval and m.class_id = any($3)
   and ($4::uuid is null or m.id = $4) and m.status = 'ready'
   and not exists (select from holds x where x.machine_id = m.id and x.state = 'held' and x.expires_at > clock_timestamp())
   and not exists (select from services s where s.machine_id = m.id and s.ended_at is null)
 order by h.machine_id, h.created_at`, r.o.OrgID, p.Window, classes, r.machine)
		if err != nil {
			return fmt.Errorf("cool-down: %w", err)
		}
		grants, err = pgx.CollectRows(rows, pgx.RowToStructByPos[grant])
		return err
	})
	if err != nil {
		return nil, err
	}
	perMachine := map[uuid.UUID][]holds.Grant{}
	for _, g := range grants {
		perMachine[g.Machine] = append(perMachine[g.Machine], holds.Grant{CreatedAt: g.CreatedAt, Granted: g.Granted})
	}
	var first *time.Time
	for _, list := range perMachine {
		if until := p.Until(list, p.Duration); until != nil {
			first = earliest(first, until)
		}
	}
	return first, nil
}
