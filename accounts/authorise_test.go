package accounts_test

import (
	"strings"
	"testing"

	"ironhold/accounts"
)

// The table as people read it: c customer, a org-admin, s sales, o operator.
func TestCan(t *testing.T) {
	t.Parallel()
	want := map[accounts.Function]string{
		accounts.SeeOffers:      "caso",
		accounts.RunSurvey:      "caso",
		accounts.SurveyMachines: "so",
		accounts.Order:          "ca",
		accounts.OrderOnBehalf:  "s",
		accounts.SeeHolds:       "caso",
		accounts.SeeAllHolds:    "so",
		accounts.ExtendHold:     "cas",
		accounts.CancelHold:     "caso",
		accounts.ConvertHold:    "cas",
		accounts.SubstituteHold: "cas",
		accounts.SeeServices:    "caso",
		accounts.EndService:     "caso",
		accounts.SeeFleet:       "so",
		accounts.FleetWrite:     "o",
		accounts.SeeAttempts:    "so",
		accounts.SeeRollout:     "aso",
		accounts.SeeHistory:     "ca",
		accounts.RolloutOrg:     "ao",
		accounts.RolloutLaunch:  "o",
		accounts.ManageMembers:  "a",
		accounts.ManageTokens:   "a",
		accounts.ManageWebhooks: "a",
		accounts.SeeLimits:      "aso",
		accounts.SetLimits:      "o",
		accounts.SuspendOrg:     "o",
		accounts.ManageJobs:     "o",
		accounts.Invariants:     "o",
		accounts.GiveBack:       "so",
		accounts.WriteNotes:     "so",
		accounts.AskPurchase:    "so",
		accounts.OverrideCool:   "s",
		accounts.ManageOrgs:     "o",
		accounts.ManagePeople:   "o",
		accounts.SeeOrgs:        "so",
	}
	letters := map[accounts.Role]string{accounts.Customer: "c", accounts.OrgAdmin: "a", accounts.Sales: "s", accounts.Operator: "o"}
	for _, f := range accounts.Functions() {
		roles, ok := want[f]
		if !ok {
			t.Errorf("%s is not in this table", f)
		}
		for _, role := range accounts.Roles() {
			if got := accounts.Can(role, f); got != strings.Contains(roles, letters[role]) {
				t.Errorf("Can(%s, %s) = %t", role, f, got)
			}
		}
		for _, nobody := range []accounts.Role{"", "king", "Operator"} {
			if accounts.Can(nobody, f) {
				t.Errorf("Can(%q, %s)", nobody, f)
			}
		}
	}
	if len(want) != len(accounts.Functions()) {
		t.Errorf("%d functions, want %d", len(accounts.Functions()), len(want))
	}
	if accounts.Can(accounts.Operator, "no such function") {
		t.Error("an unknown function is granted")
	}
}
