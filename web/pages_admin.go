package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/desk"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

func orgURL(slug string) string { return "/admin/orgs/" + url.PathEscape(slug) }

// orgs lists every organisation with its use.
func (s *server) orgs(w http.ResponseWriter, r *http.Request) error {
	return s.orgsPage(w, r, http.StatusOK, views.OrgsPage{MaxHolds: "5", MaxMachines: "50"})
}

func (s *server) orgsPage(w http.ResponseWriter, r *http.Request, status int, m views.OrgsPage) error {
	ctx := r.Context()
	list, err := s.Accounts.Orgs(ctx)
	if err != nil {
		return err
	}
	use, err := s.Holds.UsageByOrg(ctx)
	if err != nil {
		return err
	}
	m.CanAdd = accounts.Can(request.Actor(ctx).Role, accounts.ManageOrgs)
	for _, o := range list {
		m.Items = append(m.Items, orgRow(o, use[o.ID]))
	}
	return s.renderAt(w, r, status, "/admin/orgs", views.Orgs(m))
}

func orgRow(o accounts.Org, u holds.Usage) views.OrgRow {
	return views.OrgRow{
		Slug: o.Slug, Name: o.Name, MaxHolds: o.MaxHolds, MaxMachines: o.MaxMachines, Live: u.LiveHolds, Active: u.Services,
		Suspended: o.SuspendedAt != nil, Rollout: o.Rollout,
	}
}

// addOrg makes an organisation.
func (s *server) addOrg(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	m := views.OrgsPage{Slug: strings.TrimSpace(f.Get("slug")), Name: strings.TrimSpace(f.Get("name")), MaxHolds: f.Get("max_holds"), MaxMachines: f.Get("max_machines")}
	maxHolds, maxMachines, faults := limitsOf(ctx, f)
	if len(faults) == 0 {
		org, err := s.Accounts.AddOrg(ctx, request.By(ctx), m.Slug, m.Name, maxHolds, maxMachines)
		if err == nil {
			s.notify(ctx, "orgs.added")
			return seeOther(w, r, orgURL(org.Slug))
		}
		invalid, ok := errors.AsType[*accounts.Invalid](err)
		if !ok {
			return err
		}
		faults = []views.Fault{newOrgFault(ctx, invalid)}
	}
	m.Faults = faults
	request.From(r.Context()).Problem = string(problem.Invalid)
	return s.orgsPage(w, r, http.StatusUnprocessableEntity, m)
}

// newOrgFault puts what accounts refuse into the person's words.
func newOrgFault(ctx context.Context, e *accounts.Invalid) views.Fault {
	key := "orgs.fault." + e.Field
	if e.Field == "slug" && strings.Contains(e.Message, "taken") {
		key = "orgs.fault.slug_taken"
	}
	message := e.Message
	if i18n.Has(ctx, key) {
		message = i18n.T(ctx, key)
	}
	return views.Fault{Field: e.Field, Label: i18n.T(ctx, "orgs."+e.Field), Message: message}
}

// limitsOf reads the caps of a form.
func limitsOf(ctx context.Context, f url.Values) (maxHolds, maxMachines int, faults []views.Fault) {
	for name, to := range map[string]*int{"max_holds": &maxHolds, "max_machines": &maxMachines} {
		n, err := strconv.Atoi(strings.TrimSpace(f.Get(name)))
		if err != nil || n < 0 || n > 1_000_000 {
			faults = append(faults, views.Fault{Field: name, Label: i18n.T(ctx, "orgs."+name), Message: i18n.T(ctx, "orgs.fault."+name)})
			continue
		}
		*to = n
	}
	return maxHolds, maxMachines, faults
}

// staffOrg is one organisation: use, limits, suspension, people, internal notes.
func (s *server) staffOrg(w http.ResponseWriter, r *http.Request) error {
	return s.staffOrgPage(w, r, http.StatusOK, nil, nil)
}

func (s *server) staffOrgPage(w http.ResponseWriter, r *http.Request, status int, f url.Values, faults []views.Fault) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	org, err := s.Accounts.OrgBySlug(ctx, request.PathValue(r, "slug"))
	if err != nil {
		return err
	}
	use, err := s.Holds.Usage(ctx, org.ID)
	if err != nil {
		return err
	}
	st, err := s.Rollout.Status(ctx, org.ID)
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	users, err := s.Accounts.Users(ctx, org.ID)
	if err != nil {
		return err
	}
	m := views.StaffOrgPage{
		OrgRow: orgRow(org, use), SuspendedAt: org.SuspendedAt, SuspendedBy: who.of(ctx, org.SuspendedBy), SuspendedReason: org.SuspendedReason,
		Effective: st.Effective, Why: st.Reason, CanLimits: accounts.Can(actor.Role, accounts.SetLimits), CanSuspend: accounts.Can(actor.Role, accounts.SuspendOrg),
		CanPeople: accounts.Can(actor.Role, accounts.ManagePeople),
		Faults:    faults, FormHolds: strconv.Itoa(org.MaxHolds), FormMachines: strconv.Itoa(org.MaxMachines),
	}
	if f != nil {
		if f.Has("max_holds") {
			m.FormHolds, m.FormMachines = f.Get("max_holds"), f.Get("max_machines")
		}
		m.Reason = f.Get("reason")
	}
	for _, u := range users {
		m.People = append(m.People, personRow(accounts.Person{User: u, OrgSlug: org.Slug, OrgName: org.Name}, actor))
	}
	if m.Notes, err = s.notesOf(ctx, desk.OfOrganisation, org.ID); err != nil {
		return err
	}
	if m.Events, err = s.orgEvents(ctx, who, org.ID); err != nil {
		return err
	}
	if len(faults) > 0 {
		request.From(r.Context()).Problem = string(problem.Invalid)
	}
	return s.renderAt(w, r, status, orgURL(org.Slug), views.StaffOrg(m))
}

