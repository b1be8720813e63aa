package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// orderFor is who an order is for: the person's own organisation, or the one that sales named.
type orderFor struct {
	id   uuid.UUID
	name string
	slug string // "" for one's own
}

// orderForm is the form of an order, what would match it (step=match), and its review
// (step=review). The key of the order is made here: it stays in the address of the review, so that
// going back to it and sending it again is the same order.
func (s *server) orderForm(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	if !mayOrder(actor) {
		return forbidden()
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	query := r.URL.Query()
	step := query.Get("step")
	a := readAsk(ctx, s.knownChoices(ctx), query, "step", "sort")
	if step == "review" && !allocator.ValidKey(a.key) {
		query.Set("key", uuid.NewString())
		return seeOther(w, r, "/order?"+query.Encode())
	}
	org, err := s.orderer(ctx, &a, actor, step == "review")
	if err != nil {
		return err
	}
	req, faults, err := s.sound(ctx, a)
	if err != nil {
		return err
	}
	if step != "review" || len(faults) > 0 {
		status := http.StatusOK
		if len(faults) > 0 {
			status = http.StatusUnprocessableEntity
		}
		return s.orderPage(ctx, w, r, status, a, req, faults, org, step == "match" && len(faults) == 0)
	}
	return s.review(ctx, w, r, req, a.key, org)
}

// orderer finds out for whom the order is; a fault when sales have not said so.
func (s *server) orderer(ctx context.Context, a *asked, actor accounts.Actor, required bool) (orderFor, error) {
	if !actor.Role.Staff() {
		if a.org != "" {
			a.faults = append(a.faults, views.Fault{Message: i18n.T(ctx, "form.fault.unknown", "field", "org")})
			a.org = ""
		}
		return orderFor{id: actor.OrgID, name: actor.OrgName}, nil
	}
	if a.org == "" && !required {
		return orderFor{}, nil
	}
	org, err := s.Accounts.OrgBySlug(ctx, a.org)
	if _, missing := errors.AsType[*accounts.NotFound](err); missing {
		a.faults = append(a.faults, views.Fault{Field: "org", Label: i18n.T(ctx, "order.org"), Message: i18n.T(ctx, "form.fault.org")})
		a.org = ""
		return orderFor{}, nil
	}
	return orderFor{org.ID, org.Name, org.Slug}, err
}

// orderPage shows the form with what was entered, the faults, and, if asked, what matches.
func (s *server) orderPage(ctx context.Context, w http.ResponseWriter, r *http.Request, status int, a asked, req allocator.Request,
	faults []views.Fault, org orderFor, match bool,
) error {
	actor := request.Actor(ctx)
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	m := views.OrderPage{Form: a.form, Faults: faults, Invalid: status != http.StatusOK}
	m.Form.Faults = faults
	c.fill(&m.Form, a.request)
	if m.Off, err = s.offFor(ctx, actor.OrgID); err != nil {
		return err
	}
	if actor.Role.Staff() {
		orgs, err := s.Accounts.Orgs(ctx)
		if err != nil {
			return err
		}
		for _, o := range orgs {
			m.Form.Orgs = append(m.Form.Orgs, views.Option{Value: o.Slug, Label: o.Name, Chosen: o.Slug == org.slug})
		}
	}
	if match {
		found, err := s.match(ctx, req, org, c)
		if err != nil {
			return err
		}
		m.Match = &found
	}
	if m.Invalid {
		request.From(ctx).Problem = string(problem.Invalid)
	}
	return s.renderAt(w, r, status, orderURL(req, org.slug, ""), views.Order(m))
}

// orderMatch is what would match, as the part of the form's page that a script fetches while the
// form is filled in. Faults are told there until they are gone.
func (s *server) orderMatch(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	if !mayOrder(actor) {
		return forbidden()
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	a := readAsk(ctx, s.knownChoices(ctx), r.URL.Query(), "step", "sort")
	org, err := s.orderer(ctx, &a, actor, false)
	if err != nil {
		return err
	}
	req, faults, err := s.sound(ctx, a)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return s.renderPart(w, r, views.MatchFaults(faults))
	}
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	m, err := s.match(ctx, req, org, c)
	if err != nil {
		return err
	}
	return s.renderPart(w, r, views.MatchPart(m))
}

// shownBest is how many groups are shown beside a form.
const shownBest = 3

func (s *server) match(ctx context.Context, req allocator.Request, org orderFor, c choices) (views.Match, error) {
	sv, _, err := s.Allocator.Survey(ctx, org.id, req)
	if err != nil {
		return views.Match{}, err
	}
	m := matchOf(sv, req, org.slug)
	if sv.Eligible == 0 {
		return m, nil
	}
	if req.Machine != "" {
		machine, err := s.Fleet.Machine(ctx, req.Machine)
		if err != nil {
			return m, err
		}
		m.Best = []views.Offer{{Server: serverOf(machine.Spec, machine.AssetTag, c), Free: 1, Total: 1}}
		return m, nil
	}
	m.Best, err = s.best(ctx, req, org.id, c)
	return m, err
}

// best are the cheapest groups that fit and have a free machine.
func (s *server) best(ctx context.Context, req allocator.Request, org uuid.UUID, c choices) ([]views.Offer, error) {
	list, err := s.Allocator.Offers(ctx, allocator.OfferQuery{Org: org, Request: req})
	if err != nil {
		return nil, err
	}
	var out []views.Offer
	for _, o := range list.Items {
		if o.Free > 0 && len(out) < shownBest {
			out = append(out, offerOf(o, c))
		}
	}
	return out, nil
}

func (s *server) review(ctx context.Context, w http.ResponseWriter, r *http.Request, req allocator.Request, key string, org orderFor) error {
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	m := views.ReviewPage{
		Ask: askOf(req), Key: key, Fields: hiddenFields(formValues(req, org.slug)), ChangeURL: orderURL(req, org.slug, ""),
		Minutes: int(s.Holds.Policy().Duration.Minutes()),
	}
	if org.slug != "" {
		m.OrgName = org.name
	}
	if m.Match, err = s.match(ctx, req, org, c); err != nil {
		return err
	}
	if m.Off, err = s.offFor(ctx, org.id); err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.Review(m))
}

