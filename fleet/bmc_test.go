package fleet_test

import (
	"errors"
	"strings"
	"testing"

	"ironhold/fleet"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
)

func TestParseBMC(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("ab", 32)
	for _, c := range []struct{ address, fingerprint, want, field string }{
		{"10.2.0.17", "", "10.2.0.17", ""},
		{" 10.2.0.17:443 ", sum, "10.2.0.17 " + sum, ""},
		{"10.2.0.17:8443", strings.ToUpper(sum), "10.2.0.17:8443 " + sum, ""},
		{"bmc17.example", strings.TrimSuffix(strings.Repeat("AB:", 32), ":"), "bmc17.example " + sum, ""},
		{"fd00::7", "", "fd00::7", ""},
		{"[FD00::7]:8443", "", "[fd00::7]:8443", ""},
		{"", "", "", "address"}, {"a b", "", "", "address"}, {"bmc:0", "", "", "address"}, {"bmc:x", "", "", "address"}, {"bmc:70000", "", "", "address"},
		{"https://bmc", "", "", "address"}, {"bmc/redfish", "", "", "address"}, {"u@bmc", "", "", "address"}, {"bmc?x", "", "", "address"},
		{"fe80::1%eth0", "", "", "address"}, {strings.Repeat("a", 300), "", "", "address"},
		{"10.2.0.17", "abc", "", "fingerprint"}, {"10.2.0.17", sum + "00", "", "fingerprint"}, {"10.2.0.17", strings.Repeat("zz", 32), "", "fingerprint"},
	} {
		got, err := fleet.ParseBMC(c.address, c.fingerprint)
		invalid, _ := errors.AsType[*fleet.Invalid](err)
		if got.String() != c.want || (err != nil) != (c.field != "") || invalid != nil && invalid.Field != c.field {
			t.Errorf("%q %q: %q, %v", c.address, c.fingerprint, got, err)
		}
	}
}

func TestSetBMC(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	importText(t, db, head+"rack\nM1,S1,Xeon,8,64,R1\n", fleet.ImportOptions{})
	reg := fleet.New(db)
	by := pg.By{Actor: "person:op"}
	sum := strings.Repeat("cd", 32)
	set := func(address, fingerprint, want string) {
		t.Helper()
		if _, err := reg.SetBMC(t.Context(), by, "M1", address, fingerprint); err != nil {
			t.Fatal(err)
		}
		if got, err := reg.BMC(t.Context(), "M1"); err != nil || got.String() != want {
			t.Errorf("%q, not %q, %v", got, want, err)
		}
	}
	set("10.2.0.17", "", "10.2.0.17")
	set("10.2.0.17", sum, "10.2.0.17 "+sum)
	set("10.2.0.17:443", sum, "10.2.0.17 "+sum) // the same: no line in the history
	set("", "", "")
	if _, err := reg.SetBMC(t.Context(), by, "M1", "", sum); err == nil {
		t.Error("a fingerprint without an address was taken")
	}
	if _, err := reg.SetBMC(t.Context(), by, "M9", "10.2.0.17", ""); err == nil {
		t.Error("a machine that is not there got a BMC")
	}
	var lines int
	var reads bool
	if err := db.QueryRow(t.Context(), `select (select count(*) from machine_events where event = 'bmc' and actor = 'person:op'),
		has_table_privilege('ironhold_web', 'machine_bmcs', 'select')`).Scan(&lines, &reads); err != nil {
		t.Fatal(err)
	}
	if lines != 3 {
		t.Errorf("%d lines in the history, not 3", lines)
	}
	// Customers read machines; how one is reached is not among what they read.
	if reads {
		t.Error("the role of the pages reads how machines are reached")
	}
}
