package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/desk"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// find looks for anything that people quote; one thing alone is shown at once.
func (s *server) find(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	m := views.FoundPage{Query: clip(r.URL.Query().Get("q"))}
	list, err := s.Desk.Find(ctx, m.Query)
	if err != nil {
		return err
	}
	for _, f := range list {
		row := views.FoundRow{Kind: f.Kind, Name: f.Key, Text: f.Text}
		switch f.Kind {
		case "hold":
			row.Href = "/holds/" + f.Key
		case "service":
			row.Href = "/services/" + f.Key
		case "attempt":
			row.Href = "/desk/attempts/" + f.Key
		case "purchase":
			row.Href = "/desk/requests"
		case "machine":
			row.Href = machineURL(f.Key)
		case "organisation":
			row.Href = orgURL(f.Key)
		}
		m.Items = append(m.Items, row)
	}
	if len(m.Items) == 1 {
		return seeOther(w, r, m.Items[0].Href)
	}
	return s.render(w, r, http.StatusOK, views.Found(m))
}

// purchases lists the purchase requests.
func (s *server) purchases(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	m := views.PurchasesPage{State: r.URL.Query().Get("state")}
	if m.State != desk.Open && m.State != desk.Ordered && m.State != desk.Declined {
		m.State = ""
	}
	after, _ := uuid.Parse(r.URL.Query().Get("after")) // anything else is the first page
	list, more, err := s.Desk.Purchases(ctx, m.State, after)
	if err != nil {
		return err
	}
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, request.Actor(ctx))
	if err != nil {
		return err
	}
	for _, p := range list {
		row := views.PurchaseRow{
			ID: p.ID.String(), SiteName: c.siteName(p.SiteCode), State: p.State, Note: p.Note, Ask: askOf(p.Request), Orders: p.Orders,
			CreatedAt: p.CreatedAt, CreatedBy: who.of(ctx, p.CreatedBy), ChangedAt: p.ChangedAt, ChangedBy: who.of(ctx, p.ChangedBy),
		}
		if p.AttemptID != nil {
			row.AttemptID = p.AttemptID.String()
		}
		m.Items = append(m.Items, row)
	}
	var last uuid.UUID
	if more {
		last = list[len(list)-1].ID
	}
	m.First, m.Next = pageLinks("/desk/requests", "state", m.State, after != uuid.Nil, last)
	return s.render(w, r, http.StatusOK, views.Purchases(m))
}

// addPurchase asks for what an attempt could not be given.
func (s *server) addPurchase(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	a := readAsk(ctx, s.knownChoices(ctx), f)
	var attempt *uuid.UUID
	if id, err := uuid.Parse(f.Get("attempt")); err == nil {
		attempt = &id
	}
	_, err = s.Desk.AddPurchase(ctx, request.By(ctx), f.Get("where"), a.request, attempt, f.Get("note"))
	if err != nil {
		return deskProblem(err)
	}
	s.notify(ctx, "purchase.added")
	return seeOther(w, r, "/desk/requests?state=open")
}

// setPurchase changes the state of a purchase request; a missing reason is asked for again.
func (s *server) setPurchase(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	id, err := uuid.Parse(request.PathValue(r, "id"))
	if err != nil {
		return problem.NoSuch()
	}
	err = s.Desk.SetPurchase(ctx, request.By(ctx), id, f.Get("state"), f.Get("note"))
	if invalid, ok := errors.AsType[*desk.Invalid](err); ok && invalid.Field == "note" {
		return s.askAgain(w, r, invalid, views.AskOnePage{
			Title: i18n.T(ctx, "purchase.set"), Action: r.URL.Path, Submit: i18n.T(ctx, "common.save"), Back: "/desk/requests",
			BackLabel: i18n.T(ctx, "purchase.title"), Fields: []views.Hidden{{Name: "state", Value: f.Get("state")}},
			Field: views.Field{ID: "note", Label: i18n.T(ctx, "common.reason"), Value: f.Get("note"), Required: true},
		})
	}
	if err != nil {
		return deskProblem(err)
	}
	s.notify(ctx, "purchase.changed")
	return seeOther(w, r, "/desk/requests")
}

// askAgain shows the small form again with what is wrong.
func (s *server) askAgain(w http.ResponseWriter, r *http.Request, invalid *desk.Invalid, m views.AskOnePage) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	m.Field.Error = i18n.T(ctx, "form.fault.required")
	if strings.TrimSpace(m.Field.Value) != "" {
		m.Field.Error = i18n.T(ctx, "form.fault.too_long", "n", desk.MaxText)
	}
	m.Faults = []views.Fault{{Field: m.Field.ID, Label: m.Field.Label, Message: m.Field.Error}}
	request.From(r.Context()).Problem = string(problem.Invalid)
	return s.renderAt(w, r, http.StatusUnprocessableEntity, m.Back, views.AskOne(m))
}

// deskProblem turns what the desk refuses into its problem.
func deskProblem(err error) error {
	if _, ok := errors.AsType[*desk.NotFound](err); ok {
		return problem.NoSuch()
	}
	if invalid, ok := errors.AsType[*desk.Invalid](err); ok {
		return problem.Faulty(allocator.Fault{Field: invalid.Field, Message: invalid.Message})
	}
	return err
}

