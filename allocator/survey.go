package allocator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/fleet"
	"ironhold/migrations/pg"
)

// group is a number of machines that are alike in everything a reason can look at.
type group struct {
	ClassID     int        `db:"class_id"`
	Status      string     `db:"status"`
	Held        bool       `db:"held"`
	InService   bool       `db:"in_service"`
	CoolingDown bool       `db:"cooling_down"`
	Asked       bool       `db:"asked"` // the machine that the request names
	Count       int        `db:"count"`
	NextFree    *time.Time `db:"next_free"` // earliest deadline among the holds
	LatestHold  *time.Time `db:"latest_hold"`
}

func (g *group) occupancy() occupancy {
	return occupancy{Status: fleet.Status(g.Status), Held: g.Held, InService: g.InService, CoolingDown: g.CoolingDown}
}

// selectGroups counts the whole fleet by class, status and occupancy in one statement.
const selectGroups = `
with cool as materialized (
  select machine_id from holds
   where org_id = $1 and created_at > clock_timestamp() - $2::interval
   group by machine_id
  having sum(greatest(expires_at - created_at, interval '0')) + $3::interval > $4::interval)
select m.class_id, m.status, h.id is not null as held, s.id is not null as in_service,
       c.machine_id is not null as cooling_down, m.asset_tag = $5 as asked,
       count(*)::int as count, min(h.expires_at) as next_free, max(h.created_at) as latest_hold
  from machines m
  left join holds h on h.machine_id = m.id and h.state = 'held' and h.expires_at > clock_timestamp()
  left join services s on s.machine_id = m.id and s.ended_at is null
  left join cool c on c.machine_id = m.id
 group by 1, 2, 3, 4, 5, 6`

// surveyed is a survey with what a refusal wants to know beyond it.
type surveyed struct {
	Survey
	latestBlocking *time.Time // when the youngest hold began that alone keeps a machine from this order
	heldAlone      bool
	coolingAlone   []int // classes with machines that only the cool-down excludes
	heldCooling    []int // classes with machines that a hold and then the cool-down exclude
}

// waitable are the two reasons that both end by themselves.
var waitable = []Reason{HeldByAnother, CoolingDown}

// explain is the pure part: all reasons of every group, added up.
func explain(r *Request, gs []group, cat *catalogue) (surveyed, error) {
	var s surveyed
	counts := map[Reason]int{}
	var misses missSet
	var class fleet.Class
	for i := range gs {
		g := &gs[i]
		if !cat.fill(g.ClassID, &class) {
			return surveyed{}, fmt.Errorf("survey: class %d is not in the catalogue", g.ClassID)
		}
		s.Considered += g.Count
		reasons := specReasons(r, &class.Spec)
		if r.Machine != "" && !g.Asked {
			reasons = append(reasons, OtherMachine)
		}
		reasons = append(reasons, stateReasons(g.occupancy())...)
		if len(reasons) == 0 {
			s.Eligible += g.Count
			continue
		}
		for _, reason := range reasons {
			counts[reason] += g.Count
		}
		if slices.Equal(reasons, waitable) {
			// Time alone frees it for this order: first the hold ends, or the cool-down does.
			s.heldAlone = true
			s.heldCooling = append(s.heldCooling, g.ClassID)
			continue
		}
		if len(reasons) > 1 {
			continue
		}
		switch reasons[0] {
		case HeldByAnother:
			s.heldAlone = true
			s.NextFreeAt = earliest(s.NextFreeAt, g.NextFree)
			if g.LatestHold != nil && (s.latestBlocking == nil || g.LatestHold.After(*s.latestBlocking)) {
				s.latestBlocking = g.LatestHold
			}
		case CoolingDown:
			s.coolingAlone = append(s.coolingAlone, g.ClassID)
		default:
			misses.add(reasons[0], r, &class.Spec, g.Count)
		}
	}
	s.Excluded = s.Considered - s.Eligible
	s.Reasons = histogram(counts)
	s.NearMisses = misses.list(r)
	return s, nil
}

