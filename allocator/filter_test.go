package allocator

import (
	"slices"
	"testing"

	"ironhold/fleet"
)

// plain is a configuration that the request of each line fits but for the one thing it says.
func plain() fleet.Spec {
	return fleet.Spec{SiteCode: "HEL1", Vendor: "Dell", CPU: "AMD EPYC 7302P", Cores: 16, Threads: 32, RAMGB: 64, ECC: true,
		NVMeGB: 960, SSDGB: 480, HDDGB: 8000, GPU: "RTX 4000", NICMbps: 1000, Features: []string{"ipmi", "raid"},
		PriceMonthMinor: 4000, Currency: "EUR"}
}

// TestFilters asks every filter alone: at its bound, just beyond it, and not set.
func TestFilters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		r      Request
		change func(s *fleet.Spec)
		want   Reason // "" when it fits
	}{
		{"nothing asked", Request{}, func(*fleet.Spec) {}, ""},
		{"nothing asked of the smallest", Request{}, func(s *fleet.Spec) { *s = fleet.Spec{Cores: 1, RAMGB: 1, CPU: "x"} }, ""},
		{"site in another case", Request{Sites: []string{"NBG1", "hel1"}}, func(*fleet.Spec) {}, ""},
		{"other site", Request{Sites: []string{"NBG1"}}, func(*fleet.Spec) {}, WrongSite},
		{"part of a site's code", Request{Sites: []string{"HEL"}}, func(*fleet.Spec) {}, WrongSite},
		{"vendor in another case", Request{Vendors: []string{"dell"}}, func(*fleet.Spec) {}, ""},
		{"machine without a vendor", Request{Vendors: []string{"Dell"}}, func(s *fleet.Spec) { s.Vendor = "" }, WrongVendor},
		{"part of a processor's name", Request{CPU: "epyc"}, func(*fleet.Spec) {}, ""},
		{"other processor", Request{CPU: "Xeon"}, func(*fleet.Spec) {}, WrongCPU},
		{"processor with a pattern's characters", Request{CPU: "EPYC %"}, func(*fleet.Spec) {}, WrongCPU},
		{"cores at the minimum", Request{MinCores: 16}, func(*fleet.Spec) {}, ""},
		{"cores below", Request{MinCores: 17}, func(*fleet.Spec) {}, TooFewCores},
		{"threads at the minimum", Request{MinThreads: 32}, func(*fleet.Spec) {}, ""},
		{"threads below", Request{MinThreads: 33}, func(*fleet.Spec) {}, TooFewThreads},
		{"memory at the minimum", Request{MinRAMGB: 64}, func(*fleet.Spec) {}, ""},
		{"memory below", Request{MinRAMGB: 65}, func(*fleet.Spec) {}, TooLittleRAM},
		{"nvme at the minimum", Request{MinNVMeGB: 960}, func(*fleet.Spec) {}, ""},
		{"nvme below", Request{MinNVMeGB: 961}, func(*fleet.Spec) {}, TooLittleNVMe},
		{"other drives do not count as nvme", Request{MinNVMeGB: 1}, func(s *fleet.Spec) { s.NVMeGB = 0 }, TooLittleNVMe},
		{"ssd at the minimum", Request{MinSSDGB: 480}, func(*fleet.Spec) {}, ""},
		{"ssd below", Request{MinSSDGB: 481}, func(*fleet.Spec) {}, TooLittleSSD},
		{"hdd at the minimum", Request{MinHDDGB: 8000}, func(*fleet.Spec) {}, ""},
		{"hdd below", Request{MinHDDGB: 8001}, func(*fleet.Spec) {}, TooLittleHDD},
		{"network at the minimum", Request{MinNICMbps: 1000}, func(*fleet.Spec) {}, ""},
		{"network below", Request{MinNICMbps: 1001}, func(*fleet.Spec) {}, TooSlowNetwork},
		{"ecc wanted and there", Request{ECC: new(true)}, func(*fleet.Spec) {}, ""},
		{"ecc wanted and not there", Request{ECC: new(true)}, func(s *fleet.Spec) { s.ECC = false }, NoECC},
		{"ecc false is no matter", Request{ECC: new(false)}, func(*fleet.Spec) {}, ""},
		{"gpu wanted and there", Request{GPU: new(true)}, func(*fleet.Spec) {}, ""},
		{"gpu wanted and not there", Request{GPU: new(true)}, func(s *fleet.Spec) { s.GPU = "" }, NoGPU},
		{"gpu false is no matter", Request{GPU: new(false)}, func(*fleet.Spec) {}, ""},
		{"features in another case", Request{Features: []string{"RAID", "ipmi"}}, func(*fleet.Spec) {}, ""},
		{"one feature missing", Request{Features: []string{"ipmi", "ipv6"}}, func(*fleet.Spec) {}, MissingFeature},
		{"price at the limit", Request{MaxPriceMonthMinor: new(int64(4000))}, func(*fleet.Spec) {}, ""},
		{"price above", Request{MaxPriceMonthMinor: new(int64(3999))}, func(*fleet.Spec) {}, OverBudget},
		{"a limit of nothing is a limit", Request{MaxPriceMonthMinor: new(int64(0))}, func(*fleet.Spec) {}, OverBudget},
		{"a free machine within a limit of nothing", Request{MaxPriceMonthMinor: new(int64(0))}, func(s *fleet.Spec) { s.PriceMonthMinor = 0 }, ""},
	} {
		s := plain()
		c.change(&s)
		got := specReasons(&c.r, &s)
		var want []Reason
		if c.want != "" {
			want = []Reason{c.want}
		}
		if !slices.Equal(got, want) || fits(&c.r, &s) != (c.want == "") {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

func TestStateReasons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    occupancy
		want []Reason
	}{
		{occupancy{Status: fleet.Ready}, nil},
		{occupancy{Status: fleet.Intake}, []Reason{NotReady}},
		{occupancy{Status: fleet.Cleaning}, []Reason{NotReady}},
		{occupancy{Status: fleet.Maintenance}, []Reason{NotReady}},
		{occupancy{Status: fleet.Retired}, []Reason{NotReady}},
		{occupancy{Status: fleet.InService}, []Reason{NotReady}},
		{occupancy{Status: fleet.InService, InService: true}, []Reason{InService}},
		{occupancy{Status: fleet.Ready, InService: true}, []Reason{InService}},
		{occupancy{Status: fleet.Maintenance, InService: true}, []Reason{NotReady, InService}},
		{occupancy{Status: fleet.Ready, Held: true}, []Reason{HeldByAnother}},
		{occupancy{Status: fleet.Maintenance, Held: true}, []Reason{NotReady, HeldByAnother}},
		{occupancy{Status: fleet.Ready, Held: true, CoolingDown: true}, []Reason{HeldByAnother, CoolingDown}},
		{occupancy{Status: fleet.Ready, CoolingDown: true}, []Reason{CoolingDown}},
	} {
		if got := stateReasons(c.o); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.o, got, c.want)
		}
	}
}

// TestEveryReasonIsListed: a reason that is missing from the order of reasons would vanish from
// the histogram, and one that can be relaxed needs the name of its field.
func TestEveryReasonIsListed(t *testing.T) {
	t.Parallel()
	for _, f := range filters {
		if !slices.Contains(reasonOrder, f.reason) || relaxes[f.reason] == "" {
			t.Errorf("%s is not listed or has no field", f.reason)
		}
	}
	for _, r := range []Reason{OtherMachine, NotReady, HeldByAnother, InService, CoolingDown} {
		if !slices.Contains(reasonOrder, r) {
			t.Errorf("%s is not listed", r)
		}
	}
	if len(reasonOrder) != len(filters)+5 {
		t.Errorf("%d reasons are listed, %d exist", len(reasonOrder), len(filters)+5)
	}
	if missing(&Request{Features: []string{"a", "B", "a"}}, &fleet.Spec{Features: []string{"b"}}) == nil {
		t.Error("a missing feature is not told")
	}
}