// placeOrder holds a machine. A repeat of the same form leads to the hold of the first.
func (s *server) placeOrder(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	if !mayOrder(actor) {
		return forbidden()
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	known, override := []string{"step"}, ""
	if accounts.Can(actor.Role, accounts.OverrideCool) {
		known, override = append(known, "override"), clip(f.Get("override"))
	}
	a := readAsk(ctx, s.knownChoices(ctx), f, known...)
	org, err := s.orderer(ctx, &a, actor, true)
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
	if !allocator.ValidKey(a.key) {
		p := problem.New(problem.KeyMissing, "")
		return s.refuse(w, r, p, views.Refusal{Name: string(p.Name), Ask: new(askOf(req)), ChangeURL: orderURL(req, org.slug, "")})
	}
	res, err := s.Allocator.Order(ctx, allocator.Order{OrgID: org.id, By: request.By(ctx), Key: a.key, Request: req, OverrideCoolDown: override})
	if err != nil {
		return err
	}
	p := problem.Of(res)
	switch {
	case p == nil && res.Hold == nil:
		return errors.New("an order was accepted without a hold")
	case p == nil:
		return seeOther(w, r, "/holds/"+res.Hold.ID.String())
	case p.Name == problem.Invalid:
		return s.orderPage(ctx, w, r, p.Status, a, req, s.tell(ctx, res.Faults, nil), org, false)
	case p.Name == problem.Internal:
		return p
	}
	return s.refuse(w, r, p, s.refusalOf(res, p, req, a.key, org))
}

// refusalOf is the page of an order that got no hold.
func (s *server) refusalOf(res allocator.Result, p *problem.Problem, req allocator.Request, key string, org orderFor) views.Refusal {
	v := views.Refusal{
		Name: string(p.Name), Ask: new(askOf(req)), ChangeURL: orderURL(req, org.slug, ""),
		NextFreeAt: res.NextFreeAt, Until: res.Until, LimitName: res.LimitName, Limit: res.Limit, LiveHolds: res.LiveHolds, Active: res.Active,
		Retry: &views.Retry{Action: "/order", Key: key, Fields: hiddenFields(formValues(req, org.slug))},
		Wait:  int(p.RetryAfter.Seconds()),
	}
	if res.AttemptID != uuid.Nil {
		v.Reference = res.AttemptID.String()
	}
	if res.Rollout != nil {
		v.Rollout = &views.RolloutRefusal{Reason: res.Rollout.Reason, WhoCanChange: res.Rollout.WhoCanChange}
	}
	if res.Hold != nil {
		v.HoldID = res.Hold.ID.String()
	}
	if res.ServiceID != nil {
		v.ServiceID = res.ServiceID.String()
	}
	switch p.Name {
	case problem.NoneLeft, problem.AllHeld, problem.SomeoneWasFaster, problem.CoolDown:
		if sv := res.Survey; sv != nil {
			v.Considered, v.Reasons = sv.Considered, reasonsOf(sv.Reasons)
			v.NearMisses = nearMissesOf(sv.NearMisses, req, org.slug, true)
			if p.Name == problem.AllHeld && v.NextFreeAt == nil {
				v.NextFreeAt = sv.NextFreeAt
			}
		}
	case problem.Checking:
		q := formValues(req, org.slug)
		q.Set("key", key)
		v.CheckURL = "/order/result?" + q.Encode()
	}
	if p.Name == problem.CoolDown {
		other := req
		other.Machine = ""
		v.ChangeURL = orderURL(other, org.slug, "")
	}
	return v
}

// refuse answers with the page of a refusal.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, p *problem.Problem, v views.Refusal) error {
	request.From(r.Context()).Problem = string(p.Name)
	problem.Headers(w, p)
	return s.renderAt(w, r, p.Status, v.ChangeURL, views.Refused(v))
}

