package browsertest

import "ironhold/accounts"

// The pages where operators look after accounts.
func init() {
	states = append(states, []state{
		{name: "admin-people", who: operator, title: "People", show: func(v *visit) { v.inviteStaff("nina@ironhold.example"); v.Go("/admin/people") }},
		{name: "admin-people-all", who: operator, title: "People", show: func(v *visit) {
			v.inviteStaff("nina@ironhold.example")
			v.invite("new@acme.example")
			v.Go("/admin/people?who=all")
		}},
		{name: "admin-people-none", who: operator, title: "People", show: at("/admin/people?q=nobody")},
		{name: "german-admin-people", who: operator, show: func(v *visit) { v.german(); v.inviteStaff("nina@ironhold.example"); v.Go("/admin/people?who=all") }},
		{name: "admin-people-invite", who: operator, title: "Invite", show: at("/admin/people/invite?org=acme&role=org-admin")},
		{name: "admin-people-invite-wrong", who: operator, title: "Error", show: func(v *visit) {
			v.Post("/admin/people/invite", "email", "nina@ironhold.example", "role", "customer", "org", "", "own_password", password)
		}},
		{name: "admin-people-invited", who: operator, outcome: "invitation-made", show: func(v *visit) {
			v.Post("/admin/people/invite", "email", "nina@ironhold.example", "role", "sales", "org", "", "own_password", password)
		}},
		{name: "admin-person", who: operator, title: "Account of Ada", show: func(v *visit) { v.Go(path("/admin/people/", v.id(customer))) }},
		{name: "german-admin-person", who: operator, show: func(v *visit) { v.german(); v.Go(path("/admin/people/", v.id(sales))) }},
		{name: "admin-person-disabled", who: operator, title: "Ada", show: func(v *visit) {
			v.Post(path("/admin/people/", v.id(customer), "/disable"))
		}},
		{name: "admin-person-self", who: operator, show: func(v *visit) { v.Go(path("/admin/people/", v.user)) }},
		{name: "admin-person-wrong", who: operator, title: "Error", show: func(v *visit) {
			v.Post(path("/admin/people/", v.id(sales), "/role"), "role", "operator", "own_password", "not it at all")
		}},
		{name: "admin-person-reset", who: operator, outcome: "reset-made", show: func(v *visit) {
			v.Post(path("/admin/people/", v.id(sales), "/reset"), "own_password", password)
		}},
		{name: "join-staff", outcome: "invitation", title: "Join Ironhold", show: func(v *visit) { v.Go("/invitation?token=" + v.inviteStaff("nina@ironhold.example")) }},
	}...)
}

// inviteStaff asks somebody to the sales desk and returns the secret.
func (v *visit) inviteStaff(email string) string {
	v.t.Helper()
	secret, _, err := v.Accounts.InvitePerson(v.t.Context(), by, "", email, accounts.Sales)
	if err != nil {
		v.t.Fatal(err)
	}
	return secret
}
