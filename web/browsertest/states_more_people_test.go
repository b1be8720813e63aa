package browsertest

import (
	"strings"

	"ironhold/migrations/pgtest/fixture"
)

// Further states of the pages of accounts and organisations.
func init() {
	states = append(states, []state{
		{name: "sign-in-too-many", title: "Error", show: func(v *visit) {
			fixture.Exec(v.t, v.Owner, "insert into sign_in_failures (account, failures) values (sha256($1::text::bytea), 10)", customer)
			v.signInWith(customer, password)
		}},
		{name: "account-sessions", who: customer, title: "account", show: func(v *visit) { v.elsewhere(); v.Go("/account") }},
		{name: "account-staff", who: sales, title: "account", show: at("/account")},
		{name: "password-weak", who: customer, title: "Error", show: func(v *visit) {
			v.Post("/account/password", "old_password", "not it", "password", "Password1234")
		}},
		{name: "org-full", who: orgAdmin, show: func(v *visit) {
			v.limits(1, 2)
			v.rent(v.acme, "LEJ-1")
			v.holdTag(v.acme, "GOT-1")
			fixture.Exec(v.t, v.Owner, `insert into users (org_id, email, name, role, disabled_at)
				select $1, 'member-' || i || '@acme.example', 'Member ' || i, 'customer', case when i % 9 = 0 then now() end from generate_series(1, 60) i`, v.acme)
			v.invite("old@acme.example")
			fixture.Exec(v.t, v.Owner, "update invitations set expires_at = now()")
			v.Go("/org")
		}},
		{name: "org-suspended", who: orgAdmin, show: func(v *visit) {
			if _, err := v.Accounts.Suspend(v.t.Context(), by, "acme", "Two invoices are open"); err != nil {
				v.t.Fatal(err)
			}
			v.Go("/org")
		}},
		{name: "org-member-disabled", who: orgAdmin, show: func(v *visit) {
			v.Post(path("/org/members/", v.id(colleage), "/disable"))
		}},
		{name: "org-member-refused", who: orgAdmin, title: "Error", show: func(v *visit) {
			v.Post(path("/org/members/", v.user, "/disable"))
		}},
		{name: "org-invite-member", who: orgAdmin, title: "Error", show: func(v *visit) {
			v.Post("/org/members/invite", "email", customer, "role", "customer")
		}},
		{name: "org-history-settings", who: orgAdmin, show: func(v *visit) {
			v.limits(3, 30)
			v.off()
			v.Go("/org/history?show=settings")
		}},
		{name: "member-history", who: customer, show: func(v *visit) { v.past(); v.Go("/org/history") }},
		{name: "member-history-empty", who: customer, show: at("/org/history")},
		{name: "join-signed-in", who: customer, outcome: "invitation", show: func(v *visit) { v.Go("/invitation?token=" + v.invite("new@acme.example")) }},
		{name: "join-revoked", outcome: "link-revoked", show: func(v *visit) {
			first := v.invite("new@acme.example")
			v.invite("new@acme.example")
			v.Go("/invitation?token=" + first)
		}},
		{name: "reset-wrong", title: "Error", show: func(v *visit) { v.Post("/reset", "token", v.reset(), "password", "ben okafor acme") }},
		{name: "reset-done", outcome: "reset-done", show: func(v *visit) { v.Post("/reset", "token", v.reset(), "password", "tea with a llama") }},
		{name: "german-account", who: customer, show: func(v *visit) { v.german(); v.elsewhere(); v.Go("/account") }},
		{name: "german-org", who: orgAdmin, show: func(v *visit) { v.german(); v.invite("new@acme.example"); v.token(); v.Go("/org") }},
		{name: "german-member", who: orgAdmin, show: func(v *visit) { v.german(); v.Go(path("/org/members/", v.id(colleage))) }},
		{name: "german-history", who: orgAdmin, show: func(v *visit) { v.german(); v.token(); v.past(); v.limits(3, 30); v.Go("/org/history") }},
		{name: "german-join", show: func(v *visit) { v.german(); v.Go("/invitation?token=" + v.invite("new@acme.example")) }},
	}...)
}

// elsewhere signs the visitor in on two more devices.
func (v *visit) elsewhere() {
	v.t.Helper()
	for i, agent := range []string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
	} {
		fixture.Exec(v.t, v.Owner, `insert into sessions (token, user_id, data, expiry, user_agent, network)
			values ($1, $2, '', now() + interval '1 day', $3, $4)`,
			strings.Repeat("x", i+1), v.user, agent, []string{"192.0.2.17", "2001:db8:85a3:8d3:1319:8a2e:370:7348"}[i])
	}
}
