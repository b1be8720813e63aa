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
		look, err := r.a.looks.Ask(ctx, r.a.lookAtFleet)
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
		until, err := r.coolingUntil(ctx, s.coolingAlone, false)
		if err != nil {
			return Result{}, err
		}
		res.Outcome, res.Until = CoolDown, until
	case s.latestBlocking != nil && s.latestBlocking.After(r.arrived):
		res.Outcome = SomeoneFaster
	case s.heldAlone:
		res.Outcome = AllHeld
		if len(s.heldCooling) > 0 {
			free, err := r.coolingUntil(ctx, s.heldCooling, true)
			if err != nil {
				return Result{}, err
			}
			res.NextFreeAt = earliest(res.NextFreeAt, free)
		}
	default:
		res.Outcome = NoneLeft
	}
	if res.Outcome == NoneLeft || res.Outcome == AllHeld {
		r.a.refused.remember(r.body)
	}
	return res, nil
}

// coolingUntil is when the first of the machines that only the cool-down excludes, or a live hold and
// the cool-down, may be held by this organisation; nil when it is now.
func (r *run) coolingUntil(ctx context.Context, classes []int, held bool) (until *time.Time, err error) {
	err = r.a.reading(ctx, func(tx pgx.Tx) error {
		until, err = firstCooled(ctx, tx, r.a.opt.Policy, r.o.OrgID, classes, r.o.Request.Machine, held)
		return err
	})
	return until, err
}

// firstCooled is coolingUntil in a transaction; machine is a tag, or empty for any. With held it looks at
// machines under a live hold, and each of them is free at the later of its deadline and the end of the
// cool-down.
func firstCooled(ctx context.Context, tx pgx.Tx, p holds.Policy, org uuid.UUID, classes []int, machine string, held bool) (*time.Time, error) {
	type grant struct {
		Machine   uuid.UUID
		CreatedAt time.Time
		Granted   time.Duration
		Deadline  *time.Time
	}
	rows, err := tx.Query(ctx, `
select h.machine_id, h.created_at, greatest(h.expires_at - h.created_at, interval '0'), x.expires_at
  from holds h join machines m on m.id = h.machine_id
  left join holds x on x.machine_id = m.id and x.state = 'held' and x.expires_at > clock_timestamp()
 where h.org_id = $1 and h.created_at > clock_timestamp() - $2::interval and m.class_id = any($3)
   and ($4 = '' or m.asset_tag = $4) and m.status = 'ready' and (x.id is not null) = $5
   and not exists (select from services s where s.machine_id = m.id and s.ended_at is null)
 order by h.machine_id, h.created_at`, org, p.Window, classes, machine, held)
	if err != nil {
		return nil, fmt.Errorf("cool-down: %w", err)
	}
	grants, err := pgx.CollectRows(rows, pgx.RowToStructByPos[grant])
	if err != nil {
		return nil, fmt.Errorf("cool-down: %w", err)
	}
	perMachine, deadlines := map[uuid.UUID][]holds.Grant{}, map[uuid.UUID]*time.Time{}
	for _, g := range grants {
		perMachine[g.Machine] = append(perMachine[g.Machine], holds.Grant{CreatedAt: g.CreatedAt, Granted: g.Granted})
		deadlines[g.Machine] = g.Deadline
	}
	var first *time.Time
	for id, list := range perMachine {
		until, deadline := p.Until(list, p.Duration), deadlines[id]
		switch {
		case until == nil:
			continue // nothing cools down: another reason's machine
		case deadline != nil && deadline.After(*until):
			until = deadline
		}
		first = earliest(first, until)
	}
	return first, nil
}