// reasonOrder is the order in which equal counts are listed.
var reasonOrder = []Reason{WrongSite, WrongVendor, WrongCPU, TooFewCores, TooFewThreads, TooLittleRAM, TooLittleNVMe,
	TooLittleSSD, TooLittleHDD, TooSlowNetwork, NoECC, NoGPU, MissingFeature, OverBudget, OtherMachine, NotReady,
	HeldByAnother, InService, CoolingDown}

// histogram sorts by count, most first, then by the order of the reasons.
func histogram(counts map[Reason]int) []Count {
	out := []Count{}
	for _, r := range reasonOrder {
		if n := counts[r]; n > 0 {
			out = append(out, Count{Code: r, Count: n})
		}
	}
	slices.SortStableFunc(out, func(a, b Count) int { return b.Count - a.Count })
	return out
}

func earliest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

// Survey explains a request for an organisation without holding anything. Faults are returned
// instead when the request is not one.
func (a *Allocator) Survey(ctx context.Context, org uuid.UUID, r Request) (Survey, []Fault, error) {
	var s surveyed
	faults := r.Faults()
	err := a.reading(ctx, func(tx pgx.Tx) error {
		more, err := a.doubts(ctx, tx, &r)
		faults = append(faults, more...)
		if err != nil || len(faults) > 0 {
			return err
		}
		look, err := a.lookAt(ctx, tx, org, a.opt.Policy, r.Machine)
		if err == nil {
			s, err = look.survey(&r)
		}
		if err != nil || len(s.heldCooling) == 0 {
			return err
		}
		free, err := firstCooled(ctx, tx, a.opt.Policy, org, s.heldCooling, r.Machine, true)
		s.NextFreeAt = earliest(s.NextFreeAt, free)
		return err
	})
	return s.Survey, faults, err
}

const selectSurveyed = `
select m.asset_tag, m.class_id, m.status, h.id is not null as held, s.id is not null as in_service,
       (select coalesce(sum(greatest(x.expires_at - x.created_at, interval '0')), interval '0') from holds x
         where x.machine_id = m.id and x.org_id = $1 and x.created_at > clock_timestamp() - $2::interval)
         + $3::interval > $4::interval as cooling_down
  from machines m
  left join holds h on h.machine_id = m.id and h.state = 'held' and h.expires_at > clock_timestamp()
  left join services s on s.machine_id = m.id and s.ended_at is null
 where m.asset_tag > $5
 order by m.asset_tag limit $6`

// SurveyMachines lists the machines after a tag, each with all its reasons, for staff.
func (a *Allocator) SurveyMachines(ctx context.Context, org uuid.UUID, r Request, afterTag string, limit int) ([]Surveyed, error) {
	type row struct {
		AssetTag    string `db:"asset_tag"`
		ClassID     int    `db:"class_id"`
		Status      string `db:"status"`
		Held        bool   `db:"held"`
		InService   bool   `db:"in_service"`
		CoolingDown bool   `db:"cooling_down"`
	}
	var out []Surveyed
	p := a.opt.Policy
	err := a.reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectSurveyed, org, p.Window, p.Duration, p.Ceiling, afterTag, limit)
		if err != nil {
			return fmt.Errorf("survey: %w", err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
		if err != nil {
			return fmt.Errorf("survey: %w", err)
		}
		cat, err := a.current(ctx, tx)
		if err != nil {
			return err
		}
		for _, m := range list {
			class := cat.class(m.ClassID)
			if class == nil {
				return errors.New("survey: a class is not in the catalogue")
			}
			reasons := specReasons(&r, &class.Spec)
			if r.Machine != "" && r.Machine != m.AssetTag {
				reasons = append(reasons, OtherMachine)
			}
			reasons = append(reasons, stateReasons(occupancy{fleet.Status(m.Status), m.Held, m.InService, m.CoolingDown})...)
			if reasons == nil {
				reasons = []Reason{}
			}
			out = append(out, Surveyed{AssetTag: m.AssetTag, Eligible: len(reasons) == 0, Reasons: reasons, Status: fleet.Status(m.Status)})
		}
		return nil
	})
	return out, err
}

// reading runs f in a transaction that sees every organisation and changes nothing.
func (a *Allocator) reading(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pg.Engine(ctx, a.db, pg.By{}, f)
}
