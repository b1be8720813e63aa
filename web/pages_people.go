package web

import (
	"context"
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

const (
	peopleRows  = 50  // a page of accounts
	peopleOpen  = 100 // invitations that are shown
	peopleLines = 20  // of the history
)

func personURL(id uuid.UUID) string { return "/admin/people/" + id.String() }

// peopleRoutes are where operators look after everybody's account.
func (s *server) peopleRoutes(get, post router) []route {
	list := []route{
		get("/admin/people", accounts.ManagePeople, s.people),
		get("/admin/people/invite", accounts.ManagePeople, s.invitePersonForm),
		post("/admin/people/invite", accounts.ManagePeople, s.invitePerson),
		post("/admin/people/invitations/{id}/revoke", accounts.ManagePeople, s.revokeAnyInvitation),
		get("/admin/people/{id}", accounts.ManagePeople, s.person),
		post("/admin/people/{id}/role", accounts.ManagePeople, s.setPersonRole),
		post("/admin/people/{id}/reset", accounts.ManagePeople, s.resetPerson),
		post("/admin/people/{id}/disable", accounts.ManagePeople, s.disablePerson),
		post("/admin/people/{id}/enable", accounts.ManagePeople, s.enablePerson),
	}
	for _, form := range []string{"role", "reset", "disable", "enable"} {
		list = append(list, get("/admin/people/{id}/"+form, accounts.ManagePeople, s.backToPerson))
	}
	return list
}

func (s *server) people(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	actor, q := request.Actor(ctx), r.URL.Query()
	m := views.PeoplePage{All: q.Get("who") == "all", Query: strings.TrimSpace(q.Get("q"))}
	after := listPage(r)
	list, err := s.Accounts.People(ctx, accounts.PeopleFilter{Staff: !m.All, Text: m.Query, After: after, Limit: peopleRows + 1})
	if err != nil {
		return err
	}
	for _, p := range list[:min(len(list), peopleRows)] {
		m.Items = append(m.Items, personRow(p, actor))
	}
	m.First, m.Next = peopleLinks(m, after != uuid.Nil, list)
	invitations, err := s.Accounts.AllInvitations(ctx, !m.All, peopleOpen)
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	for _, i := range invitations {
		m.Invitations = append(m.Invitations, views.PersonInvitation{
			InvitationRow: views.InvitationRow{ID: i.ID.String(), Email: i.Email, Role: string(i.Role), By: who.of(ctx, i.CreatedBy), ExpiresAt: i.ExpiresAt, Expired: i.Expired},
			Org:           i.OrgName, OrgSlug: i.OrgSlug,
		})
	}
	if !m.All && m.Query == "" {
		events, err := s.Accounts.StaffHistory(ctx, peopleLines)
		if err != nil {
			return err
		}
		m.Events = s.accountRows(ctx, who, events)
	}
	return s.render(w, r, http.StatusOK, views.People(m))
}

func peopleLinks(m views.PeoplePage, further bool, list []accounts.Person) (first, next string) {
	q := url.Values{}
	if m.All {
		q.Set("who", "all")
	}
	if m.Query != "" {
		q.Set("q", m.Query)
	}
	if further {
		first = "/admin/people?" + q.Encode()
	}
	if len(list) > peopleRows {
		q.Set("after", list[peopleRows-1].ID.String())
		next = "/admin/people?" + q.Encode()
	}
	return first, next
}

func personRow(p accounts.Person, viewer accounts.Actor) views.PersonRow {
	return views.PersonRow{
		ID: p.ID.String(), Name: p.Name, Email: p.Email, Role: string(p.Role), Org: p.OrgName, OrgSlug: p.OrgSlug,
		Disabled: p.DisabledAt != nil, You: p.ID == viewer.ID, SignedInAt: p.SignedInAt,
	}
}

// accountRows are entries of the history of accounts, for staff.
func (s *server) accountRows(ctx context.Context, who *names, list []accounts.HistoryEntry) []views.HistoryRow {
	out := make([]views.HistoryRow, 0, len(list))
	for _, e := range list {
		row := historyRow(ctx, e, false)
		if e.Kind == "member" && accounts.Can(who.viewer.Role, accounts.ManagePeople) {
			row.Href = personURL(e.SubjectID)
		}
		row.Actor = who.of(ctx, e.Actor)
		out = append(out, row)
	}
	return out
}

func (s *server) person(w http.ResponseWriter, r *http.Request) error {
	return s.personPage(w, r, http.StatusOK, "")
}

// personPage shows the account in the address; role is what was chosen before a mistake.
func (s *server) personPage(w http.ResponseWriter, r *http.Request, status int, role string, faults ...views.Fault) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	p, err := s.Accounts.Person(ctx, id)
	if err != nil {
		return err
	}
	events, err := s.Accounts.PersonHistory(ctx, id, peopleLines)
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	m := views.PersonPage{PersonRow: personRow(p, actor), DisabledAt: p.DisabledAt, FormRole: string(p.Role), Faults: faults, Events: s.accountRows(ctx, who, events)}
	if role != "" {
		m.FormRole = role
	}
	return s.renderAt(w, r, status, personURL(id), views.OnePerson(m))
}

