package accounts

import "slices"

// Function is something that a role may or may not do. Whether the object is the actor's own is
// asked apart, where it is read.
type Function string

// The functions.
const (
	SeeOffers      Function = "see_offers"
	RunSurvey      Function = "survey"
	SurveyMachines Function = "survey_machines" // machine by machine, with tags
	Order          Function = "order"           // for one's own organisation
	OrderOnBehalf  Function = "order_on_behalf"
	SeeHolds       Function = "see_holds"     // of one's own organisation
	SeeAllHolds    Function = "see_all_holds" // and services, of every organisation
	ExtendHold     Function = "extend"
	CancelHold     Function = "cancel"
	ConvertHold    Function = "convert"
	SubstituteHold Function = "substitute"
	SeeServices    Function = "see_services"
	EndService     Function = "end_service"
	SeeFleet       Function = "see_fleet" // machines with occupant and history
	FleetWrite     Function = "fleet_write"
	SeeAttempts    Function = "see_attempts"
	SeeRollout     Function = "see_rollout"
	RolloutOrg     Function = "rollout_org" // an organisation's setting
	RolloutLaunch  Function = "rollout_launch"
	SeeHistory     Function = "see_history" // of one's own organisation: who ordered what
	ManageMembers  Function = "members"
	ManageTokens   Function = "tokens"
	ManageWebhooks Function = "webhooks"
	SeeLimits      Function = "see_limits"
	SetLimits      Function = "set_limits"
	SuspendOrg     Function = "suspend"
	ManageJobs     Function = "jobs"
	Invariants     Function = "invariants"
	GiveBack       Function = "give_back"    // another's hold, with a reason
	WriteNotes     Function = "notes"        // internal ones, and read them
	AskPurchase    Function = "purchases"    // purchase requests
	OverrideCool   Function = "override"     // the cool-down, with a reason
	ManageOrgs     Function = "manage_orgs"  // add organisations
	ManagePeople   Function = "people"       // staff, and every organisation's
	SeeOrgs        Function = "see_all_orgs" // every organisation with its use
)

// grants is the whole of authorisation by function.
var grants = []struct {
	function Function
	roles    []Role
}{
	{SeeOffers, []Role{Customer, OrgAdmin, Sales, Operator}},
	{RunSurvey, []Role{Customer, OrgAdmin, Sales, Operator}},
	{SurveyMachines, []Role{Sales, Operator}},
	{Order, []Role{Customer, OrgAdmin}},
	{OrderOnBehalf, []Role{Sales}},
	{SeeHolds, []Role{Customer, OrgAdmin, Sales, Operator}},
	{SeeAllHolds, []Role{Sales, Operator}},
	{ExtendHold, []Role{Customer, OrgAdmin, Sales}},
	{CancelHold, []Role{Customer, OrgAdmin, Sales, Operator}},
	{ConvertHold, []Role{Customer, OrgAdmin, Sales}},
	{SubstituteHold, []Role{Customer, OrgAdmin, Sales}},
	{SeeServices, []Role{Customer, OrgAdmin, Sales, Operator}},
	{EndService, []Role{Customer, OrgAdmin, Sales, Operator}},
	{SeeFleet, []Role{Sales, Operator}},
	{FleetWrite, []Role{Operator}},
	{SeeAttempts, []Role{Sales, Operator}},
	{SeeRollout, []Role{OrgAdmin, Sales, Operator}},
	{RolloutOrg, []Role{OrgAdmin, Operator}},
	{RolloutLaunch, []Role{Operator}},
	{SeeHistory, []Role{Customer, OrgAdmin}},
	{ManageMembers, []Role{OrgAdmin}},
	{ManageTokens, []Role{OrgAdmin}},
	{ManageWebhooks, []Role{OrgAdmin}},
	{SeeLimits, []Role{OrgAdmin, Sales, Operator}},
	{SetLimits, []Role{Operator}},
	{SuspendOrg, []Role{Operator}},
	{ManageJobs, []Role{Operator}},
	{Invariants, []Role{Operator}},
	{GiveBack, []Role{Sales, Operator}},
	{WriteNotes, []Role{Sales, Operator}},
	{AskPurchase, []Role{Sales, Operator}},
	{OverrideCool, []Role{Sales}},
	{ManageOrgs, []Role{Operator}},
	{ManagePeople, []Role{Operator}},
	{SeeOrgs, []Role{Sales, Operator}},
}

// Can reports whether the role has the function. An unknown role or function may nothing.
func Can(role Role, f Function) bool {
	for _, g := range grants {
		if g.function == f {
			return slices.Contains(g.roles, role)
		}
	}
	return false
}

// Functions lists every function, for tests that walk them all.
func Functions() []Function {
	list := make([]Function, 0, len(grants))
	for _, g := range grants {
		list = append(list, g.function)
	}
	return list
}

// Roles lists every role.
func Roles() []Role { return []Role{Customer, OrgAdmin, Sales, Operator} }
