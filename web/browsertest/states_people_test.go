package browsertest

import (
	"net/url"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// The pages of accounts and organisations.
func init() {
	states = append(states, []state{
		{name: "details", who: customer, title: "Change name", show: at("/account/details")},
		{name: "details-wrong", who: customer, title: "Error", show: func(v *visit) {
			v.Post("/account/details", "name", "", "email", "ada at acme", "old_password", password)
		}},
		{name: "account-wrong", who: customer, title: "Error", show: func(v *visit) {
			v.Post("/account/preferences", "language", "", "time_zone", "Atlantis", "theme", "")
		}},
		{name: "password", who: customer, title: "assword", show: at("/account/password")},
		{name: "password-wrong", who: customer, title: "Error", show: func(v *visit) {
			v.Go("/account/password")
			v.Fill("old_password", "not it at all")
			v.Fill("password", "another long password")
			v.Follow(func() { v.Click(`main form button`) })
		}},
		{name: "org", who: orgAdmin, show: func(v *visit) { v.invite("new@acme.example"); v.token(); v.Go("/org") }},
		{name: "org-history", who: orgAdmin, show: func(v *visit) { v.token(); v.past(); v.Go("/org/history") }},
		{name: "org-invite", who: orgAdmin, show: at("/org/members/invite")},
		{name: "org-invite-wrong", who: orgAdmin, title: "Error", show: func(v *visit) {
			v.Post("/org/members/invite", "email", "nobody", "role", "customer")
		}},
		{name: "org-invited", who: orgAdmin, show: func(v *visit) {
			v.Post("/org/members/invite", "email", "new@acme.example", "role", "customer")
		}},
		{name: "org-member", who: orgAdmin, show: func(v *visit) { v.Go(path("/org/members/", v.id(colleage))) }},
		{name: "org-member-self", who: orgAdmin, show: func(v *visit) { v.Go(path("/org/members/", v.user)) }},
		{name: "org-member-reset", who: orgAdmin, show: func(v *visit) {
			v.Post(path("/org/members/", v.id(colleage), "/reset"), "own_password", password)
		}},
		{name: "org-token-form", who: orgAdmin, show: at("/org/tokens/new")},
		{name: "org-token-wrong", who: orgAdmin, title: "Error", show: func(v *visit) {
			v.Post("/org/tokens", "name", "deploy", "role", "customer", "own_password", "not it")
		}},
		{name: "org-token-made", who: orgAdmin, show: func(v *visit) {
			v.Post("/org/tokens", "name", "deploy", "role", "customer", "own_password", password)
		}},
		{name: "org-token", who: orgAdmin, show: func(v *visit) {
			v.token()
			v.Go(path("/org/tokens/", fixture.Get[uuid.UUID](v.t, v.Owner, "select id from api_tokens where name = 'deploy'")))
		}},
		{name: "join", show: func(v *visit) { v.Go("/invitation?token=" + v.invite("new@acme.example")) }},
		{name: "join-wrong", title: "Error", show: func(v *visit) {
			v.Post("/invitation", "token", v.secret("new@acme.example"), "name", "Noor", "password", "short", "time_zone", "Europe/Berlin")
		}},
		{name: "join-ended", show: at("/invitation?token=unknown")},
		{name: "reset", show: func(v *visit) { v.Go("/reset?token=" + v.reset()) }},
		{name: "reset-ended", show: at("/reset?token=unknown")},
	}...)
}

func (v *visit) id(email string) uuid.UUID {
	v.t.Helper()
	return fixture.Get[uuid.UUID](v.t, v.Owner, "select id from users where email = $1", email)
}

func (v *visit) secret(email string) string {
	v.t.Helper()
	secret, _, err := v.Accounts.Invite(v.t.Context(), by, v.acme, email, accounts.Customer)
	if err != nil {
		v.t.Fatal(err)
	}
	return secret
}

// invite invites somebody and returns the secret, ready for an address.
func (v *visit) invite(email string) string { v.t.Helper(); return url.QueryEscape(v.secret(email)) }

func (v *visit) reset() string {
	v.t.Helper()
	secret, _, err := v.Accounts.AddReset(v.t.Context(), by, v.acme, v.id(orgAdmin), v.id(colleage))
	if err != nil {
		v.t.Fatal(err)
	}
	return url.QueryEscape(secret)
}

func (v *visit) token() {
	v.t.Helper()
	if _, err := v.Accounts.AddToken(v.t.Context(), by, "deploy", accounts.Customer, "acme"); err != nil {
		v.t.Fatal(err)
	}
}
