package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/holds"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// attemptOf is the attempt that the address names.
func (s *server) attemptOf(r *http.Request) (allocator.Attempt, error) {
	text := request.PathValue(r, "id")
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return allocator.Attempt{}, problem.NoSuch()
	}
	return s.Allocator.Attempt(r.Context(), id)
}

// showAttempt is the record of one order request: both passes, who was faster, what to do now.
func (s *server) showAttempt(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	a, err := s.attemptOf(r)
	if err != nil {
		return err
	}
	actor := request.Actor(ctx)
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	behalf := accounts.Can(actor.Role, accounts.OrderOnBehalf)
	req := requestOf(a.Request)
	m := views.AttemptPage{
		AttemptRow: attemptRow(&a), Key: a.Key, RequestID: a.RequestID, Reasons: reasonsOf(a.Reasons),
		NearMisses: nearMissesOf(a.NearMisses, req, a.OrgSlug, behalf), Override: overrideOf(a.Detail), ChangeURL: orderURL(req, a.OrgSlug, ""),
	}
	m.Actor = who.of(ctx, a.Actor)
	for _, st := range a.Walk {
		m.Walk = append(m.Walk, views.Step{Tag: st.AssetTag, Result: st.Result, Why: st.Why, At: st.At})
	}
	for _, f := range a.Faster {
		m.Faster = append(m.Faster, views.Faster{Tag: f.AssetTag, Org: f.OrgSlug, HoldID: f.HoldID.String(), At: f.At, ByMS: f.ByMS})
	}
	if a.HoldID != nil {
		h, err := s.Holds.Get(ctx, holds.Scope{}, *a.HoldID)
		if err != nil {
			return err
		}
		m.Decision, m.WonTag = decisionOf(h), h.AssetTag
	}
	if behalf {
		if err := s.attemptActions(ctx, &m, a, req); err != nil {
			return err
		}
	}
	return s.render(w, r, http.StatusOK, views.Attempt(m))
}

// attemptActions is what sales can do about a refusal.
func (s *server) attemptActions(ctx context.Context, m *views.AttemptPage, a allocator.Attempt, req allocator.Request) error {
	switch a.Outcome {
	case allocator.SomeoneFaster, allocator.TryAgain, allocator.Busy, allocator.AllHeld, allocator.CoolDown:
		m.Again = &views.Retry{Key: uuid.NewString(), Fields: hiddenFields(formValues(req, a.OrgSlug))}
		m.Cool = a.Outcome == allocator.CoolDown
	}
	if (a.Outcome == allocator.NoneLeft || a.Outcome == allocator.AllHeld) && req.Machine == "" {
		c, err := s.readChoices(ctx)
		if err != nil {
			return err
		}
		site := ""
		if len(req.Sites) > 0 {
			site = req.Sites[0]
		} else if len(c.sites) > 0 {
			site = c.sites[0].Code
		}
		m.Buy = &views.Buy{Fields: hiddenFields(formValues(req, "")), Sites: siteOptions(c, site)}
		if m.Buy.Orders, err = s.Desk.WouldServe(ctx, req, site); err != nil {
			return err
		}
	}
	return nil
}

// machinesShown is how many machines a page of the survey has.
const machinesShown = 60

// attemptMachines lists every machine with its reasons for what an attempt asked, as of now.
func (s *server) attemptMachines(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	a, err := s.attemptOf(r)
	if err != nil {
		return err
	}
	reason, after := surveyFilter(r)
	list, next, err := s.Allocator.SurveyBy(ctx, a.OrgID, requestOf(a.Request), reason, after, machinesShown)
	if err != nil {
		return err
	}
	now, err := s.Allocator.Now(ctx)
	if err != nil {
		return err
	}
	path, v := "/desk/attempts/"+a.ID.String()+"/machines", url.Values{}
	if reason != "" {
		v.Set("reason", string(reason))
	}
	m := views.AttemptMachinesPage{ID: a.ID.String(), At: a.At, AsOf: now, Ask: askOf(requestOf(a.Request)), CSV: withQuery(path+".csv", v)}
	m.Reasons = append(m.Reasons, views.Option{Value: string(allocator.EligibleMachines), Label: i18n.T(ctx, "survey.eligible"), Chosen: reason == allocator.EligibleMachines})
	for _, code := range allocator.Reasons() {
		m.Reasons = append(m.Reasons, views.Option{Value: string(code), Label: i18n.T(ctx, "reason."+string(code)), Chosen: code == reason})
	}
	for _, x := range list {
		row := views.SurveyedRow{Tag: x.AssetTag, Status: string(x.Status)}
		for _, code := range x.Reasons {
			row.Reasons = append(row.Reasons, string(code))
		}
		m.Items = append(m.Items, row)
	}
	if after != "" {
		m.First = withQuery(path, v)
	}
	if next != "" {
		v.Set("after", next)
		m.Next = withQuery(path, v)
	}
	return s.render(w, r, http.StatusOK, views.AttemptMachines(m))
}

