package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/rollout"
)

func (b *bench) deadlineOf(hold uuid.UUID) time.Time {
	b.t.Helper()
	return fixture.Get[time.Time](b.t, b.owner, "select expires_at from holds where id = $1", hold)
}

func TestBurstForOneMachine(t *testing.T) { // case 3
	t.Parallel()
	b := setup(t, 16, allocator.Options{Concurrency: 16})
	orgs := fixture.Orgs(t, b.owner, "org", 50)
	fixture.Equal(t, b.owner, "m", 1)
	var slowest [50]time.Duration
	counts, results := b.parallel(50, func(i int) allocator.Result {
		began := time.Now()
		defer func() { slowest[i] = time.Since(began) }()
		return b.order(orgs[i], "k", allocator.Request{})
	})
	if counts[allocator.Held] != 1 || counts[allocator.SomeoneFaster]+counts[allocator.AllHeld] != 49 {
		t.Errorf("outcomes: %v", counts)
	}
	for _, r := range results {
		if r.Outcome != allocator.Held && (r.Survey == nil || r.Survey.Considered != 1 || r.Survey.Eligible != 0) {
			t.Errorf("%s without its reasons: %+v", r.Outcome, r.Survey)
		}
	}
	// The pool's lock timeout is 2 s; together with its turn nobody comes near it.
	if longest := slices.Max(slowest[:]); longest > 2*time.Second {
		t.Errorf("the slowest answer took %s", longest)
	}
}

func TestAlreadyYours(t *testing.T) { // case 6
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 1, 1)
	fixture.Add(t, b.owner, fixture.Machine{Tag: "A"}, fixture.Machine{Tag: "B"})
	exact := allocator.Request{Machine: "A"}
	first := b.order(org, "k1", exact)
	if first.Outcome != allocator.Held {
		t.Fatal(first.Outcome)
	}
	// Also at the cap: being shown what one has is more useful than being told of a limit.
	if again := b.order(org, "k2", exact); again.Outcome != allocator.AlreadyYours || again.Hold == nil || again.Hold.ID != first.Hold.ID {
		t.Errorf("held: %+v", again)
	}
	v, _, err := holds.New(b.app, holds.DefaultPolicy()).Convert(t.Context(), actor, holds.Scope{OrgID: org}, first.Hold.ID)
	if err != nil {
		t.Fatal(err)
	}
	if again := b.order(org, "k3", exact); again.Outcome != allocator.AlreadyYours || again.ServiceID == nil || *again.ServiceID != v.ID {
		t.Errorf("in service: %+v", again)
	}
	if other := b.order(org, "k4", allocator.Request{Machine: "B"}); other.Outcome != allocator.LimitReached {
		t.Errorf("another machine: %+v", other)
	}
}

func TestFreeOfChargeObeysTheLimits(t *testing.T) { // case 9
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 1, 50)
	fixture.Equal(t, b.owner, "m", 2)
	fixture.Exec(t, b.owner, "update machines set price_month_minor = 0, setup_minor = 0")
	first := b.order(org, "k1", allocator.Request{})
	if first.Outcome != allocator.Held || first.Hold.PriceMonthMinor != 0 || first.Hold.SecondsLeft() != 900 {
		t.Errorf("first: %+v", first)
	}
	if second := b.order(org, "k2", allocator.Request{}); second.Outcome != allocator.LimitReached {
		t.Errorf("second: %s", second.Outcome)
	}
	if got := b.order(fixture.Org(t, b.owner, "other", 5, 50), "k", allocator.Request{Machine: first.Hold.AssetTag}); got.Outcome != allocator.AllHeld {
		t.Errorf("another's: %s", got.Outcome)
	}
}

