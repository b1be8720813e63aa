package rollout_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"ironhold/rollout"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	org := uuid.MustParse("01890000-0000-7000-8000-000000000001")
	share := rollout.Share(org)
	below, above := fmt.Sprintf("%d%%", share), fmt.Sprintf("%d%%", share+1)
	for _, c := range []struct {
		launch, setting string
		on              bool
		reason          string
	}{
		{"off", "inherit", false, rollout.ReasonLaunchOff},
		{"off", "on", false, rollout.ReasonLaunchOff},
		{"off", "off", false, rollout.ReasonLaunchOff},
		{"opt-in", "inherit", false, rollout.ReasonNotOptedIn},
		{"opt-in", "on", true, rollout.ReasonOrgOn},
		{"opt-in", "off", false, rollout.ReasonOrgOff},
		{"on", "inherit", true, rollout.ReasonLaunchOn},
		{"on", "on", true, rollout.ReasonOrgOn},
		{"on", "off", false, rollout.ReasonOrgOff},
		{"0%", "inherit", false, rollout.ReasonPercentageOut},
		{"0%", "on", true, rollout.ReasonOrgOn},
		{"0%", "off", false, rollout.ReasonOrgOff},
		{"100%", "inherit", true, rollout.ReasonPercentageIn},
		{"100%", "on", true, rollout.ReasonOrgOn},
		{"100%", "off", false, rollout.ReasonOrgOff},
		{below, "inherit", false, rollout.ReasonPercentageOut},
		{above, "inherit", true, rollout.ReasonPercentageIn},
		// What nobody should have written is off.
		{"", "on", false, rollout.ReasonLaunchOff},
		{"101%", "inherit", false, rollout.ReasonLaunchOff},
		{"-1%", "inherit", false, rollout.ReasonLaunchOff},
		{"ON", "inherit", false, rollout.ReasonLaunchOff},
		{"on", "", false, rollout.ReasonOrgOff},
		{"on", "maybe", false, rollout.ReasonOrgOff},
	} {
		on, reason := rollout.Decide(c.launch, c.setting, org)
		if on != c.on || reason != c.reason {
			t.Errorf("Decide(%q, %q) = %t %s, want %t %s", c.launch, c.setting, on, reason, c.on, c.reason)
		}
		if (rollout.WhoCanChange(reason) == "") != on {
			t.Errorf("%s: who can change is %q", reason, rollout.WhoCanChange(reason))
		}
	}
}

// Whoever is in stays in as the percentage grows, and NN% is about NN of a hundred.
func TestShareIsStableAndEven(t *testing.T) {
	t.Parallel()
	if got := rollout.Share(uuid.MustParse("01890000-0000-7000-8000-000000000001")); got != 96 {
		t.Errorf("the share of a known organisation moved to %d", got)
	}
	const orgs = 5000
	in := 0
	for range orgs {
		org := uuid.New()
		was := false
		for percent := 0; percent <= 100; percent++ {
			on, _ := rollout.Decide(fmt.Sprintf("%d%%", percent), rollout.Inherit, org)
			if was && !on {
				t.Fatalf("%s fell out at %d%%", org, percent)
			}
			was = on
		}
		if !was {
			t.Fatalf("%s is out at 100%%", org)
		}
		if rollout.Share(org) < 30 {
			in++
		}
	}
	if in < orgs*27/100 || in > orgs*33/100 {
		t.Errorf("%d of %d are in at 30%%", in, orgs)
	}
}
