package allocator

import (
	"context"
	"slices"
	"strings"
	"testing"

	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

func fields(faults []Fault) string {
	var out []string
	for _, f := range faults {
		out = append(out, f.Field)
	}
	return strings.Join(out, " ")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxText+1)
	for _, c := range []struct {
		name string
		r    Request
		want string
	}{
		{"nothing asked", Request{}, ""},
		{"everything at its bound", Request{MinCores: maxCores, MinThreads: 2 * maxCores, MinRAMGB: maxRAMGB, MinNVMeGB: maxDriveGB,
			MinSSDGB: maxDriveGB, MinHDDGB: maxDriveGB, MinNICMbps: maxMbps, MaxPriceMonthMinor: new(int64(maxPrice)),
			CPU: long[1:], Machine: long[1:], Sites: slices.Repeat([]string{"HEL1"}, maxItems), Features: []string{long[1:]}}, ""},
		{"everything beyond it", Request{MinCores: maxCores + 1, MinThreads: 2*maxCores + 1, MinRAMGB: maxRAMGB + 1,
			MinNVMeGB: maxDriveGB + 1, MinSSDGB: maxDriveGB + 1, MinHDDGB: maxDriveGB + 1, MinNICMbps: maxMbps + 1,
			MaxPriceMonthMinor: new(int64(maxPrice + 1)), CPU: long, Machine: long, Sites: slices.Repeat([]string{"x"}, maxItems+1),
			Vendors: []string{long}, Features: []string{long}},
			"min_cores min_threads min_ram_gb min_nvme_gb min_ssd_gb min_hdd_gb min_nic_mbps max_price_month_minor sites vendors features cpu machine"},
		{"below nothing", Request{MinCores: -1, MinThreads: -1, MinRAMGB: -1, MinNVMeGB: -1, MinSSDGB: -1, MinHDDGB: -1, MinNICMbps: -1,
			MaxPriceMonthMinor: new(int64(-1))},
			"min_cores min_threads min_ram_gb min_nvme_gb min_ssd_gb min_hdd_gb min_nic_mbps max_price_month_minor"},
		{"a free machine may be asked for", Request{MaxPriceMonthMinor: new(int64(0))}, ""},
		{"empty entries", Request{Sites: []string{""}, Vendors: []string{"Dell", ""}, Features: []string{""}}, "sites vendors features"},
		{"unprintable", Request{CPU: "a\nb", Machine: "a\x00b", Sites: []string{"a\tb"}, Vendors: []string{"\u202e"}, Features: []string{"\xff"}},
			"sites vendors features cpu machine"},
		{"other scripts are fine", Request{CPU: "Ryzen™ é", Vendors: []string{"富士通"}}, ""},
	} {
		faults := c.r.Faults()
		if got := fields(faults); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		for _, f := range faults {
			if f.Message == "" {
				t.Errorf("%s: %s has no message", c.name, f.Field)
			}
		}
	}
}

func TestValidKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{"k": true, strings.Repeat("~", 255): true, "!": true, "": false, strings.Repeat("k", 256): false,
		"a b": false, "a\n": false, "é": false, "\x7f": false} {
		if ValidKey(key) != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
}

// TestUnknownNames: all faults are told together, those that need the database with the others,
// by order, survey and check alike.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	a := New(fixture.App(t, owner, 4), Options{})
	t.Cleanup(func() { a.Close(context.Background()) })
	me := fixture.Org(t, owner, "me", 5, 5)
	fixture.Add(t, owner, fixture.Machine{Tag: "A1", Site: "HEL1"})
	for _, c := range []struct {
		name string
		key  string
		r    Request
		want string
	}{
		{"known in another case", "k", Request{Sites: []string{"hel1"}, Machine: "A1"}, ""},
		{"an unknown site", "k2", Request{Sites: []string{"HEL1", "HEL2"}}, "sites"},
		{"two unknown sites and a machine", "k3", Request{Sites: []string{"X", "Y"}, Machine: "a1"}, "sites sites machine"},
		{"with a bound and the key", "", Request{MinCores: -1, Sites: []string{"X"}, Machine: "none"}, "min_cores Idempotency-Key sites machine"},
		{"what is no name is not looked up", "k4", Request{Machine: "a\x00b", Sites: []string{"", "\n"}}, "sites machine"},
		{"too many sites are one fault", "k5", Request{Sites: slices.Repeat([]string{"X"}, maxItems+1)}, "sites"},
	} {
		res, err := a.Order(t.Context(), Order{OrgID: me, Key: c.key, Request: c.r})
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && res.Outcome != Held, c.want != "" && res.Outcome != Invalid, fields(res.Faults) != c.want:
			t.Errorf("%s: %s, %+v", c.name, res.Outcome, res.Faults)
		}
		want := strings.ReplaceAll(c.want, "Idempotency-Key ", "")
		if _, faults, err := a.Survey(t.Context(), me, c.r); err != nil || fields(faults) != want {
			t.Errorf("%s, survey: %+v, %v", c.name, faults, err)
		}
		if faults, err := a.Check(t.Context(), c.r); err != nil || fields(faults) != want {
			t.Errorf("%s, check: %+v, %v", c.name, faults, err)
		}
	}
	faults, err := a.Check(t.Context(), Request{Sites: []string{"HEL2"}, Machine: "B9"})
	if err != nil || len(faults) != 2 || faults[0].Message != `there is no site "HEL2"; the sites are HEL1` ||
		faults[1].Message != `there is no machine "B9"` {
		t.Errorf("%+v, %v", faults, err)
	}
	if n := fixture.Get[int](t, owner, "select count(*)::int from holds"); n != 1 {
		t.Errorf("%d holds", n)
	}
}
