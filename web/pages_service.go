package web

import (
	"context"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/desk"
	"ironhold/holds"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/request"
)

// freshFor is how long a service's page greets as the confirmation of the order.
const freshFor = 10 * time.Minute

func (s *server) listServices(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	scope, err := scopeOf(actor)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	after, rows := listPage(r), listSizes.of(r)
	list, err := s.Holds.ListServices(ctx, holds.Filter{Scope: scope, After: after, Limit: rows + 1})
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	m := views.ServicesPage{Staff: actor.Role.Staff(), CanOrder: mayOrder(actor)}
	for _, v := range list[:min(len(list), rows)] {
		m.Items = append(m.Items, views.ServiceRow{
			ID: v.ID.String(), Tag: v.AssetTag, Org: v.OrgSlug, Price: views.Money{Minor: v.PriceMonthMinor, Currency: v.Currency},
			StartedAt: v.StartedAt, EndedAt: v.EndedAt, By: who.of(ctx, v.CreatedBy),
		})
	}
	last := uuid.Nil
	if len(list) > rows {
		last = list[rows-1].ID
	}
	first, next := pageLinks("/services", "", "", after != uuid.Nil, last)
	m.Pager = listSizes.pager(r, first, next, len(m.Items))
	return s.renderLive(w, r, "list", m.Items, views.Services(m))
}

func (s *server) showService(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	m, err := s.serviceModel(ctx, r)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.Service(m))
}

func (s *server) serviceModel(ctx context.Context, r *http.Request) (m views.ServicePage, err error) {
	actor := request.Actor(ctx)
	id, scope, err := object(r)
	if err != nil {
		return m, err
	}
	v, err := s.Holds.GetService(ctx, scope, id)
	if err != nil {
		return m, err
	}
	machine, err := s.Fleet.Machine(ctx, v.AssetTag)
	if err != nil {
		return m, err
	}
	c, err := s.readChoices(ctx)
	if err != nil {
		return m, err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return m, err
	}
	events, err := s.Holds.ServiceEvents(ctx, scope, id)
	if err != nil {
		return m, err
	}
	m = views.ServicePage{
		ID: v.ID.String(), HoldID: v.HoldID.String(), Server: serverOf(machine.Spec, v.AssetTag, c),
		Price: views.Money{Minor: v.PriceMonthMinor, Currency: v.Currency}, Setup: views.Money{Minor: v.SetupMinor, Currency: v.Currency},
		Terms: v.Terms, StartedAt: v.StartedAt, EndedAt: v.EndedAt, CreatedBy: who.of(ctx, v.CreatedBy), EndReason: v.EndReason,
		CanEnd: accounts.Can(actor.Role, accounts.EndService), Events: eventsOf(ctx, events, who),
		Fresh: time.Since(v.StartedAt) < freshFor,
	}
	if hours := m.Server.DeliveryHours; hours > 0 && v.EndedAt == nil {
		// Told while it can still be looked forward to; later it would be a reproach without an answer.
		if by := v.StartedAt.Add(time.Duration(hours) * time.Hour); time.Until(by) > 0 {
			m.ReadyBy = &by
		}
	}
	if v.EndedBy != nil {
		m.EndedBy = who.of(ctx, *v.EndedBy)
	}
	if actor.Role.Staff() {
		m.Org = v.OrgSlug
	}
	work, err := s.Provision.Of(ctx, scope.OrgID, v.ID)
	if err != nil {
		return m, err
	}
	m.Work = workOf(work)
	m.Notes, err = s.notesOf(ctx, desk.OfService, v.ID)
	return m, err
}

// endServiceForm says what ending means; a service that has ended shows itself.
func (s *server) endServiceForm(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	m, err := s.serviceModel(ctx, r)
	if err != nil {
		return err
	}
	if m.EndedAt != nil {
		return seeOther(w, r, "/services/"+m.ID)
	}
	return s.render(w, r, http.StatusOK, views.EndService(m))
}

func (s *server) endService(w http.ResponseWriter, r *http.Request) error {
	id, scope, err := object(r)
	if err != nil {
		return err
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	reason := f.Get("reason")
	if utf8.RuneCountInString(reason) > maxReason {
		m, err := s.serviceModel(ctx, r)
		if err != nil {
			return err
		}
		m.Reason = reason
		m.Faults = []views.Fault{{Field: "reason", Label: i18n.T(ctx, "end.reason"), Message: i18n.T(ctx, "form.fault.too_long", "n", maxReason)}}
		return s.render(w, r, http.StatusUnprocessableEntity, views.EndService(m))
	}
	_, err = s.Holds.EndService(ctx, request.By(ctx), scope, id, clip(reason))
	if refused, ok := errors.AsType[*holds.Refused](err); ok && refused.Kind == holds.Checking {
		return seeOther(w, r, "/services/"+id.String()) // the page shows whether it has ended
	}
	if err != nil {
		return err
	}
	s.notify(ctx, "service.notice_ended")
	return seeOther(w, r, "/services/"+id.String())
}
