package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// memberRows is a page of members.
const memberRows = 50

func (s *server) backToOrg(w http.ResponseWriter, r *http.Request) error {
	return seeOther(w, r, "/org")
}

func (s *server) org(w http.ResponseWriter, r *http.Request) error {
	m, err := s.orgModel(r)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.Org(m))
}

func (s *server) orgModel(r *http.Request) (m views.OrgPage, err error) {
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	org, err := s.Accounts.Org(ctx, actor.OrgID)
	if err != nil {
		return m, err
	}
	usage, err := s.Holds.Usage(ctx, org.ID)
	if err != nil {
		return m, err
	}
	m = views.OrgPage{
		Slug: org.Slug, Holds: views.Use{Used: usage.LiveHolds, Limit: org.MaxHolds}, Machines: views.Use{Used: usage.Machines(), Limit: org.MaxMachines},
		Rented: usage.Services, Suspended: org.SuspendedAt != nil,
	}
	after := listPage(r)
	members, err := s.Accounts.Members(ctx, org.ID, after, memberRows+1)
	if err != nil {
		return m, err
	}
	for _, u := range members[:min(len(members), memberRows)] {
		m.Members = append(m.Members, memberRow(u, actor))
	}
	last := uuid.Nil
	if len(members) > memberRows {
		last = members[memberRows-1].ID
	}
	m.First, m.Next = pageLinks("/org", "", "", after != uuid.Nil, last)
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return m, err
	}
	list, err := s.Accounts.Invitations(ctx, org.ID)
	if err != nil {
		return m, err
	}
	for _, i := range list {
		m.Invitations = append(m.Invitations, views.InvitationRow{
			ID: i.ID.String(), Email: i.Email, Role: string(i.Role), By: who.of(ctx, i.CreatedBy), ExpiresAt: i.ExpiresAt, Expired: i.Expired,
		})
	}
	tokens, err := s.Accounts.Tokens(ctx, org.ID)
	if err != nil {
		return m, err
	}
	for _, t := range tokens {
		if t.RevokedAt == nil {
			m.Tokens = append(m.Tokens, tokenRow(ctx, t, who))
		}
	}
	return m, nil
}

func memberRow(u accounts.User, viewer accounts.Actor) views.MemberRow {
	return views.MemberRow{ID: u.ID.String(), Name: u.Name, Email: u.Email, Role: string(u.Role), Disabled: u.DisabledAt != nil, You: u.ID == viewer.ID}
}

func tokenRow(ctx context.Context, t accounts.Token, who *names) views.TokenRow {
	return views.TokenRow{
		ID: t.ID.String(), Name: t.Name, Role: string(t.Role), By: who.of(ctx, t.CreatedBy), CreatedAt: t.CreatedAt, UsedAt: t.LastUsedAt, RevokedAt: t.RevokedAt,
	}
}

func (s *server) inviteForm(w http.ResponseWriter, r *http.Request) error {
	return s.render(w, r, http.StatusOK, views.Invite(views.InvitePage{Role: string(accounts.Customer)}))
}

// inviteInput is all that an invitation says; the organisation is the actor's.
type inviteInput struct {
	email string
	role  accounts.Role
}

// invite shows the link on the answer itself: nobody can show it a second time.
func (s *server) invite(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	in := inviteInput{email: strings.TrimSpace(f.Get("email")), role: accounts.Role(f.Get("role"))}
	ctx := i18n.With(r.Context(), s.locale(r))
	secret, inv, err := s.Accounts.Invite(ctx, request.By(ctx), request.Actor(ctx).OrgID, in.email, in.role)
	if fault, status, ok := orgFault(ctx, err, "invite.fault.", "email"); ok {
		m := views.InvitePage{Email: in.email, Role: string(in.role), Faults: []views.Fault{fault}}
		return s.renderAt(w, r, status, "/org/members/invite", views.Invite(m))
	}
	if err != nil {
		return err
	}
	return s.renderAt(w, r, http.StatusCreated, "/org", views.Link(views.LinkPage{
		Kind: "invitation", For: inv.Email, Secret: s.oneUse(r, "/invitation", secret), Until: &inv.ExpiresAt, Mailed: s.Mail != nil,
	}))
}

// orgFault is what an administrator got wrong, as a fault of the form: the keys of its words begin
// with prefix; on is the field that refusals concern.
func orgFault(ctx context.Context, err error, prefix, on string) (views.Fault, int, bool) {
	if invalid, ok := errors.AsType[*accounts.Invalid](err); ok {
		key := prefix + invalid.Field
		if !i18n.Has(ctx, key) {
			key = "form.fault.pick"
		}
		return views.Fault{Field: invalid.Field, Message: i18n.T(ctx, key)}, http.StatusUnprocessableEntity, true
	}
	if refused, ok := errors.AsType[*accounts.MemberRefused](err); ok && i18n.Has(ctx, prefix+string(refused.Why)) {
		return views.Fault{Field: on, Message: i18n.T(ctx, prefix+string(refused.Why))}, http.StatusConflict, true
	}
	return views.Fault{}, 0, false
}

func (s *server) revokeInvitation(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := s.Accounts.RevokeInvitation(ctx, request.By(ctx), request.Actor(ctx).OrgID, id); err != nil {
		return err
	}
	s.notify(ctx, "org.withdrawn")
	return seeOther(w, r, "/org")
}

// confirmOwn asks for the actor's own password before something that a stolen session must not do;
// faults is empty when it was given.
func (s *server) confirmOwn(ctx context.Context, f url.Values) (faults []views.Fault, p *problem.Problem, err error) {
	err = s.Accounts.ConfirmPassword(ctx, request.Actor(ctx).ID, f.Get("own_password"))
	if err == nil {
		return nil, nil, nil
	}
	return s.passwordFaults(ctx, err, "own_password")
}