func surveyFilter(r *http.Request) (reason allocator.Reason, after string) {
	q := r.URL.Query()
	if code := allocator.Reason(q.Get("reason")); code == allocator.EligibleMachines || slices.Contains(allocator.Reasons(), code) {
		reason = code
	}
	after = strings.ToValidUTF8(strings.ReplaceAll(q.Get("after"), "\x00", ""), "")
	return reason, after[:min(len(after), 200)]
}

// attemptMachinesCSV is the same as a file; each piece is surveyed when it is read.
func (s *server) attemptMachinesCSV(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	a, err := s.attemptOf(r)
	if err != nil {
		return err
	}
	req := requestOf(a.Request)
	reason, after := surveyFilter(r)
	list, next, err := s.Allocator.SurveyBy(ctx, a.OrgID, req, reason, after, csvPiece)
	if err != nil {
		return err
	}
	out := newSheet(w, "machines-for-"+a.ID.String(), "asset_tag", "eligible", "reasons", "status")
	for {
		for _, x := range list {
			eligible, codes := "no", make([]string, 0, len(x.Reasons))
			if x.Eligible {
				eligible = "yes"
			}
			for _, code := range x.Reasons {
				codes = append(codes, string(code))
			}
			out.row(x.AssetTag, eligible, strings.Join(codes, " "), string(x.Status))
		}
		out.flush()
		if next == "" {
			return nil
		}
		list, next, err = s.Allocator.SurveyBy(ctx, a.OrgID, req, reason, next, csvPiece)
		out.fail(err)
	}
}

// simulate is an order that is taken back: what would be given, and why.
func (s *server) simulate(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	a := readAsk(ctx, s.knownChoices(ctx), f, "step")
	org, err := s.orderer(ctx, &a, request.Actor(ctx), true)
	if err != nil {
		return err
	}
	req, faults, err := s.sound(ctx, a)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return s.orderPage(ctx, w, r, http.StatusUnprocessableEntity, a, req, faults, org, false)
	}
	res, err := s.Allocator.Simulate(ctx, allocator.Order{OrgID: org.id, By: request.By(ctx), Request: req})
	if err != nil {
		return err
	}
	m := views.SimulatedPage{Outcome: string(res.Outcome), Org: org.name, Ask: askOf(req), ReviewURL: orderURL(req, org.slug, "review")}
	if res.Hold != nil && res.Outcome == allocator.Held {
		machine, err := s.Fleet.Machine(ctx, res.Hold.AssetTag)
		if err != nil {
			return err
		}
		c, err := s.readChoices(ctx)
		if err != nil {
			return err
		}
		m.Server, m.Decision = new(serverOf(machine.Spec, machine.AssetTag, c)), decisionOf(*res.Hold)
	}
	if sv := res.Survey; sv != nil {
		m.Considered, m.Reasons = sv.Considered, reasonsOf(sv.Reasons)
		m.NearMisses = nearMissesOf(sv.NearMisses, req, org.slug, true)
	}
	for _, st := range res.Walk {
		m.Walk = append(m.Walk, views.Step{Tag: st.AssetTag, Result: st.Result, Why: st.Why, At: st.At})
	}
	return s.renderAt(w, r, http.StatusOK, m.ReviewURL, views.Simulated(m))
}

// notesOf are the notes about something, nil for whoever is not to see them.
func (s *server) notesOf(ctx context.Context, subject string, id uuid.UUID) (*views.Notes, error) {
	actor := request.Actor(ctx)
	if !accounts.Can(actor.Role, accounts.WriteNotes) {
		return nil, nil //nolint:nilnil // nobody's to see
	}
	list, err := s.Desk.Notes(ctx, subject, id)
	if err != nil {
		return nil, err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return nil, err
	}
	n := &views.Notes{Subject: subject, ID: id.String()}
	for _, x := range list {
		n.Items = append(n.Items, views.Note{Body: x.Body, At: x.At, By: who.of(ctx, x.Actor)})
	}
	return n, nil
}
