package sample

import "ironhold/views"

// mails are the pages about mail.
func mails() []Page {
	const to = "a-rather-long-address-of-somebody@analytics.department.nordlys.example"
	m := views.MailsPage{Server: "127.0.0.1:2525", Trial: true, Pager: views.Pager{First: "/admin/mail", Next: "/admin/mail?after=x", Sizes: sizes}}
	for i, why := range []string{"", "not_configured", "over", "disabled", "refused", "no_answer", "", ""} {
		kind := []string{"hold_ending", "service_ready", "provisioning_failed", "invitation", "password_reset", "machine_free", "email_change", "email_changed"}[i]
		state := []string{"sent", "skipped", "waiting", "queued", "failed", "sent", "sent", "sent"}[i]
		m.Items = append(m.Items, views.MailRow{Kind: kind, To: to, State: state, Why: why, Attempts: 1000 * i, CreatedAt: at(-i)})
	}
	one := views.CaughtRow{N: 1, To: to, Subject: text, At: at(-2)}
	m.Caught = []views.CaughtRow{one, one}
	sent, off, empty := m, m, m
	sent.Trial, off.Trial, off.Server, empty.Items, empty.Caught = false, false, "", nil, nil
	return []Page{
		{"mails", views.Mails(m)},
		{"mails-sent", views.Mails(sent)},
		{"mails-off", views.Mails(off)},
		{"mails-empty", views.Mails(empty)},
		{"caught", views.Caught(views.CaughtPage{CaughtRow: one, Text: text + "\n\n" + text})},
		{"forgot", views.Forgot(views.ForgotPage{})},
		{"forgot-wrong", views.Forgot(views.ForgotPage{Email: text, Faults: []views.Fault{{Field: "email", Message: "x"}}})},
		{"forgotsent", views.ForgotSent(text)},
		{"linkinvitation", views.Link(views.LinkPage{Kind: "invitation", For: text, Secret: "x", Until: atp(60), Mailed: true})},
	}
}

// sizes is the choice of how many rows a page has.
var sizes = []views.Tab{{Label: "10", Href: "/x?size=10"}, {Label: "20", Href: "/x?size=20", Current: true}, {Label: "50", Href: "/x"}}
