package allocator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"ironhold/migrations/pg"
)

// TestCandidatesAgainstReference: looks, one after another, give every eligible machine once, best
// first, and among equals in the order of lots from the drawn one on, round to where it began.
func TestCandidatesAgainstReference(t *testing.T) {
	t.Parallel()
	onFleets(t, func(rt *rapid.T, a *Allocator, fl modelFleet) {
		r := drawRequest(rt, nil)
		want := fl.eligible(&r)
		start := rapid.Int32().Draw(rt, "start") & 0x7fffffff
		slices.SortFunc(want, func(x, y *modelMachine) int {
			wrapped := func(m *modelMachine) int {
				if m.lot < start {
					return 1
				}
				return 0
			}
			for _, d := range []int64{x.spec.PriceMonthMinor - y.spec.PriceMonthMinor, surplus(&r, &x.spec) - surplus(&r, &y.spec),
				int64(wrapped(x) - wrapped(y)), int64(x.lot) - int64(y.lot)} {
				if d != 0 {
					return int(d)
				}
			}
			return slices.Compare(x.id[:], y.id[:])
		})
		var got []string
		err := a.reading(t.Context(), func(tx pgx.Tx) error {
			cat, err := a.current(t.Context(), tx)
			if err != nil {
				return err
			}
			l := a.newLooker(fl.me, rankClasses(&r, cat), nil)
			l.start = start
			for {
				found, err := l.look(t.Context(), tx, rapid.IntRange(1, 8).Draw(rt, "n"))
				if err != nil || len(found) == 0 {
					return err
				}
				for _, c := range found {
					got = append(got, c.AssetTag)
					l.tried = append(l.tried, c.ID)
				}
			}
		})
		if err != nil {
			rt.Fatalf("look: %v", err)
		}
		var tags []string
		for _, m := range want {
			tags = append(tags, m.tag)
		}
		if !slices.Equal(got, tags) {
			rt.Fatalf("from lot %d:\n got %v\nwant %v", start, got, tags)
		}
	})
}

// TestOrderAgainstReference: the outcome is that of the table in the order's documentation, and a
// hold is on a machine of the best ones.
func TestOrderAgainstReference(t *testing.T) {
	t.Parallel()
	n := 0
	onFleets(t, func(rt *rapid.T, a *Allocator, fl modelFleet) {
		r := drawRequest(rt, fl.machines)
		n++
		res, err := a.Order(t.Context(), Order{OrgID: fl.me, By: pg.By{Actor: "test"}, Key: fmt.Sprintf("k%d", n), Request: r})
		if err != nil {
			rt.Fatalf("order: %v", err)
		}
		want, until := fl.outcome(&r)
		if res.Outcome != want {
			rt.Fatalf("%s: %s, reference %s", toJSON(r), res.Outcome, want)
		}
		switch want {
		case Held:
			if best := fl.best(&r); !slices.Contains(best, res.Hold.AssetTag) {
				rt.Fatalf("%s: got %s, the best are %v", toJSON(r), res.Hold.AssetTag, best)
			}
		case AllHeld:
			if res.NextFreeAt == nil || !res.NextFreeAt.Equal(until) {
				rt.Fatalf("next free at %v, reference %s", res.NextFreeAt, until)
			}
		case CoolDown:
			if res.Until == nil || !res.Until.Equal(until) {
				rt.Fatalf("cooling until %v, reference %s", res.Until, until)
			}
		case AlreadyYours:
			if (res.Hold == nil) == (res.ServiceID == nil) {
				rt.Fatalf("neither hold nor service, or both: %+v", res)
			}
		}
		if s := res.Survey; s != nil && (s.Considered != len(fl.machines) || s.Eligible != 0) {
			rt.Fatalf("the refusal's survey: %+v", s)
		}
	})
}

// outcome is the reference's, with the time that goes with it.
func (fl *modelFleet) outcome(r *Request) (Outcome, time.Time) {
	for _, m := range fl.machines {
		if m.tag == r.Machine && m.mine && (m.hold == "live" || m.service) {
			return AlreadyYours, time.Time{}
		}
	}
	if len(fl.eligible(r)) > 0 {
		return Held, time.Time{}
	}
	var first time.Time
	sooner := func(at time.Time) {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	for _, m := range fl.excludedBy(r, CoolingDown) {
		sooner(fl.cooledAt(m))
	}
	if !first.IsZero() {
		return CoolDown, first
	}
	for _, m := range fl.excludedBy(r, HeldByAnother) {
		sooner(fl.base.Add(m.left))
	}
	for _, m := range fl.excludedBy(r, HeldByAnother, CoolingDown) {
		at := fl.cooledAt(m)
		if deadline := fl.base.Add(m.left); deadline.After(at) {
			at = deadline
		}
		sooner(at)
	}
	if !first.IsZero() {
		return AllHeld, first
	}
	return NoneLeft, first
}

// cooledAt tries every instant at which a grant leaves the window.
func (fl *modelFleet) cooledAt(m *modelMachine) time.Time {
	grants := slices.Clone(m.past)
	if m.hold != "" && m.mine {
		grants = append(grants, modelGrant{m.since, m.since + m.left})
	}
	var first time.Time
	for _, g := range grants {
		at := fl.base.Add(24*time.Hour - g.ago)
		var still time.Duration
		for _, o := range grants {
			if fl.base.Add(24*time.Hour - o.ago).After(at) {
				still += o.granted
			}
		}
		if at.After(fl.base) && still+15*time.Minute <= 45*time.Minute && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// best lists the eligible machines that no other is preferred to.
func (fl *modelFleet) best(r *Request) []string {
	var out []string
	list := fl.eligible(r)
	for _, m := range list {
		if !slices.ContainsFunc(list, func(o *modelMachine) bool {
			return o.spec.PriceMonthMinor < m.spec.PriceMonthMinor ||
				o.spec.PriceMonthMinor == m.spec.PriceMonthMinor && surplus(r, &o.spec) < surplus(r, &m.spec)
		}) {
			out = append(out, m.tag)
		}
	}
	return out
}