func (s *server) backToPerson(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	return seeOther(w, r, personURL(id))
}

func (s *server) invitePersonForm(w http.ResponseWriter, r *http.Request) error {
	return s.invitePersonPage(w, r, http.StatusOK, r.URL.Query())
}

func (s *server) invitePersonPage(w http.ResponseWriter, r *http.Request, status int, f url.Values, faults ...views.Fault) error {
	ctx := r.Context()
	list, err := s.Accounts.Orgs(ctx)
	if err != nil {
		return err
	}
	m := views.InvitePersonPage{Email: f.Get("email"), Role: f.Get("role"), Faults: faults}
	for _, o := range list {
		m.Orgs = append(m.Orgs, views.Option{Value: o.Slug, Label: o.Name, Chosen: o.Slug == f.Get("org")})
	}
	return s.renderAt(w, r, status, "/admin/people/invite", views.InvitePerson(m))
}

// invitePerson shows the link on the answer itself: nobody can show it a second time.
func (s *server) invitePerson(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	faults, p, err := s.confirmOwn(ctx, f)
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		problem.Headers(w, p)
		return s.invitePersonPage(w, r, p.Status, f, faults...)
	}
	secret, inv, err := s.Accounts.InvitePerson(ctx, request.By(ctx), f.Get("org"), strings.TrimSpace(f.Get("email")), accounts.Role(f.Get("role")))
	if fault, status, ok := orgFault(ctx, err, "people.fault.", "email"); ok {
		return s.invitePersonPage(w, r, status, f, fault)
	}
	if err != nil {
		return err
	}
	return s.renderAt(w, r, http.StatusCreated, "/admin/people", views.Link(views.LinkPage{
		Kind: "invitation", For: inv.Email, Secret: s.oneUse(r, "/invitation", secret), Until: &inv.ExpiresAt, Mailed: s.Mail != nil, Back: "/admin/people", Admin: true,
	}))
}

func (s *server) revokeAnyInvitation(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := s.Accounts.RevokeAnyInvitation(ctx, request.By(ctx), id); err != nil {
		return err
	}
	s.notify(ctx, "org.withdrawn")
	return seeOther(w, r, "/admin/people")
}

// changePerson runs one change of the account in the address and goes back to its page.
func (s *server) changePerson(w http.ResponseWriter, r *http.Request, notice, role string, change func(ctx context.Context, actor accounts.Actor, id uuid.UUID) error) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	err = change(ctx, request.Actor(ctx), id)
	if fault, status, ok := orgFault(ctx, err, "people.fault.", ""); ok {
		return s.personPage(w, r, status, role, fault)
	}
	if err != nil {
		return err
	}
	s.notify(ctx, notice)
	return seeOther(w, r, personURL(id))
}

// setPersonRole asks for the operator's own password: a role of staff sees every organisation.
func (s *server) setPersonRole(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	role := f.Get("role")
	ctx := i18n.With(r.Context(), s.locale(r))
	if id, err := pathID(r); err != nil {
		return err
	} else if _, err := s.Accounts.Person(ctx, id); err != nil { // a missing one is missing, whatever the password
		return err
	}
	faults, p, err := s.confirmOwn(ctx, f)
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		problem.Headers(w, p)
		faults[0].Field = "role_password"
		return s.personPage(w, r, p.Status, role, faults...)
	}
	return s.changePerson(w, r, "member.saved_role", role, func(ctx context.Context, actor accounts.Actor, id uuid.UUID) error {
		return s.Accounts.SetPersonRole(ctx, request.By(ctx), actor.ID, id, accounts.Role(role))
	})
}

func (s *server) disablePerson(w http.ResponseWriter, r *http.Request) error {
	return s.changePerson(w, r, "people.saved_disabled", "", func(ctx context.Context, actor accounts.Actor, id uuid.UUID) error {
		return s.Accounts.DisablePerson(ctx, request.By(ctx), actor.ID, id)
	})
}

func (s *server) enablePerson(w http.ResponseWriter, r *http.Request) error {
	return s.changePerson(w, r, "people.saved_enabled", "", func(ctx context.Context, _ accounts.Actor, id uuid.UUID) error {
		return s.Accounts.EnablePerson(ctx, request.By(ctx), id)
	})
}

// resetPerson shows the link on the answer itself, as invitePerson does.
func (s *server) resetPerson(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	u, err := s.Accounts.Person(ctx, id)
	if err != nil {
		return err
	}
	faults, p, err := s.confirmOwn(ctx, f)
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		problem.Headers(w, p)
		return s.personPage(w, r, p.Status, "", faults...)
	}
	secret, until, err := s.Accounts.AddPersonReset(ctx, request.By(ctx), request.Actor(ctx).ID, id)
	if fault, status, ok := orgFault(ctx, err, "people.fault.", ""); ok {
		return s.personPage(w, r, status, "", fault)
	}
	if err != nil {
		return err
	}
	return s.renderAt(w, r, http.StatusCreated, personURL(id), views.Link(views.LinkPage{
		Kind: "reset", For: u.Name, Secret: s.oneUse(r, "/reset", secret), Until: &until, Mailed: s.Mail != nil, Back: personURL(id), Admin: true,
	}))
}
