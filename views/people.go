package views

import (
	"context"
	"net/url"
	"time"
)

// PeoplePage lists accounts, staff first of all.
type PeoplePage struct {
	All   bool   // of every organisation, not staff alone
	Query string // as typed
	Items []PersonRow
	Pager
	Invitations []PersonInvitation
	Events      []HistoryRow // what happened to staff lately
}

// PersonRow is one account.
type PersonRow struct {
	ID, Name, Email, Role string
	Org, OrgSlug          string // empty for staff
	Disabled, You         bool
	SignedInAt            *time.Time
}

// PersonInvitation is an open invitation to the staff or into an organisation.
type PersonInvitation struct {
	InvitationRow
	Org, OrgSlug string
}

// InvitePersonPage asks whom to invite, and where.
type InvitePersonPage struct {
	Email, Role string
	Orgs        []Option
	Faults      []Fault
}

// PersonPage is one account, with what an operator can do about it.
type PersonPage struct {
	PersonRow
	DisabledAt *time.Time
	FormRole   string // as chosen
	Faults     []Fault
	Events     []HistoryRow
}

// roles are those that the person can have.
func (m PersonPage) roles(ctx context.Context) []Choice {
	list := []string{"sales", "operator"}
	if m.OrgSlug != "" {
		list = []string{"customer", "org-admin"}
	}
	return personRoles(ctx, list, m.FormRole)
}

func personRoles(ctx context.Context, list []string, chosen string) []Choice {
	out := make([]Choice, 0, len(list))
	for _, r := range list {
		out = append(out, Choice{Value: r, Label: t(ctx, "role."+r), Hint: t(ctx, "people.role_hint."+r), Chosen: r == chosen})
	}
	return out
}

// inviteHref leads to the form for another link, filled in.
func inviteHref(r PersonInvitation) string {
	return "/admin/people/invite?" + url.Values{"email": {r.Email}, "role": {r.Role}, "org": {r.OrgSlug}}.Encode()
}

func peopleTabs(ctx context.Context, all bool) []Tab {
	return []Tab{{t(ctx, "people.staff"), "/admin/people", !all}, {t(ctx, "people.everybody"), "/admin/people?who=all", all}}
}
