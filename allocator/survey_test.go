package allocator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"ironhold/fleet"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

func TestSurveyAgainstReference(t *testing.T) {
	t.Parallel()
	onFleets(t, func(rt *rapid.T, a *Allocator, fl modelFleet) {
		r := drawRequest(rt, fl.machines)
		s, faults, err := a.Survey(t.Context(), fl.me, r)
		if err != nil || len(faults) > 0 {
			rt.Fatalf("survey: %v %v", faults, err)
		}
		want := map[Reason]int{}
		byTag := map[string][]Reason{}
		for i := range fl.machines {
			reasons := reasonsOf(&r, &fl.machines[i])
			byTag[fl.machines[i].tag] = reasons
			for _, reason := range reasons {
				want[reason]++
			}
		}
		if s.Considered != len(fl.machines) || s.Eligible != len(fl.eligible(&r)) || s.Considered != s.Eligible+s.Excluded {
			rt.Fatalf("considered %d, eligible %d, excluded %d; reference: %d, %d", s.Considered, s.Eligible, s.Excluded,
				len(fl.machines), len(fl.eligible(&r)))
		}
		got := map[Reason]int{}
		for i, c := range s.Reasons {
			if got[c.Code] != 0 || i > 0 && s.Reasons[i-1].Count < c.Count {
				rt.Fatalf("not a sorted histogram: %v", s.Reasons)
			}
			got[c.Code] = c.Count
		}
		same(rt, "reasons", got, want)
		if s.AsOf.Before(fl.base) {
			rt.Fatalf("as of %s, before the fleet was there", s.AsOf)
		}

		// Machine by machine, in pages.
		after, seen := "", 0
		for limit := rapid.IntRange(1, 15).Draw(rt, "page"); ; {
			page, err := a.SurveyMachines(t.Context(), fl.me, r, after, limit)
			if err != nil || len(page) > limit {
				rt.Fatalf("page of %d: %d machines, %v", limit, len(page), err)
			}
			for _, m := range page {
				if m.AssetTag <= after {
					rt.Fatalf("%s comes after %s", m.AssetTag, after)
				}
				after = m.AssetTag
				seen++
				if !slices.Equal(m.Reasons, byTag[m.AssetTag]) || m.Eligible != (len(m.Reasons) == 0) || m.Reasons == nil {
					rt.Fatalf("%s: %v, reference %v", m.AssetTag, m.Reasons, byTag[m.AssetTag])
				}
			}
			if len(page) < limit {
				break
			}
		}
		if seen != len(fl.machines) {
			rt.Fatalf("%d of %d machines in the pages", seen, len(fl.machines))
		}
	})
}