// orgEvents is what happened to an organisation apart from its orders, with the reasons of suspensions.
func (s *server) orgEvents(ctx context.Context, who *names, org uuid.UUID) ([]views.HistoryRow, error) {
	list, err := s.Accounts.History(ctx, org, accounts.HistoryFilter{People: true, Settings: true, Limit: peopleLines})
	if err != nil {
		return nil, err
	}
	suspensions, err := s.Accounts.Suspensions(ctx, org, peopleLines)
	if err != nil {
		return nil, err
	}
	// They say more than the organisation's own entry of the same.
	list = slices.DeleteFunc(list, func(e accounts.HistoryEntry) bool { return e.Kind == "organisation" })
	list = append(list, suspensions...)
	slices.SortStableFunc(list, func(a, b accounts.HistoryEntry) int { return b.At.Compare(a.At) })
	return s.accountRows(ctx, who, list[:min(len(list), peopleLines)]), nil
}

// setLimits sets the caps of an organisation.
func (s *server) setLimits(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	maxHolds, maxMachines, faults := limitsOf(ctx, f)
	if len(faults) > 0 {
		return s.staffOrgPage(w, r, http.StatusUnprocessableEntity, f, faults)
	}
	slug := request.PathValue(r, "slug")
	_, err = s.Accounts.SetLimits(ctx, request.By(ctx), slug, maxHolds, maxMachines)
	if invalid, ok := errors.AsType[*accounts.Invalid](err); ok {
		return s.staffOrgPage(w, r, http.StatusUnprocessableEntity, f, []views.Fault{newOrgFault(ctx, invalid)})
	}
	if err != nil {
		return err
	}
	s.notify(ctx, "orgs.limits_saved")
	return seeOther(w, r, orgURL(slug))
}

// suspend stops new holds of an organisation, or lets them begin again.
func (s *server) suspend(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	slug, notice := request.PathValue(r, "slug"), "orgs.suspended_done"
	if f.Get("do") == "resume" {
		notice = "orgs.resumed_done"
		_, err = s.Accounts.Resume(ctx, request.By(ctx), slug, f.Get("reason"))
	} else {
		_, err = s.Accounts.Suspend(ctx, request.By(ctx), slug, f.Get("reason"))
	}
	if _, ok := errors.AsType[*accounts.Invalid](err); ok {
		return s.staffOrgPage(w, r, http.StatusUnprocessableEntity, f,
			[]views.Fault{{Field: "reason", Label: i18n.T(ctx, "common.reason"), Message: i18n.T(ctx, "orgs.fault.reason")}})
	}
	if err != nil {
		return err
	}
	s.notify(ctx, notice)
	return seeOther(w, r, orgURL(slug))
}

// checks asks everything that must always be true.
func (s *server) checks(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Invariants.Check(r.Context())
	if err != nil {
		return err
	}
	m := views.ChecksPage{BehindProxy: s.behindProxy.Load()}
	for _, c := range list {
		if c.Violations > 0 {
			m.Violated++
		}
		m.Items = append(m.Items, views.CheckRow{Name: c.Name, Description: c.Description, Violations: c.Violations, Examples: c.Examples})
	}
	if m.AsOf, err = s.Allocator.Now(r.Context()); err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.Checks(m))
}

// fleetRoutes are those of the fleet beyond looking at it.
func (s *server) fleetRoutes(get, post func(string, accounts.Function, handler) route) []route {
	upload := post("/fleet/import", accounts.FleetWrite, s.upload)
	upload.maxBody = 4 * fleet.MaxUpload // a file that is too large is answered by a page that says so
	return []route{
		get("/fleet/import", accounts.FleetWrite, s.importForm),
		upload,
		post("/fleet/import/confirm", accounts.FleetWrite, s.confirmImport),
		get("/fleet/classes", accounts.SeeFleet, s.classBoard),
		get("/fleet/sites", accounts.SeeFleet, s.sites),
		get("/fleet/sites/{code}", accounts.SeeFleet, s.site),
		post("/fleet/sites/{code}", accounts.FleetWrite, s.setSite),
	}
}

// adminRoutes are those of operators.
func (s *server) adminRoutes(get, post router) []route {
	return append([]route{
		get("/admin/orgs", accounts.SeeOrgs, s.orgs),
		post("/admin/orgs", accounts.ManageOrgs, s.addOrg),
		get("/admin/orgs/{slug}", accounts.SeeOrgs, s.staffOrg),
		post("/admin/orgs/{slug}/limits", accounts.SetLimits, s.setLimits),
		post("/admin/orgs/{slug}/suspend", accounts.SuspendOrg, s.suspend),
		get("/admin/checks", accounts.Invariants, s.checks),
		get("/admin/health", accounts.Invariants, s.health),
		get("/admin/mail", accounts.ManageJobs, s.mails),
		get("/admin/mail/caught/{n}", accounts.ManageJobs, s.caughtMail),
	}, append(s.peopleRoutes(get, post), s.jobRoutes()...)...)
}
