package allocator_test

import (
	"strings"
	"testing"
	"time"

	"ironhold/allocator"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// TestSimulate: a simulation says what the order then gets, and leaves nothing behind.
func TestSimulate(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 1, 50)
	fixture.Add(t, b.owner, fixture.Machine{Tag: "A"}, fixture.Machine{Tag: "B"})
	everything := func() string {
		return fixture.Get[string](t, b.owner, `select (select count(*) from holds) || '/' || (select count(*) from hold_events) || '/' ||
			(select count(*) from allocation_attempts) || '/' || (select sum(occupancy_version) from machines)`)
	}
	before := everything()
	r := allocator.Request{Machine: "A"}
	sim, err := b.alloc.Simulate(t.Context(), allocator.Order{OrgID: org, By: pg.By{Actor: "test"}, Request: r})
	if err != nil || sim.Outcome != allocator.Held || sim.Hold.AssetTag != "A" || len(sim.Hold.Decision) == 0 || sim.Hold.ExpiresAt.IsZero() {
		t.Fatalf("%+v, %v", sim, err)
	}
	if sim.AttemptID.String() != "00000000-0000-0000-0000-000000000000" || sim.Hold.AttemptID != nil {
		t.Error("a simulation has a reference")
	}
	if len(sim.Walk) != 1 || sim.Walk[0].Result != "won" {
		t.Errorf("walk: %+v", sim.Walk)
	}
	none, err := b.alloc.Simulate(t.Context(), allocator.Order{OrgID: org, By: pg.By{Actor: "test"}, Request: allocator.Request{MinRAMGB: 1 << 13}})
	if err != nil || none.Outcome != allocator.NoneLeft || none.Survey == nil {
		t.Fatalf("%+v, %v", none, err)
	}
	b.alloc.Close(t.Context()) // whatever is to be logged is written now
	if after := everything(); after != before {
		t.Errorf("left behind: %s, before %s", after, before)
	}
	b.alloc = allocator.New(b.app, allocator.Options{})
	if res := b.order(org, "k", r); res.Outcome != allocator.Held {
		t.Fatal(res.Outcome)
	}
	// What refuses an order refuses its simulation.
	if sim, err := b.alloc.Simulate(t.Context(), allocator.Order{OrgID: org, By: pg.By{Actor: "test"}, Request: allocator.Request{}}); err != nil || sim.Outcome != allocator.LimitReached {
		t.Errorf("%+v, %v", sim, err)
	}
}

func TestOverrideCoolDown(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{Policy: holds.Policy{Duration: 15 * time.Minute, Extension: 15 * time.Minute, Ceiling: 20 * time.Minute, Window: 24 * time.Hour}})
	org := fixture.Org(t, b.owner, "acme", 5, 50)
	fixture.Add(t, b.owner, fixture.Machine{Tag: "A"})
	exact := allocator.Request{Machine: "A"}
	first := b.order(org, "k1", exact)
	if first.Outcome != allocator.Held {
		t.Fatal(first.Outcome)
	}
	if _, err := holds.New(b.app, holds.DefaultPolicy()).Cancel(t.Context(), pg.By{Actor: "test"}, holds.Scope{}, first.Hold.ID, ""); err != nil {
		t.Fatal(err)
	}
	if res := b.order(org, "k2", exact); res.Outcome != allocator.CoolDown {
		t.Fatal(res.Outcome)
	}
	res, err := b.alloc.Order(t.Context(), allocator.Order{OrgID: org, By: pg.By{Actor: "user:sam"}, Key: "k3", Request: exact, OverrideCoolDown: "promised on the phone"})
	if err != nil || res.Outcome != allocator.Held {
		t.Fatalf("%+v, %v", res, err)
	}
	if !strings.Contains(string(res.Hold.Decision), "promised on the phone") {
		t.Errorf("the decision does not say so: %s", res.Hold.Decision)
	}
	a, err := b.alloc.Attempt(t.Context(), res.AttemptID)
	if err != nil || !strings.Contains(string(a.Detail), "promised on the phone") {
		t.Errorf("the record does not say so: %s, %v", a.Detail, err)
	}
}

// Whoever overrides the cool-down is told what remains: the machine is held by another, which is
// not that there is none.
func TestOverriddenCoolDownIsNoReason(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{Policy: holds.Policy{Duration: 15 * time.Minute, Extension: 15 * time.Minute, Ceiling: 20 * time.Minute, Window: 24 * time.Hour}})
	org, rival := fixture.Org(t, b.owner, "acme", 5, 50), fixture.Org(t, b.owner, "rival", 5, 50)
	fixture.Add(t, b.owner, fixture.Machine{Tag: "A"})
	first := b.order(org, "k1", allocator.Request{})
	if _, err := holds.New(b.app, holds.DefaultPolicy()).Cancel(t.Context(), pg.By{Actor: "test"}, holds.Scope{}, first.Hold.ID, ""); err != nil {
		t.Fatal(err)
	}
	if res := b.order(rival, "k", allocator.Request{}); res.Outcome != allocator.Held {
		t.Fatal(res.Outcome)
	}
	for key, r := range map[string]allocator.Request{"any": {}, "exact": {Machine: "A"}} {
		res, err := b.alloc.Order(t.Context(), allocator.Order{OrgID: org, By: pg.By{Actor: "user:sam"}, Key: key, Request: r, OverrideCoolDown: "promised on the phone"})
		if err != nil || res.Outcome != allocator.AllHeld || res.NextFreeAt == nil {
			t.Errorf("%s: %s, free at %v, %v; want all_held", key, res.Outcome, res.NextFreeAt, err)
		}
	}
}