// orderResult resolves an order whose answer was lost: by its key, after whoever still has the
// organisation's lock. Found, it leads to the hold; not found, nothing was held, and the review
// offers the same order again.
func (s *server) orderResult(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	if !mayOrder(actor) {
		return forbidden()
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	a := readAsk(ctx, s.knownChoices(ctx), r.URL.Query(), "step")
	org, err := s.orderer(ctx, &a, actor, true)
	if err != nil {
		return err
	}
	if len(a.faults) > 0 || !allocator.ValidKey(a.key) {
		return problem.NoSuch()
	}
	hold, found, err := s.holdOfKey(ctx, org.id, a.key)
	if pg.Busy(err) {
		if r.Header.Get("Accept") == "application/json" {
			w.WriteHeader(http.StatusNoContent) // the page's script: not yet, and no error either
			return nil
		}
		p := problem.New(problem.Checking, "")
		return s.refuse(w, r, p, s.refusalOf(allocator.Result{Outcome: allocator.Checking}, p, a.request, a.key, org))
	}
	if err != nil {
		return err
	}
	if found {
		return seeOther(w, r, "/holds/"+hold.ID.String())
	}
	s.notify(ctx, "order.not_made")
	v := formValues(a.request, org.slug)
	v.Set("step", "review")
	v.Set("key", a.key)
	return seeOther(w, r, "/order?"+v.Encode())
}

func (s *server) holdOfKey(ctx context.Context, org uuid.UUID, key string) (h holds.Hold, found bool, err error) {
	err = pg.Engine(ctx, s.DB, pg.By{}, func(tx pgx.Tx) error {
		if err := holds.LockOrg(ctx, tx, org); err != nil {
			return err
		}
		h, found, err = holds.FindByKey(ctx, tx, org, key)
		return err
	})
	return h, found, err
}

// alternatives are groups that fit a request whose hold has ended.
func (s *server) alternatives(ctx context.Context, req allocator.Request, machine fleet.Machine, org uuid.UUID, c choices) ([]views.Offer, error) {
	if req.Machine != "" {
		req = requestFor(machine.Spec)
		req.MaxPriceMonthMinor = nil
		req.CPU, req.Vendors, req.Features, req.Sites = "", nil, nil, nil
	}
	req.Machine = ""
	list, err := s.Allocator.Offers(ctx, allocator.OfferQuery{Org: org, Request: req})
	if err != nil {
		return nil, err
	}
	var out []views.Offer
	for _, o := range list.Items {
		if o.Free > 0 && o.Class.ID != machine.ClassID && len(out) < shownBest {
			shown := offerOf(o, c)
			shown.OrderURL = orderURL(requestFor(o.Class.Spec), "", "review")
			out = append(out, shown)
		}
	}
	return out, nil
}