// TestOtherKindsDoNotWait stops an order before each of its statements, with all its locks: the
// order of another organisation for another kind of machine goes through without waiting.
func TestOtherKindsDoNotWait(t *testing.T) { // case 10
	t.Parallel()
	s := newStage(t)
	fixture.Exec(t, s.owner, "update machines set cores = 16 where asset_tag = 'S'")
	fixture.Exec(t, s.owner, "drop table scene_machines; create table scene_machines as table machines")
	for k, last := 0, false; !last; k++ {
		s.set(t, "free")
		fired := false
		o := &other{}
		answer := ""
		tr := &traced{at: k, pause: func(sql string) {
			fired = true
			err := o.start(t.Context(), s.watch, patience, func(ctx context.Context) string {
				res, err := s.alloc.Order(ctx, allocator.Order{OrgID: s.org["three"], By: actor, Key: "k", Request: allocator.Request{MinCores: 16}})
				return word(string(res.Outcome), err)
			})
			if err != nil || o.waited {
				t.Errorf("waited behind an order stopped before %q (%v)", firstLine(sql), err)
			}
		}}
		answer = (&part{stage: s, tag: "M"}).claim(tr.under(t.Context()), "two", "k")
		if last = !fired; last {
			continue
		}
		if err := o.wait(); err != nil || answer != "held" || o.answer != "held" {
			t.Errorf("%s and %s, %v", answer, o.answer, err)
		}
	}
}

func TestNothingButExtensionMovesTheDeadline(t *testing.T) { // case 11
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 2, 50)
	fixture.Add(t, b.owner, fixture.Machine{Tag: "A"})
	book, scope := holds.New(b.app, holds.DefaultPolicy()), holds.Scope{OrgID: org}
	hold := b.order(org, "k", allocator.Request{}).Hold.ID
	deadline := b.deadlineOf(hold)
	for _, try := range []struct {
		what, key string
		request   allocator.Request
		want      allocator.Outcome
	}{
		{"a refresh", "k", allocator.Request{}, allocator.Replayed},
		{"the key with another body", "k", allocator.Request{MinCores: 1}, allocator.KeyReused},
		{"a second order for it", "k2", allocator.Request{Machine: "A"}, allocator.AlreadyYours},
		{"a second identical order", "k3", allocator.Request{}, allocator.AllHeld},
		{"a failing order", "k4", allocator.Request{MinCores: 64}, allocator.NoneLeft},
	} {
		if got := b.order(org, try.key, try.request); got.Outcome != try.want {
			t.Errorf("%s: %s", try.what, got.Outcome)
		}
		if now := b.deadlineOf(hold); !now.Equal(deadline) {
			t.Errorf("%s moved the deadline by %s", try.what, now.Sub(deadline))
		}
	}
	if h, err := book.Extend(t.Context(), actor, scope, hold, "e"); err != nil || h.ExpiresAt.Sub(deadline) != 15*time.Minute {
		t.Fatalf("extension: %+v, %v", h, err)
	}
	for range 2 { // a repeat of the extension moves nothing either
		if h, err := book.Extend(t.Context(), actor, scope, hold, "e"); err != nil || h.ExpiresAt.Sub(deadline) != 15*time.Minute {
			t.Errorf("repeated extension: %+v, %v", h, err)
		}
	}
}

// TestHeldAgainAndAgain cancels and holds the last machine, 30 times, and tries to stretch it by
// extensions: the time granted within a day has its ceiling, and the others have their chance.
func TestHeldAgainAndAgain(t *testing.T) { // case 12
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 5, 50)
	fixture.Add(t, b.owner, fixture.Machine{Tag: "A"})
	book, scope := holds.New(b.app, holds.DefaultPolicy()), holds.Scope{OrgID: org}
	var outcomes []allocator.Outcome
	for i := range 30 {
		res := b.order(org, fmt.Sprint("k", i), allocator.Request{})
		outcomes = append(outcomes, res.Outcome)
		if res.Outcome != allocator.Held {
			continue
		}
		if i == 0 {
			if _, err := book.Extend(t.Context(), actor, scope, res.Hold.ID, ""); err != nil {
				t.Fatalf("first extension: %v", err)
			}
		} else if _, err := book.Extend(t.Context(), actor, scope, res.Hold.ID, ""); word("ok", err) != string(holds.CeilingReached) {
			t.Errorf("extension beyond the ceiling: %v", err)
		}
		if _, err := book.Cancel(t.Context(), actor, scope, res.Hold.ID, "again"); err != nil {
			t.Fatal(err)
		}
	}
	// 30 minutes for the first with its extension, 15 for the second: that is the ceiling.
	for i, o := range outcomes {
		if want := map[bool]allocator.Outcome{true: allocator.Held, false: allocator.CoolDown}[i < 2]; o != want {
			t.Fatalf("orders: %v", outcomes)
		}
	}
	if got := b.order(fixture.Org(t, b.owner, "other", 5, 50), "k", allocator.Request{}); got.Outcome != allocator.Held {
		t.Errorf("another organisation: %s", got.Outcome)
	}
}