// A machine that another holds and that cools down for whoever asks is held, not gone: both end by
// themselves, and it may be free for them at the later of the two.
func TestHeldAndCoolingDown(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{Policy: holds.Policy{Duration: 15 * time.Minute, Extension: 15 * time.Minute, Ceiling: 20 * time.Minute, Window: 24 * time.Hour}})
	org, rival := fixture.Org(t, b.owner, "acme", 5, 50), fixture.Org(t, b.owner, "rival", 5, 50)
	fixture.Add(t, b.owner, fixture.Machine{Tag: "A"})
	first := b.order(org, "k1", allocator.Request{})
	if _, err := holds.New(b.app, holds.DefaultPolicy()).Cancel(t.Context(), pg.By{Actor: "test"}, holds.Scope{}, first.Hold.ID, ""); err != nil {
		t.Fatal(err)
	}
	theirs := b.order(rival, "k", allocator.Request{})
	if theirs.Outcome != allocator.Held {
		t.Fatal(theirs.Outcome)
	}
	cooled := first.Hold.CreatedAt.Add(24 * time.Hour)
	for key, r := range map[string]allocator.Request{"any": {}, "exact": {Machine: "A"}} {
		if res := b.order(org, key, r); res.Outcome != allocator.AllHeld || res.NextFreeAt == nil || !res.NextFreeAt.Equal(cooled) {
			t.Errorf("%s: %s, free at %v; want all_held, free at %s", key, res.Outcome, res.NextFreeAt, cooled)
		}
		s, _, err := b.alloc.Survey(t.Context(), org, r)
		if err != nil || s.NextFreeAt == nil || !s.NextFreeAt.Equal(cooled) {
			t.Errorf("%s: the survey says free at %v, %v", key, s.NextFreeAt, err)
		}
	}
	// The hold lasts longer than the cool-down.
	fixture.Exec(t, b.owner, "update holds set expires_at = clock_timestamp() + interval '25 hours' where id = $1", theirs.Hold.ID)
	deadline := fixture.Get[time.Time](t, b.owner, "select expires_at from holds where id = $1", theirs.Hold.ID)
	if res := b.order(org, "later", allocator.Request{}); res.Outcome != allocator.AllHeld || res.NextFreeAt == nil || !res.NextFreeAt.Equal(deadline) {
		t.Errorf("%s, free at %v; want %s", res.Outcome, res.NextFreeAt, deadline)
	}
	// Not ready besides: waiting alone does not help.
	fixture.Exec(t, b.owner, "update machines set status = 'maintenance', status_reason = 'fan'")
	if res := b.order(org, "broken", allocator.Request{}); res.Outcome != allocator.NoneLeft {
		t.Errorf("%s, want none_left", res.Outcome)
	}
}

func TestRefusedDemand(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	acme, rival := fixture.Org(t, b.owner, "acme", 5, 50), fixture.Org(t, b.owner, "rival", 5, 50)
	fixture.Add(t, b.owner, fixture.Machine{Tag: "A"})
	big := allocator.Request{MinRAMGB: 1 << 12}
	for i, org := range []int{0, 0, 1} {
		id := acme
		if org == 1 {
			id = rival
		}
		if res := b.order(id, strings.Repeat("k", i+1), big); res.Outcome != allocator.NoneLeft {
			t.Fatal(res.Outcome)
		}
	}
	b.order(acme, "other", allocator.Request{MinCores: 500})
	b.alloc.Close(t.Context())
	list, err := b.alloc.Refused(t.Context(), time.Hour)
	if err != nil || len(list) != 2 || list[0].Orders != 3 || list[0].Orgs != 2 || list[0].Request.MinRAMGB != big.MinRAMGB {
		t.Fatalf("%+v, %v", list, err)
	}
	spec := allocator.SpecFor(list[0].Request, "HEL1")
	if !allocator.Serves(spec, list[0].Request) || allocator.Serves(spec, list[1].Request) || allocator.Serves(spec, allocator.Request{Machine: "A"}) {
		t.Errorf("%+v", spec)
	}
}

func TestSurveyBy(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 5, 50)
	fixture.Equal(t, b.owner, "m", 7)
	b.order(org, "k", allocator.Request{Machine: "m-3"})
	var all []string
	after := ""
	for range 10 {
		list, next, err := b.alloc.SurveyBy(t.Context(), org, allocator.Request{}, allocator.EligibleMachines, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			all = append(all, m.AssetTag)
		}
		if after = next; next == "" {
			break
		}
	}
	if got := strings.Join(all, " "); got != "m-1 m-2 m-4 m-5 m-6 m-7" {
		t.Errorf("eligible: %s", got)
	}
	list, next, err := b.alloc.SurveyBy(t.Context(), org, allocator.Request{}, allocator.HeldByAnother, "", 2)
	if err != nil || len(list) != 1 || list[0].AssetTag != "m-3" || next != "" {
		t.Errorf("held: %+v %q %v", list, next, err)
	}
}
