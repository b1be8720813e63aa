package views

import (
	"context"
	"time"
)

// OrgPage is the organisation as its administrators see it.
type OrgPage struct {
	Slug      string
	Holds     Use // live holds of those that may be live
	Machines  Use // live holds and rented machines of those that may be
	Rented    int
	Suspended bool
	Members   []MemberRow
	Pager
	Invitations []InvitationRow
	Tokens      []TokenRow
}

// Use is how much of a limit is used.
type Use struct{ Used, Limit int }

// full reports whether nothing more may be had.
func (u Use) full() bool { return u.Used >= u.Limit }

// MemberRow is one member in a list.
type MemberRow struct {
	ID, Name, Email, Role string
	Disabled, You         bool
}

// InvitationRow is one open invitation.
type InvitationRow struct {
	ID, Email, Role, By string
	ExpiresAt           time.Time
	Expired             bool
}

// TokenRow is one token in use.
type TokenRow struct {
	ID, Name, Role, By string
	CreatedAt          time.Time
	UsedAt, RevokedAt  *time.Time
}

// InvitePage asks whom to invite.
type InvitePage struct {
	Email, Role string
	Faults      []Fault
}

// LinkPage shows a one-use link, or a token, this once.
type LinkPage struct {
	Kind   string // "invitation", "reset", "token" or "webhook"
	For    string // address or name
	Secret string
	Until  *time.Time
	Mailed bool   // a mail with it is on its way
	Back   string // where to go on; "" for the organisation
	Admin  bool   // made by an operator for somebody else's
}

// MemberPage is one member, with what an administrator can do about them.
type MemberPage struct {
	MemberRow
	DisabledAt *time.Time
	Faults     []Fault
}

// TokenFormPage asks what a new token is for.
type TokenFormPage struct {
	Name, Role string
	Faults     []Fault
}

func (m LinkPage) nav() string {
	if m.Admin {
		return "admin"
	}
	return "org"
}

func (m LinkPage) back() string {
	if m.Back == "" {
		return "/org"
	}
	return m.Back
}

func orgRoles(ctx context.Context, chosen string) []Choice {
	var out []Choice
	for _, r := range []string{"customer", "org-admin"} {
		out = append(out, Choice{Value: r, Label: t(ctx, "role."+r), Hint: t(ctx, "org.role_hint."+r), Chosen: r == chosen})
	}
	return out
}

func tokenRoles(ctx context.Context, chosen string) []Choice {
	out := orgRoles(ctx, chosen)
	for i := range out {
		out[i].Hint = t(ctx, "token.role_hint."+out[i].Value)
	}
	return out
}

// orgTabs are the pages about the organisation.
func orgTabs(ctx context.Context, current string) []Tab {
	return []Tab{
		{t(ctx, "org.tab.overview"), "/org", current == "overview"},
		{t(ctx, "org.tab.webhooks"), "/org/webhooks", current == "webhooks"},
		{t(ctx, "org.tab.history"), "/org/history", current == "history"},
		{t(ctx, "org.tab.rollout"), "/org/rollout", current == "rollout"},
	}
}

// JoinPage is where somebody who was invited makes their account.
type JoinPage struct {
	Token, Org, Email, Role string
	Name                    string
	SignedIn                string // as whom the browser is signed in now
	Faults                  []Fault
}

// joinHint says where the name will stand.
func joinHint(ctx context.Context, role string) string {
	if role == "sales" || role == "operator" {
		return t(ctx, "join.name_hint_staff")
	}
	return t(ctx, "join.name_hint")
}

// ResetPage is where somebody chooses a new password by a link.
type ResetPage struct {
	Token, Email string
	Faults       []Fault
}

// NewEmailPage is a new address before it counts.
type NewEmailPage struct{ Token, Email, Present string }

// LinkEndedPage says why a link does not work any more.
type LinkEndedPage struct {
	Kind string // "invitation", "reset" or "email"
	Why  string // "unknown", "used", "expired" or "revoked"; of an address also "taken"
}

// ownPassword asks once more for the password of whoever is signed in.
func ownPassword(ctx context.Context, faults []Fault) Field {
	return ownPasswordAs(ctx, "own_password", faults)
}

// ownPasswordAs is ownPassword on a page with several forms that ask for it: id is this one's.
func ownPasswordAs(ctx context.Context, id string, faults []Fault) Field {
	return Field{
		ID: id, Name: "own_password", Label: t(ctx, "org.own_password"), Hint: t(ctx, "org.own_password_hint"), Type: "password",
		Autocomplete: "current-password", Error: faultOf(faults, id), Required: true,
	}
}
