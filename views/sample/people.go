package sample

import "ironhold/views"

// people are the pages about persons and organisations.
func people() []Page {
	agents := []string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", text,
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
	}
	account := views.AccountPage{Language: "de", Zone: "Europe/Berlin", Zones: []string{"UTC", "America/Argentina/ComodRivadavia", "Europe/Berlin"}}
	for i, a := range agents {
		account.Sessions = append(account.Sessions, views.SessionRow{ID: id, Agent: a, Network: "2001:db8:85a3:8d3:1319:8a2e:370:7348", Since: at(-9000 * (i + 1)), Seen: at(-i), This: i == 0})
	}
	wrong := account
	wrong.Zone, wrong.Sessions = text, account.Sessions[:1]
	wrong.Faults = []views.Fault{{Field: "time_zone", Label: "Zone", Message: "x"}, {Field: "language", Message: "y"}}
	passwords := []views.Fault{{Field: "old_password", Message: "x"}, {Field: "password", Message: "y"}}

	member := views.MemberRow{ID: id, Name: text, Email: "a-rather-long-address-of-somebody@analytics.department.nordlys.example", Role: "customer"}
	admin, off := member, member
	admin.Role, admin.You, off.Disabled = "org-admin", true, true
	invitation := views.InvitationRow{ID: id, Email: member.Email, Role: "customer", By: text, ExpiresAt: at(10000)}
	old := invitation
	old.Expired, old.ExpiresAt = true, at(-10)
	token := views.TokenRow{ID: id, Name: text, Role: "customer", By: text, CreatedAt: at(-5000), UsedAt: atp(-3)}
	unused, revoked := token, token
	unused.UsedAt, revoked.RevokedAt = nil, atp(-1)
	org := views.OrgPage{
		Slug: "nordlys", Holds: views.Use{Used: 2, Limit: 5}, Machines: views.Use{Used: 50, Limit: 50}, Rented: 48, Suspended: true,
		Members: []views.MemberRow{admin, member, off}, Pager: views.Pager{First: "/org", Next: "/org?after=x", Sizes: sizes},
		Invitations: []views.InvitationRow{invitation, old}, Tokens: []views.TokenRow{token, unused},
	}
	pages := []Page{
		{"account", views.Account(account)},
		{"account-wrong", views.Account(wrong)},
		{"details", views.Details(views.DetailsPage{Name: "Ada", Email: member.Email})},
		{"password", views.Password(views.PasswordPage{Email: member.Email})},
		{"password-wrong", views.Password(views.PasswordPage{Email: member.Email, Faults: passwords})},
		{"org", views.Org(org)},
		{"org-new", views.Org(views.OrgPage{Members: org.Members[:1], Holds: views.Use{Limit: 5}, Machines: views.Use{Limit: 50}})},
		{"invite", views.Invite(views.InvitePage{Role: "customer"})},
		{"invite-wrong", views.Invite(views.InvitePage{Email: text, Faults: []views.Fault{{Field: "email", Message: "x"}, {Field: "role", Message: "y"}}})},
		{"member", views.Member(views.MemberPage{MemberRow: member})},
		{"member-you", views.Member(views.MemberPage{MemberRow: admin})},
		{"member-disabled", views.Member(views.MemberPage{MemberRow: off, DisabledAt: atp(-10)})},
		{"member-refused", views.Member(views.MemberPage{MemberRow: member, Faults: []views.Fault{{Message: "x"}, {Field: "own_password", Message: "y"}, {Field: "role", Message: "z"}}})},
		{"tokennew", views.TokenForm(views.TokenFormPage{Role: "customer"})},
		{"tokennew-wrong", views.TokenForm(views.TokenFormPage{Name: text, Faults: []views.Fault{{Field: "name", Message: "x"}, {Field: "own_password", Message: "y"}}})},
		{"token", views.Token(token)},
		{"token-revoked", views.Token(revoked)},
		{"join", views.Join(views.JoinPage{Token: text, Org: text, Email: member.Email, Role: "customer", SignedIn: text})},
		{"join-wrong", views.Join(views.JoinPage{Token: "t", Org: text, Email: member.Email, Role: "org-admin", Name: text, Faults: []views.Fault{{Field: "name", Message: "x"}, {Field: "password", Message: "y"}, {Message: "z"}}})},
		{"reset", views.Reset(views.ResetPage{Token: text, Email: member.Email})},
		{"reset-wrong", views.Reset(views.ResetPage{Token: text, Email: member.Email, Faults: passwords[1:]})},
		{"resetdone", views.ResetDone()},
		{"orghistory", views.OrgHistory(views.HistoryPage{Admin: true, Show: "orders", Items: orgHistory(), Pager: views.Pager{First: "/org/history", Next: "/org/history?after=x", Sizes: sizes}})},
		{"orghistory-member", views.OrgHistory(views.HistoryPage{Items: orgHistory()[:3]})},
		{"orghistory-empty", views.OrgHistory(views.HistoryPage{Admin: true})},
	}
	person := views.PersonRow{ID: id, Name: text, Email: member.Email, Role: "customer", Org: text, OrgSlug: "nordlys", SignedInAt: atp(-60)}
	staff, gone := person, person
	staff.Org, staff.OrgSlug, staff.Role, staff.You, staff.SignedInAt, gone.Disabled = "", "", "operator", true, nil, true
	colleague := staff
	colleague.You = false
	open := []views.PersonInvitation{{InvitationRow: invitation, Org: text, OrgSlug: "nordlys"}, {InvitationRow: old}}
	pages = append(pages, Page{"people", views.People(views.PeoplePage{All: true, Query: text, Items: []views.PersonRow{person, staff, gone}, Pager: views.Pager{First: "/admin/people", Next: "/admin/people?after=x", Sizes: sizes}, Invitations: open})},
		Page{"people-staff", views.People(views.PeoplePage{Items: []views.PersonRow{staff}, Events: orgHistory()[:4]})},
		Page{"people-none", views.People(views.PeoplePage{Query: text})},
		Page{"inviteperson", views.InvitePerson(views.InvitePersonPage{Orgs: []views.Option{{Value: "nordlys", Label: text, Chosen: true}}})},
		Page{"inviteperson-wrong", views.InvitePerson(views.InvitePersonPage{Email: text, Role: "sales", Faults: []views.Fault{{Field: "email", Message: "x"}, {Field: "role", Message: "y"}, {Field: "org", Message: "z"}, {Field: "own_password", Message: "q"}}})},
		Page{"oneperson", views.OnePerson(views.PersonPage{PersonRow: person, FormRole: "customer", Events: orgHistory()[7:]})},
		Page{"oneperson-staff", views.OnePerson(views.PersonPage{PersonRow: colleague, FormRole: "sales", Faults: []views.Fault{{Field: "role", Message: "x"}, {Field: "role_password", Message: "y"}, {Field: "own_password", Message: "z"}}})},
		Page{"oneperson-you", views.OnePerson(views.PersonPage{PersonRow: staff})},
		Page{"oneperson-disabled", views.OnePerson(views.PersonPage{PersonRow: gone, DisabledAt: atp(-10), FormRole: "customer"})},
		Page{"join-staff", views.Join(views.JoinPage{Token: text, Org: "Ironhold", Email: member.Email, Role: "operator"})},
		Page{"linkinvitation-admin", views.Link(views.LinkPage{Kind: "invitation", For: text, Secret: "x", Until: atp(60), Admin: true, Back: "/admin/people"})})
	for _, kind := range []string{"invitation", "reset", "token", "webhook"} {
		pages = append(pages, Page{"link" + kind, views.Link(views.LinkPage{Kind: kind, For: text, Secret: "https://portal.example/invitation?token=Zk3vG0yq5hR7tB2nX9pL4sW8mC1dJ6fA0uE5oK7iQxY", Until: atp(60)})})
	}
	for _, why := range []string{"unknown", "used", "expired", "revoked"} {
		pages = append(pages, Page{"ended-" + why, views.LinkEnded(views.LinkEndedPage{Kind: "invitation", Why: why})}, Page{"ended-" + why, views.LinkEnded(views.LinkEndedPage{Kind: "reset", Why: why})})
	}
	return pages
}

func orgHistory() (rows []views.HistoryRow) {
	for _, k := range []struct {
		kind   string
		events []string
	}{
		{"hold", []string{"held", "substituted", "extended", "cancelled", "expired"}}, {"service", []string{"started", "ended"}},
		{"member", []string{"added", "role", "renamed", "disabled", "enabled", "password", "reset_link"}},
		{"token", []string{"added", "revoked", "restored"}}, {"invitation", []string{"added", "accepted", "revoked"}},
		{"webhook", []string{"added", "rotated", "disabled", "gone", "enabled", "removed"}},
		{"organisation", []string{"suspended", "resumed"}}, {"rollout", []string{"set"}}, {"launch", []string{"set"}}, {"limits", []string{"set"}},
	} {
		for _, e := range k.events {
			row := views.HistoryRow{At: at(-len(rows)), Kind: k.kind, Event: e, Details: text, Actor: text, Href: "/" + k.kind + "s/" + id}
			switch k.kind {
			case "hold", "service":
				row.Tag = "GOT-1001"
			case "member", "token", "invitation", "webhook":
				row.Name = text
			default:
				row.Href = ""
			}
			rows = append(rows, row)
		}
	}
	return rows
}