func TestOverdueHoldsWithoutASweep(t *testing.T) { // case 18
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org, other := fixture.Org(t, b.owner, "acme", 3, 3), fixture.Org(t, b.owner, "other", 5, 50)
	fixture.Equal(t, b.owner, "m", 3)
	for i := range 3 {
		if res := b.order(org, fmt.Sprint("k", i), allocator.Request{}); res.Outcome != allocator.Held {
			t.Fatal(res.Outcome)
		}
	}
	if res := b.order(other, "k", allocator.Request{}); res.Outcome != allocator.AllHeld {
		t.Errorf("while they are live: %s", res.Outcome)
	}
	// An hour without a worker, and a day without an order for the same machine.
	lapse(b)
	book := holds.New(b.app, holds.DefaultPolicy())
	list, err := book.List(t.Context(), holds.Filter{State: holds.Expired, Limit: 10})
	if err != nil || len(list) != 3 || !list[0].Overdue || list[0].State != holds.Held {
		t.Errorf("staff see %+v, %v", list, err)
	}
	for i, who := range []uuid.UUID{other, org, org} { // nor do they count for the caps of their own organisation
		if res := b.order(who, fmt.Sprint("later", i), allocator.Request{}); res.Outcome != allocator.Held {
			t.Errorf("order %d: %s", i, res.Outcome)
		}
	}
	if n := fixture.Get[int](t, b.owner, "select count(*) from hold_events where event = 'expired'"); n != 3 {
		t.Errorf("%d expired by the orders that took their machines", n)
	}
}

// lapse lets all deadlines pass, long ago.
func lapse(b *bench) {
	b.t.Helper()
	fixture.Exec(b.t, b.owner, `
do $$ begin
  set local session_replication_role = replica;
  update holds set created_at = created_at - interval '2 days', expires_at = expires_at - interval '2 days' where state = 'held';
end $$`)
}

func TestNotSoldBeforeItsWipe(t *testing.T) { // case 29
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 5, 50)
	fixture.Add(t, b.owner, fixture.Machine{Tag: "A"})
	book, registry := holds.New(b.app, holds.DefaultPolicy()), fleet.New(b.app)
	scope := holds.Scope{OrgID: org}
	v, _, err := book.Convert(t.Context(), actor, scope, b.order(org, "k", allocator.Request{}).Hold.ID)
	if err != nil {
		t.Fatal(err)
	}
	if v, err = book.EndService(t.Context(), actor, scope, v.ID, "done"); err != nil || v.EndedAt == nil {
		t.Fatal(err)
	}
	other := fixture.Org(t, b.owner, "other", 5, 50)
	refuse := func(when string) {
		t.Helper()
		if res := b.order(other, "k", allocator.Request{}); res.Outcome != allocator.NoneLeft {
			t.Errorf("%s: %s", when, res.Outcome)
		}
	}
	refuse("in cleaning")
	move := func(to fleet.Status) string {
		m, err := registry.SetStatus(t.Context(), actor, "A", to, "test")
		return word(string(m.Status), err)
	}
	if got := move(fleet.Ready); got != "illegal" {
		t.Errorf("ready without a wipe: %s", got)
	}
	// No detour skips it.
	if got := move(fleet.Maintenance); got != "maintenance" {
		t.Fatal(got)
	}
	if got := move(fleet.Ready); got != "illegal" {
		t.Errorf("ready without a wipe, by way of maintenance: %s", got)
	}
	refuse("in maintenance")
	if _, err := registry.Wiped(t.Context(), actor, "A", "erased"); err != nil {
		t.Fatal(err)
	}
	if got := move(fleet.Ready); got != "ready" {
		t.Errorf("after the wipe: %s", got)
	}
	if res := b.order(other, "k", allocator.Request{}); res.Outcome != allocator.Held {
		t.Errorf("after the wipe: %s", res.Outcome)
	}
}

