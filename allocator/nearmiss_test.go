package allocator

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ironhold/fleet"
)

func TestNearMissesAreTrue(t *testing.T) {
	t.Parallel()
	onFleets(t, func(rt *rapid.T, a *Allocator, fl modelFleet) {
		r := drawRequest(rt, fl.machines)
		s, faults, err := a.Survey(t.Context(), fl.me, r)
		if err != nil || len(faults) > 0 {
			rt.Fatalf("survey: %v %v", faults, err)
		}
		told := map[Reason]bool{}
		for _, miss := range s.NearMisses {
			told[miss.Code] = true
			r2 := relaxed(rt, &r, miss.Relax, miss.Value)
			if n := len(fl.eligible(&r2)); n != s.Eligible+miss.Gains || miss.Gains < 1 {
				rt.Fatalf("%s with %s: %+v would make %d of %d eligible", toJSON(r), miss.Relax, miss, n, s.Eligible)
			}
			s2, faults, err := a.Survey(t.Context(), fl.me, r2)
			if err != nil || len(faults) > 0 || s2.Eligible != s.Eligible+miss.Gains {
				rt.Fatalf("%+v: the survey finds %d: %v %v", miss, s2.Eligible, faults, err)
			}
		}
		for reason := range relaxes {
			if n := len(fl.excludedBy(&r, reason)); n > 0 != told[reason] {
				rt.Fatalf("%d machines are excluded by %s alone, told: %v", n, reason, s.NearMisses)
			}
		}
	})
}

// TestNearMissesOfNames covers spellings, machines without a name, and lists that are full.
func TestNearMissesOfNames(t *testing.T) {
	t.Parallel()
	full := strings.Split(strings.Repeat("x,", maxItems-1)+"x", ",")
	for _, c := range []struct {
		name   string
		reason Reason
		r      Request
		specs  []fleet.Spec
		want   string
	}{
		{"two spellings are one step", WrongVendor, Request{Vendors: []string{"HPE"}},
			[]fleet.Spec{{Vendor: "Dell"}, {Vendor: "DELL"}, {Vendor: "Lenovo"}},
			`[["HPE","DELL"] 2] [["HPE","Lenovo"] 1]`},
		{"nameless machines need the constraint to go", WrongVendor, Request{Vendors: []string{"HPE"}},
			[]fleet.Spec{{Vendor: "Dell"}, {Vendor: ""}}, `[[] 2]`},
		{"a name that no request may have", WrongVendor, Request{Vendors: []string{"HPE"}},
			[]fleet.Spec{{Vendor: strings.Repeat("v", maxText+1)}}, `[[] 1]`},
		{"a full list", WrongSite, Request{Sites: full}, []fleet.Spec{{SiteCode: "HEL1"}}, `[[] 1]`},
		{"at most three", WrongSite, Request{Sites: []string{"A"}},
			[]fleet.Spec{{SiteCode: "B"}, {SiteCode: "C"}, {SiteCode: "D"}, {SiteCode: "E"}, {SiteCode: "E"}},
			`[["A","E"] 2] [["A","B"] 1] [["A","C"] 1]`},
		{"who lacks fewer features is let in as well", MissingFeature, Request{Features: []string{"a", "b", "c"}},
			[]fleet.Spec{{}, {Features: []string{"A"}}, {Features: []string{"a", "b"}}},
			`[[] 3] [["a"] 2] [["a","b"] 1]`},
		{"the same feature twice", MissingFeature, Request{Features: []string{"a", "A", "b"}},
			[]fleet.Spec{{Features: []string{"b"}}}, `[["b"] 1]`},
		{"the smallest step, and the one that gains all", TooLittleRAM, Request{MinRAMGB: 128},
			[]fleet.Spec{{RAMGB: 32}, {RAMGB: 64}, {RAMGB: 64}, {RAMGB: 96}}, `[96 1] [32 4]`},
		{"a budget goes up", OverBudget, Request{MaxPriceMonthMinor: new(int64(10))},
			[]fleet.Spec{{PriceMonthMinor: 12}, {PriceMonthMinor: 15}, {PriceMonthMinor: 12}}, `[12 2] [15 3]`},
	} {
		var m missSet
		for i := range c.specs {
			m.add(c.reason, &c.r, &c.specs[i], 1)
		}
		var got []string
		for _, miss := range m.list(&c.r) {
			value, _ := json.Marshal(miss.Value)
			got = append(got, "["+string(value)+" "+string(toJSON(miss.Gains))+"]")
			r := relaxed(t, &c.r, miss.Relax, miss.Value)
			if f := r.Faults(); len(f) > 0 {
				t.Errorf("%s: %s is no request: %v", c.name, value, f)
			}
			fit := slices.DeleteFunc(slices.Clone(c.specs), func(s fleet.Spec) bool { return !fits(&r, &s) })
			if len(fit) != miss.Gains {
				t.Errorf("%s: %s lets %d in, not %d", c.name, value, len(fit), miss.Gains)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}
