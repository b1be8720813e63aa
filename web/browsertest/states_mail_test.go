package browsertest

import "ironhold/migrations/pgtest/fixture"

// The pages of mail, and those that say something else where mails are sent.
func init() {
	mail := Options{Mail: true}
	states = append(states, []state{
		{name: "mail-off", who: operator, show: at("/admin/mail")},
		{name: "mail", who: operator, options: mail, show: func(v *visit) { v.mails(); v.Go("/admin/mail") }},
		{name: "mail-caught", who: operator, options: mail, show: at("/admin/mail/caught/1")},
		{name: "german-mail", who: operator, options: mail, show: func(v *visit) { v.german(); v.mails(); v.Go("/admin/mail") }},
		{name: "sign-in-mail", options: mail, show: at("/")},
		{name: "forgot", options: mail, outcome: "forgot", show: at("/forgot")},
		{name: "forgot-wrong", options: mail, title: "Error", show: func(v *visit) { v.Post("/forgot", "email", "nobody") }},
		{name: "forgot-sent", options: mail, outcome: "forgot-sent", show: func(v *visit) { v.Post("/forgot", "email", customer) }},
		{name: "org-invited-mail", who: orgAdmin, options: mail, show: func(v *visit) {
			v.Post("/org/members/invite", "email", "new@acme.example", "role", "customer")
		}},
		{name: "account-new-email", who: customer, options: mail, show: func(v *visit) { v.wish() }},
		{name: "account-new-email-operator", who: customer, show: func(v *visit) { v.wish() }},
		{name: "email", outcome: "email", show: func(v *visit) { v.Go("/email?token=" + v.emailLink()) }},
		{name: "email-done", outcome: "email-done", show: func(v *visit) { v.Post("/email", "token", v.emailLink()) }},
		{name: "email-unknown", outcome: "link-unknown", show: at("/email?token=x")},
	}...)
}

// wish asks for another address.
func (v *visit) wish() {
	v.t.Helper()
	v.Post("/account/details", "name", "Ada Lindqvist", "email", "ada.lindqvist@acme.example", "old_password", password)
	v.Says("becomes your address")
}

// emailLink is the secret of a link for another address.
func (v *visit) emailLink() string {
	v.t.Helper()
	if err := v.Accounts.AskEmail(v.t.Context(), by, v.id(customer), password, "Ada Lindqvist", "ada.lindqvist@acme.example"); err != nil {
		v.t.Fatal(err)
	}
	secret, _, err := v.Accounts.EmailLink(v.t.Context(), by, customer)
	if err != nil {
		v.t.Fatal(err)
	}
	return secret
}

// mails are some of each kind and state.
func (v *visit) mails() {
	v.t.Helper()
	fixture.Exec(v.t, v.Owner, `insert into mails (kind, subject_id, person, user_id, org_id, state, why, attempts, finished_at)
		select kind, gen_random_uuid(), $2::text, $2::uuid, $1, state, why, 1, case when state in ('waiting', 'queued') then null else now() end
		  from (values ('hold_ending', 'sent', ''), ('service_ready', 'queued', ''), ('provisioning_failed', 'failed', 'refused'), ('machine_free', 'skipped', 'over'),
		    ('password_reset', 'skipped', 'not_configured')) m(kind, state, why)`, v.acme, v.id(customer))
	fixture.Exec(v.t, v.Owner, `insert into mails (kind, subject_id, person, org_id) values ('invitation', gen_random_uuid(), 'new@acme.example', $1)`, v.acme)
}