// TestLimitCountsHoldsAndServices: ten orders at once of an organisation that may have three
// machines, has one in service, one held and one overdue.
func TestLimitCountsHoldsAndServices(t *testing.T) { // case 37
	t.Parallel()
	b := setup(t, 10, allocator.Options{Concurrency: 10})
	org := fixture.Org(t, b.owner, "acme", 100, 3)
	fixture.Equal(t, b.owner, "m", 20)
	book, scope := holds.New(b.app, holds.DefaultPolicy()), holds.Scope{OrgID: org}
	b.order(org, "overdue", allocator.Request{})
	lapse(b)
	if _, _, err := book.Convert(t.Context(), actor, scope, b.order(org, "sold", allocator.Request{}).Hold.ID); err != nil {
		t.Fatal(err)
	}
	b.order(org, "held", allocator.Request{})
	counts, results := b.parallel(10, func(i int) allocator.Result { return b.order(org, fmt.Sprint("k", i), allocator.Request{}) })
	if counts[allocator.Held] != 1 || counts[allocator.LimitReached] != 9 {
		t.Errorf("outcomes: %v", counts)
	}
	for _, r := range results {
		if r.Outcome == allocator.LimitReached && (r.LimitName != "max_machines" || r.LiveHolds != 2 || r.Active != 1) {
			t.Errorf("the refusal counts %+v", r)
		}
	}
}

func TestSwitchedOffWhileHoldsAreOpen(t *testing.T) { // case 38
	t.Parallel()
	b := setup(t, 6, allocator.Options{})
	roll := rollout.New(b.app)
	b.alloc = allocator.New(b.app, allocator.Options{Precondition: roll.Precondition()})
	t.Cleanup(func() { b.alloc.Close(context.Background()) })
	org := fixture.Org(t, b.owner, "acme", 10, 50)
	fixture.Equal(t, b.owner, "m", 8)
	if _, err := roll.SetLaunch(t.Context(), actor, "on"); err != nil {
		t.Fatal(err)
	}
	book, scope := holds.New(b.app, holds.DefaultPolicy()), holds.Scope{OrgID: org}
	for _, off := range []string{"organisation", "launch"} {
		var open []uuid.UUID
		for i := range 3 {
			res := b.order(org, fmt.Sprint(off, i), allocator.Request{})
			if res.Outcome != allocator.Held {
				t.Fatalf("before: %+v", res)
			}
			open = append(open, res.Hold.ID)
		}
		if off == "organisation" {
			if _, err := roll.SetOrg(t.Context(), actor, "acme", "off"); err != nil {
				t.Fatal(err)
			}
		} else if _, err := roll.SetLaunch(t.Context(), actor, "off"); err != nil {
			t.Fatal(err)
		}
		if res := b.order(org, off+"new", allocator.Request{}); res.Outcome != allocator.NotRolledOut || res.Rollout == nil {
			t.Errorf("%s off, new: %s", off, res.Outcome)
		}
		if res := b.order(org, off+"0", allocator.Request{}); res.Outcome != allocator.Replayed {
			t.Errorf("%s off, repeat: %s", off, res.Outcome)
		}
		if _, err := book.Extend(t.Context(), actor, scope, open[0], ""); err != nil {
			t.Errorf("%s off, extension: %v", off, err)
		}
		if _, created, err := book.Convert(t.Context(), actor, scope, open[0]); err != nil || !created {
			t.Errorf("%s off, confirmation: %v", off, err)
		}
		if _, err := book.Cancel(t.Context(), actor, scope, open[1], "no"); err != nil {
			t.Errorf("%s off, giving back: %v", off, err)
		}
		lapse(b)
		if n, err := book.Sweep(t.Context()); err != nil || n != 1 {
			t.Errorf("%s off: swept %d, %v", off, n, err)
		}
		if off == "organisation" {
			if _, err := roll.SetOrg(t.Context(), actor, "acme", "inherit"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
