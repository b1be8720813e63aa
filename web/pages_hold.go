package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/desk"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// scopeOf is what the person may see: their organisation's, or everything for staff. Whoever is
// neither sees nothing.
func scopeOf(a accounts.Actor) (holds.Scope, error) {
	if accounts.Can(a.Role, accounts.SeeAllHolds) {
		return holds.Scope{}, nil
	}
	if a.OrgID == uuid.Nil {
		return holds.Scope{}, problem.NoSuch()
	}
	return holds.Scope{OrgID: a.OrgID}, nil
}

// object is the id in the address and what the person may see; anything but an id is nothing that
// exists.
func object(r *http.Request) (uuid.UUID, holds.Scope, error) {
	text := request.PathValue(r, "id")
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return id, holds.Scope{}, problem.NoSuch()
	}
	scope, err := scopeOf(request.Actor(r.Context()))
	return id, scope, err
}

func (s *server) showHold(w http.ResponseWriter, r *http.Request) error {
	id, scope, err := object(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	h, err := s.Holds.Get(ctx, scope, id)
	if err != nil {
		return err
	}
	m, err := s.holdPage(ctx, scope, h)
	if err != nil {
		return err
	}
	return s.renderHold(w, r, m, views.Hold(m))
}

// holdPage is the whole model of a hold's page.
func (s *server) holdPage(ctx context.Context, scope holds.Scope, h holds.Hold) (views.HoldPage, error) {
	actor := request.Actor(ctx)
	m, machine, c, err := s.holdModel(ctx, h)
	if err != nil {
		return m, err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return m, err
	}
	m.CreatedBy = who.of(ctx, h.CreatedBy)
	events, err := s.Holds.Events(ctx, scope, h.ID)
	if err != nil {
		return m, err
	}
	m.Events = eventsOf(ctx, events, who)
	if m.Notes, err = s.notesOf(ctx, desk.OfHold, h.ID); err != nil {
		return m, err
	}
	if m.State == string(holds.Expired) || m.State == string(holds.Cancelled) {
		if mayOrder(actor) && !actor.Role.Staff() {
			m.Others, err = s.alternatives(ctx, requestOf(h.Request), machine, h.OrgID, c)
		}
	}
	return m, err
}

// holdModel is the hold with its machine, without history.
func (s *server) holdModel(ctx context.Context, h holds.Hold) (m views.HoldPage, machine fleet.Machine, c choices, err error) {
	actor := request.Actor(ctx)
	can := func(f accounts.Function) bool { return accounts.Can(actor.Role, f) }
	if machine, err = s.Fleet.Machine(ctx, h.AssetTag); err != nil {
		return m, machine, c, err
	}
	if c, err = s.readChoices(ctx); err != nil {
		return m, machine, c, err
	}
	req := requestOf(h.Request)
	slug := ""
	if actor.Role.Staff() {
		slug = h.OrgSlug
	}
	same := allocator.Request{Machine: h.AssetTag}
	m = views.HoldPage{
		ID: h.ID.String(), State: string(h.Shown()), Server: serverOf(machine.Spec, h.AssetTag, c),
		Price: views.Money{Minor: h.PriceMonthMinor, Currency: h.Currency}, Setup: views.Money{Minor: h.SetupMinor, Currency: h.Currency},
		Terms: h.Terms, CreatedAt: h.CreatedAt, ExpiresAt: h.ExpiresAt, ExtendedAt: h.ExtendedAt, ClosedAt: h.ClosedAt, Now: h.Now,
		Withdrawn: h.Withdrawn(), CanExtend: h.Live() && h.ExtendedAt == nil && can(accounts.ExtendHold),
		CanConfirm: can(accounts.ConvertHold), CanCancel: can(accounts.CancelHold),
		ExtendMinutes: int(s.Holds.Policy().Extension.Minutes()), ExtendKey: uuid.NewString(),
		Ask: askOf(req), Decision: decisionOf(h),
		Again: views.Again{Same: orderURL(same, slug, "review"), Change: orderURL(req, slug, "")},
	}
	if req.Machine == "" {
		m.Again.Equal = orderURL(req, slug, "review")
	}
	if h.ServiceID != nil {
		m.ServiceID = h.ServiceID.String()
	}
	if actor.Role.Staff() {
		m.Org, m.Overdue = h.OrgSlug, h.Overdue
		if h.AttemptID != nil {
			m.AttemptID = h.AttemptID.String()
		}
	}
	return m, machine, c, nil
}

func eventsOf(ctx context.Context, list []holds.Event, who *names) []views.Event {
	out := make([]views.Event, 0, len(list))
	for _, e := range list {
		v := views.Event{At: e.At, Event: e.Event, Actor: who.of(ctx, e.Actor)}
		var after struct {
			Reason    string    `json:"reason"`
			ExpiresAt time.Time `json:"expires_at"`
		}
		if json.Unmarshal(e.After, &after) == nil {
			v.Details = after.Reason
			if e.Event == "extended" {
				v.Details = i18n.T(ctx, "hold.until") + " " + i18n.Stamp(ctx, after.ExpiresAt)
			}
		}
		out = append(out, v)
	}
	return out
}

// holdClock tells the script on a hold's page what time it is here and how the hold stands.
func (s *server) holdClock(w http.ResponseWriter, r *http.Request) error {
	id, scope, err := object(r)
	if err != nil {
		return err
	}
	h, err := s.Holds.Get(r.Context(), scope, id)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(holdNews(h))
}

// backToHold serves those who reload the answer of a step.
func (s *server) backToHold(w http.ResponseWriter, r *http.Request) error {
	id, _, err := object(r)
	if err != nil {
		return err
	}
	return seeOther(w, r, "/holds/"+id.String())
}

func (s *server) extendHold(w http.ResponseWriter, r *http.Request) error {
	id, scope, err := object(r)
	if err != nil {
		return err
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	key := f.Get("key")
	if !allocator.ValidKey(key) {
		key = ""
	}
	if _, err := s.Holds.Extend(r.Context(), request.By(r.Context()), scope, id, key); err != nil {
		return s.refuseStep(w, r, scope, id, err)
	}
	s.notify(r.Context(), "hold.notice_extended")
	return seeOther(w, r, "/holds/"+id.String())
}

func (s *server) cancelHold(w http.ResponseWriter, r *http.Request) error {
	id, scope, err := object(r)
	if err != nil {
		return err
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	if _, err := s.Holds.Cancel(r.Context(), request.By(r.Context()), scope, id, clip(f.Get("reason"))); err != nil {
		return s.refuseStep(w, r, scope, id, err)
	}
	s.notify(r.Context(), "hold.notice_cancelled")
	return seeOther(w, r, "/holds/"+id.String())
}

func (s *server) substituteHold(w http.ResponseWriter, r *http.Request) error {
	id, scope, err := object(r)
	if err != nil {
		return err
	}
	h, err := s.Holds.Substitute(r.Context(), request.By(r.Context()), scope, id)
	if err != nil {
		return s.refuseStep(w, r, scope, id, err)
	}
	s.notify(r.Context(), "hold.notice_substituted")
	return seeOther(w, r, "/holds/"+h.ID.String())
}

// confirmForm is the page before the conversion; for a hold that is not live, the hold's own page.
func (s *server) confirmForm(w http.ResponseWriter, r *http.Request) error {
	id, scope, err := object(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	h, err := s.Holds.Get(ctx, scope, id)
	if err != nil {
		return err
	}
	if !h.Live() || h.Withdrawn() {
		return seeOther(w, r, "/holds/"+id.String())
	}
	m, _, _, err := s.holdModel(ctx, h)
	if err != nil {
		return err
	}
	return s.renderHold(w, r, m, views.Confirm(m))
}

func (s *server) confirmHold(w http.ResponseWriter, r *http.Request) error {
	id, scope, err := object(r)
	if err != nil {
		return err
	}
	v, _, err := s.Holds.Convert(r.Context(), request.By(r.Context()), scope, id)
	if err != nil {
		return s.refuseStep(w, r, scope, id, err)
	}
	return seeOther(w, r, "/services/"+v.ID.String())
}

// refuseStep answers with the page of a refused step on a hold; what is no refusal goes on as an
// error.
func (s *server) refuseStep(w http.ResponseWriter, r *http.Request, scope holds.Scope, id uuid.UUID, err error) error {
	refused, ok := errors.AsType[*holds.Refused](err)
	if !ok || refused.Kind == holds.NotFound {
		return err
	}
	p := problem.From(err)
	if p.Name == problem.Internal {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	v := views.Refusal{
		Name: string(p.Name), HoldID: id.String(), Substitute: refused.Substitute, Until: refused.Until,
		Wait: int(p.RetryAfter.Seconds()), CheckURL: "/holds/" + id.String(), ChangeURL: "/order",
		Retry: &views.Retry{Action: r.URL.Path},
	}
	if refused.ServiceID != nil {
		v.ServiceID = refused.ServiceID.String()
	}
	// The hold makes the page richer; without it the refusal is still told.
	if h, err := s.Holds.Get(ctx, scope, id); err == nil {
		if m, machine, c, err := s.holdModel(ctx, h); err == nil {
			if actor := request.Actor(ctx); mayOrder(actor) && !actor.Role.Staff() && (p.Name == problem.HoldExpired || p.Name == problem.HoldCancelled) {
				m.Others, _ = s.alternatives(ctx, requestOf(h.Request), machine, h.OrgID, c)
			}
			v.Hold, v.Ask, v.ChangeURL = &m, &m.Ask, m.Again.Change
			v.ServiceID = m.ServiceID
		}
	}
	request.From(ctx).Problem = string(p.Name)
	problem.Headers(w, p)
	return s.renderAt(w, r, p.Status, "/holds/"+id.String(), views.Refused(v))
}

// listRows is how many rows a page of a list has, unless somebody chose fewer.
const listRows = 50

// listPage reads the cursor of a list: the id of the last row of the page before.
func listPage(r *http.Request) (after uuid.UUID) {
	after, err := uuid.Parse(r.URL.Query().Get("after"))
	if err != nil {
		return uuid.Nil
	}
	return after
}

func (s *server) listHolds(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	scope, err := scopeOf(actor)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	state := r.URL.Query().Get("state")
	if !slices.Contains([]holds.State{holds.Held, holds.Converted, holds.Expired, holds.Cancelled}, holds.State(state)) {
		state = ""
	}
	after, rows := listPage(r), listSizes.of(r)
	list, err := s.Holds.List(ctx, holds.Filter{Scope: scope, State: holds.State(state), After: after, Limit: rows + 1})
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	m := views.HoldsPage{State: state, Staff: actor.Role.Staff(), CanOrder: mayOrder(actor)}
	for _, h := range list[:min(len(list), rows)] {
		row := holdRow(h)
		row.By = who.of(ctx, h.CreatedBy)
		if m.Staff && h.AttemptID != nil {
			row.AttemptID = h.AttemptID.String()
		}
		m.Items = append(m.Items, row)
	}
	last := uuid.Nil
	if len(list) > rows {
		last = list[rows-1].ID
	}
	first, next := pageLinks("/holds", "state", state, after != uuid.Nil, last)
	m.Pager = listSizes.pager(r, first, next, len(m.Items))
	return s.renderLive(w, r, "list", m.Items, views.Holds(m))
}

// pageLinks lead to the start of a list, when this is not it, and to the next page, if any.
func pageLinks(path, name, value string, further bool, last uuid.UUID) (first, next string) {
	q := url.Values{}
	if value != "" {
		q.Set(name, value)
	}
	if further {
		first = path
		if len(q) > 0 {
			first += "?" + q.Encode()
		}
	}
	if last != uuid.Nil {
		q.Set("after", last.String())
		next = path + "?" + q.Encode()
	}
	return first, next
}

func holdRow(h holds.Hold) views.HoldRow {
	row := views.HoldRow{
		ID: h.ID.String(), Tag: h.AssetTag, State: string(h.Shown()), Org: h.OrgSlug, Overdue: h.Overdue, Withdrawn: h.Withdrawn(),
		Price: views.Money{Minor: h.PriceMonthMinor, Currency: h.Currency}, CreatedAt: h.CreatedAt, ExpiresAt: h.ExpiresAt,
	}
	if h.ServiceID != nil {
		row.ServiceID = h.ServiceID.String()
	}
	return row
}

// maxReason bounds the reasons that people type.
const maxReason = 500

func clip(s string) string {
	runes := []rune(strings.TrimSpace(strings.ToValidUTF8(s, "")))
	return string(runes[:min(len(runes), maxReason)])
}
