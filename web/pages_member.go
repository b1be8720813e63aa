package web

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

func (s *server) member(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	m, err := s.memberModel(r.Context(), id)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.Member(m))
}

func (s *server) memberModel(ctx context.Context, id uuid.UUID) (views.MemberPage, error) {
	actor := request.Actor(ctx)
	u, err := s.Accounts.Member(ctx, actor.OrgID, id)
	if err != nil {
		return views.MemberPage{}, err
	}
	return views.MemberPage{MemberRow: memberRow(u, actor), DisabledAt: u.DisabledAt}, nil
}

func (s *server) backToMember(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	return seeOther(w, r, "/org/members/"+id.String())
}

// memberAgain shows the member once more with what was refused.
func (s *server) memberAgain(w http.ResponseWriter, r *http.Request, id uuid.UUID, status int, faults ...views.Fault) error {
	m, err := s.memberModel(r.Context(), id)
	if err != nil {
		return err
	}
	m.Faults = faults
	return s.renderAt(w, r, status, "/org/members/"+id.String(), views.Member(m))
}

// changeMember runs one change of the member in the address and goes back to their page.
func (s *server) changeMember(w http.ResponseWriter, r *http.Request, notice string, change func(ctx context.Context, actor accounts.Actor, id uuid.UUID) error) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	err = change(ctx, request.Actor(ctx), id)
	if fault, status, ok := orgFault(ctx, err, "member.fault.", ""); ok {
		return s.memberAgain(w, r, id, status, fault)
	}
	if err != nil {
		return err
	}
	s.notify(ctx, notice)
	return seeOther(w, r, "/org/members/"+id.String())
}

// roleInput is all that the form of a role can set.
type roleInput struct{ role accounts.Role }

func (s *server) setMemberRole(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	in := roleInput{role: accounts.Role(f.Get("role"))}
	return s.changeMember(w, r, "member.saved_role", func(ctx context.Context, actor accounts.Actor, id uuid.UUID) error {
		return s.Accounts.SetMemberRole(ctx, request.By(ctx), actor.OrgID, actor.ID, id, in.role)
	})
}

func (s *server) disableMember(w http.ResponseWriter, r *http.Request) error {
	return s.changeMember(w, r, "member.saved_disabled", func(ctx context.Context, actor accounts.Actor, id uuid.UUID) error {
		return s.Accounts.DisableMember(ctx, request.By(ctx), actor.OrgID, actor.ID, id)
	})
}

func (s *server) enableMember(w http.ResponseWriter, r *http.Request) error {
	return s.changeMember(w, r, "member.saved_enabled", func(ctx context.Context, actor accounts.Actor, id uuid.UUID) error {
		return s.Accounts.EnableMember(ctx, request.By(ctx), actor.OrgID, id)
	})
}

// makeReset shows the link on the answer itself, as invite does.
func (s *server) makeReset(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	u, err := s.Accounts.Member(ctx, actor.OrgID, id) // another's is missing, whatever the password
	if err != nil {
		return err
	}
	faults, p, err := s.confirmOwn(ctx, f)
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		problem.Headers(w, p)
		return s.memberAgain(w, r, id, p.Status, faults...)
	}
	secret, until, err := s.Accounts.AddReset(ctx, request.By(ctx), actor.OrgID, actor.ID, id)
	if fault, status, ok := orgFault(ctx, err, "member.fault.", ""); ok {
		return s.memberAgain(w, r, id, status, fault)
	}
	if err != nil {
		return err
	}
	return s.renderAt(w, r, http.StatusCreated, "/org/members/"+id.String(), views.Link(views.LinkPage{
		Kind: "reset", For: u.Name, Secret: s.oneUse(r, "/reset", secret), Until: &until, Mailed: s.Mail != nil,
	}))
}

func (s *server) tokenForm(w http.ResponseWriter, r *http.Request) error {
	return s.render(w, r, http.StatusOK, views.TokenForm(views.TokenFormPage{Role: string(accounts.Customer)}))
}

// tokenInput is all that the form of a token can set; the organisation is the actor's.
type tokenInput struct {
	name string
	role accounts.Role
}

func (s *server) makeToken(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	in := tokenInput{name: f.Get("name"), role: accounts.Role(f.Get("role"))}
	ctx := i18n.With(r.Context(), s.locale(r))
	again := func(p int, faults ...views.Fault) error {
		m := views.TokenFormPage{Name: in.name, Role: string(in.role), Faults: faults}
		return s.renderAt(w, r, p, "/org/tokens/new", views.TokenForm(m))
	}
	faults, p, err := s.confirmOwn(ctx, f)
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		problem.Headers(w, p)
		return again(p.Status, faults...)
	}
	secret, err := s.Accounts.AddOrgToken(ctx, request.By(ctx), request.Actor(ctx).OrgID, in.name, in.role)
	if fault, status, ok := orgFault(ctx, err, "token.fault.", "name"); ok {
		return again(status, fault)
	}
	if err != nil {
		return err
	}
	return s.renderAt(w, r, http.StatusCreated, "/org", views.Link(views.LinkPage{Kind: "token", For: in.name, Secret: secret}))
}

func (s *server) token(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	list, err := s.Accounts.Tokens(ctx, actor.OrgID)
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.ID == id {
			return s.render(w, r, http.StatusOK, views.Token(tokenRow(ctx, t, who)))
		}
	}
	return problem.NoSuch()
}

func (s *server) revokeToken(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := s.Accounts.RevokeToken(ctx, request.By(ctx), request.Actor(ctx).OrgID, id); err != nil {
		return err
	}
	s.notify(ctx, "token.saved_revoked")
	return seeOther(w, r, "/org")
}