// same compares by what a client would read.
func same(rt *rapid.T, what string, got, want any) {
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		rt.Fatalf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// TestEveryMachineFailsForAnotherReason is a fleet of one machine for each reason: all appear.
func TestEveryMachineFailsForAnotherReason(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	a := New(fixture.App(t, owner, 2), Options{})
	t.Cleanup(func() { a.Close(context.Background()) })
	me := fixture.Org(t, owner, "me", 100, 100)
	for _, s := range append([]string{"EMPTY"}, modelSites...) {
		fixture.Exec(t, owner, "insert into sites (code, name) values ($1, $1)", s)
	}
	good := plain()
	r := Request{Sites: []string{"HEL1"}, Vendors: []string{"Dell"}, CPU: "EPYC", MinCores: 16, MinThreads: 32, MinRAMGB: 64,
		MinNVMeGB: 960, MinSSDGB: 480, MinHDDGB: 8000, MinNICMbps: 1000, ECC: new(true), GPU: new(true),
		Features: []string{"ipmi", "raid"}, MaxPriceMonthMinor: new(int64(4000))}
	fl := modelFleet{me: me}
	want := map[Reason]int{}
	add := func(reason Reason, change func(m *modelMachine)) {
		m := modelMachine{id: uuid.New(), tag: fmt.Sprintf("M%02d", len(fl.machines)), spec: good, status: fleet.Ready}
		change(&m)
		fl.machines = append(fl.machines, m)
		want[reason]++
	}
	add(WrongSite, func(m *modelMachine) { m.spec.SiteCode = "NBG1" })
	add(WrongVendor, func(m *modelMachine) { m.spec.Vendor = "HPE" })
	add(WrongCPU, func(m *modelMachine) { m.spec.CPU = "Intel Xeon" })
	add(TooFewCores, func(m *modelMachine) { m.spec.Cores = 8 })
	add(TooFewThreads, func(m *modelMachine) { m.spec.Threads = 16 })
	add(TooLittleRAM, func(m *modelMachine) { m.spec.RAMGB = 32 })
	add(TooLittleNVMe, func(m *modelMachine) { m.spec.NVMeGB = 0 })
	add(TooLittleSSD, func(m *modelMachine) { m.spec.SSDGB = 0 })
	add(TooLittleHDD, func(m *modelMachine) { m.spec.HDDGB = 0 })
	add(TooSlowNetwork, func(m *modelMachine) { m.spec.NICMbps = 100 })
	add(NoECC, func(m *modelMachine) { m.spec.ECC = false })
	add(NoGPU, func(m *modelMachine) { m.spec.GPU = "" })
	add(MissingFeature, func(m *modelMachine) { m.spec.Features = []string{"ipmi"} })
	add(OverBudget, func(m *modelMachine) { m.spec.PriceMonthMinor = 5200 })
	add(NotReady, func(m *modelMachine) { m.status = fleet.Cleaning })
	add(HeldByAnother, func(m *modelMachine) { m.hold, m.since, m.left = "live", time.Minute, 14*time.Minute })
	add(InService, func(m *modelMachine) { m.service, m.status = true, fleet.InService })
	add(CoolingDown, func(m *modelMachine) { m.past = []modelGrant{{time.Hour, 45 * time.Minute}} })
	if err := fl.store(t.Context(), owner, fixture.Org(t, owner, "other", 100, 100)); err != nil {
		t.Fatal(err)
	}
	s, faults, err := a.Survey(t.Context(), me, r)
	if err != nil || len(faults) > 0 {
		t.Fatalf("%v %v", faults, err)
	}
	got := map[Reason]int{}
	for _, c := range s.Reasons {
		got[c.Code] = c.Count
	}
	if !maps.Equal(got, want) || s.Considered != len(fl.machines) || s.Excluded != s.Considered || s.Eligible != 0 {
		t.Errorf("considered %d, excluded %d, eligible %d: %v", s.Considered, s.Excluded, s.Eligible, s.Reasons)
	}
	if len(s.NearMisses) != 14 {
		t.Errorf("near misses: %+v", s.NearMisses)
	}
	r.Machine = "M00" // the exact machine, for one more reason
	if s, _, err = a.Survey(t.Context(), me, r); err != nil || s.Considered != len(fl.machines) || s.Eligible != 0 {
		t.Errorf("for one machine: %+v, %v", s, err)
	}
	if i := slices.IndexFunc(s.Reasons, func(c Count) bool { return c.Code == OtherMachine }); i < 0 || s.Reasons[i].Count != 17 {
		t.Errorf("for one machine: %v", s.Reasons)
	}
}

// TestAllHeldIsNotSoldOut: all machines are on hold and none is sold.
func TestAllHeldIsNotSoldOut(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	a := New(fixture.App(t, owner, 2), Options{})
	t.Cleanup(func() { a.Close(context.Background()) })
	orgs := fixture.Orgs(t, owner, "org", 4)
	fixture.Equal(t, owner, "m", 3)
	var first time.Time
	for i := range 3 {
		res, err := a.Order(t.Context(), Order{OrgID: orgs[i], Key: "k"})
		if err != nil || res.Outcome != Held {
			t.Fatalf("%+v, %v", res, err)
		}
		if i == 0 {
			first = res.Hold.ExpiresAt
		}
	}
	res, err := a.Order(t.Context(), Order{OrgID: orgs[3], Key: "k"})
	if err != nil || res.Outcome != AllHeld || res.NextFreeAt == nil || !res.NextFreeAt.Equal(first) {
		t.Errorf("%+v, %v; the first may free at %s", res, err, first)
	}
	if len(res.Survey.Reasons) != 1 || res.Survey.Reasons[0] != (Count{HeldByAnother, 3}) {
		t.Errorf("reasons: %v", res.Survey.Reasons)
	}
	// No more than one kind of machine is asked for: another constraint does not change the answer.
	if res, err = a.Order(t.Context(), Order{OrgID: orgs[3], Key: "k", Request: Request{MinCores: 8}}); err != nil || res.Outcome != AllHeld {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err = a.Order(t.Context(), Order{OrgID: orgs[3], Key: "k", Request: Request{MinCores: 9}}); err != nil || res.Outcome != NoneLeft {
		t.Errorf("%+v, %v", res, err)
	}
	fixture.Exec(t, owner, "update holds set state = 'cancelled'")
	if res, err = a.Order(t.Context(), Order{OrgID: orgs[3], Key: "k"}); err != nil || res.Outcome != Held {
		t.Errorf("after they were given back: %+v, %v", res, err)
	}
}