// demand is the report of what was refused.
func (s *server) demand(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	report, err := s.Desk.Demand(ctx)
	if err != nil {
		return err
	}
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	m := views.DemandPage{Orders: report.Orders}
	for _, l := range report.Sites {
		m.Sites = append(m.Sites, views.DemandLine{Site: c.siteName(l.Value), Orders: l.Orders})
	}
	for _, l := range report.Constraints {
		m.Constraints = append(m.Constraints, views.DemandLine{Ask: new(askOf(l.Request)), Orders: l.Orders})
	}
	for _, d := range report.Requests {
		m.Requests = append(m.Requests, views.DemandRequest{Ask: askOf(d.Request), Orders: d.Orders, Orgs: d.Orgs, Last: d.Last})
	}
	return s.render(w, r, http.StatusOK, views.Demand(m))
}

// addNote writes an internal note.
func (s *server) addNote(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	subject := f.Get("subject")
	id, err := uuid.Parse(f.Get("id"))
	if err != nil {
		return problem.NoSuch()
	}
	back, err := s.notesPage(r, subject, id)
	if err != nil {
		return err
	}
	err = s.Desk.AddNote(ctx, request.By(ctx), subject, id, f.Get("body"))
	if invalid, ok := errors.AsType[*desk.Invalid](err); ok && invalid.Field == "body" {
		return s.askAgain(w, r, invalid, views.AskOnePage{
			Title: i18n.T(ctx, "notes.add"), Action: "/desk/notes", Submit: i18n.T(ctx, "notes.submit"), Back: back, BackLabel: i18n.T(ctx, "notes.title"),
			Fields: []views.Hidden{{Name: "subject", Value: subject}, {Name: "id", Value: id.String()}},
			Field:  views.Field{ID: "body", Label: i18n.T(ctx, "notes.again"), Value: f.Get("body"), Required: true},
		})
	}
	if err != nil {
		return deskProblem(err)
	}
	s.notify(ctx, "notes.added")
	return seeOther(w, r, back)
}

// notesPage is where the notes of something are shown.
func (s *server) notesPage(r *http.Request, subject string, id uuid.UUID) (string, error) {
	switch subject {
	case desk.OfHold:
		return "/holds/" + id.String(), nil
	case desk.OfService:
		return "/services/" + id.String(), nil
	case desk.OfOrganisation:
		org, err := s.Accounts.Org(r.Context(), id)
		return orgURL(org.Slug), err
	}
	return "", problem.NoSuch()
}

// giveBackForm asks for the reason; giveBack ends the hold of a customer with it.
func (s *server) giveBackForm(w http.ResponseWriter, r *http.Request) error {
	m, err := s.giveBackPage(r)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.AskOne(m))
}

func (s *server) giveBackPage(r *http.Request) (m views.AskOnePage, err error) {
	ctx := i18n.With(r.Context(), s.locale(r))
	id, scope, err := object(r)
	if err != nil {
		return m, err
	}
	h, err := s.Holds.Get(ctx, scope, id)
	if err != nil {
		return m, err
	}
	return views.AskOnePage{
		Title: i18n.T(ctx, "desk.give_back_title", "tag", h.AssetTag), Lead: i18n.T(ctx, "desk.give_back_lead", "org", h.OrgSlug),
		Action: r.URL.Path, Submit: i18n.T(ctx, "desk.give_back"), Back: "/desk/holds", BackLabel: i18n.T(ctx, "desk.holds"),
		Field: views.Field{ID: "reason", Label: i18n.T(ctx, "common.reason"), Hint: i18n.T(ctx, "desk.give_back_hint"), Required: true},
	}, nil
}

func (s *server) giveBack(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	id, scope, err := object(r)
	if err != nil {
		return err
	}
	reason := clip(f.Get("reason"))
	if reason == "" {
		m, err := s.giveBackPage(r)
		if err != nil {
			return err
		}
		return s.askAgain(w, r, nil, m)
	}
	if _, err := s.Holds.Cancel(r.Context(), request.By(r.Context()), scope, id, reason); err != nil {
		return s.refuseStep(w, r, scope, id, err)
	}
	s.notify(r.Context(), "hold.notice_cancelled")
	return seeOther(w, r, "/holds/"+id.String())
}

// deskRoutes are the routes of the desk. A hold begins by /order alone, also for sales.
func (s *server) deskRoutes(get, post func(string, accounts.Function, handler) route) []route {
	return []route{
		get("/desk", accounts.SeeAttempts, s.desk),
		get("/desk/attempts.csv", accounts.SeeAttempts, s.deskCSV),
		get("/desk/attempts/{id}", accounts.SeeAttempts, s.showAttempt),
		get("/desk/attempts/{id}/machines", accounts.SurveyMachines, s.attemptMachines),
		get("/desk/attempts/{id}/machines.csv", accounts.SurveyMachines, s.attemptMachinesCSV),
		get("/desk/holds", accounts.SeeAllHolds, s.deskHolds),
		get("/desk/holds/{id}/give-back", accounts.GiveBack, s.giveBackForm),
		post("/desk/holds/{id}/give-back", accounts.GiveBack, s.giveBack),
		get("/desk/find", accounts.SeeAllHolds, s.find),
		get("/desk/requests", accounts.AskPurchase, s.purchases),
		post("/desk/requests", accounts.AskPurchase, s.addPurchase),
		post("/desk/requests/{id}", accounts.AskPurchase, s.setPurchase),
		get("/desk/demand", accounts.SeeAttempts, s.demand),
		post("/desk/notes", accounts.WriteNotes, s.addNote),
		post("/desk/simulate", accounts.OrderOnBehalf, s.simulate),
	}
}
