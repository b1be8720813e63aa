package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"ironhold/migrations/pg"
	"ironhold/notify"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

func (s *server) webhooks(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Webhooks.Endpoints(r.Context(), request.Actor(r.Context()).OrgID)
	if err != nil {
		return err
	}
	m := views.WebhooksPage{Full: len(list) >= notify.MaxEndpoints}
	for _, e := range list {
		m.Items = append(m.Items, webhookRow(e))
	}
	return s.render(w, r, http.StatusOK, views.Webhooks(m))
}

func webhookRow(e notify.Endpoint) views.WebhookRow {
	return views.WebhookRow{
		ID: e.ID.String(), URL: e.URL, Description: e.Description, Holds: e.Holds, Services: e.Services, Disabled: e.DisabledWhy,
		Open: e.Open, Failed: e.Failed, LastAt: e.LastAt, LastOK: e.LastOK != nil && *e.LastOK,
	}
}

func (s *server) webhookForm(w http.ResponseWriter, r *http.Request) error {
	return s.render(w, r, http.StatusOK, views.WebhookForm(views.WebhookFormPage{Holds: true, Services: true}))
}

// addWebhook shows the secret on the answer itself: nobody can show it a second time.
func (s *server) addWebhook(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	in := notify.NewEndpoint{URL: f.Get("url"), Description: f.Get("description"), Holds: f.Get("holds") != "", Services: f.Get("services") != ""}
	ctx := i18n.With(r.Context(), s.locale(r))
	again := func(status int, faults ...views.Fault) error {
		m := views.WebhookFormPage{URL: in.URL, Description: in.Description, Holds: in.Holds, Services: in.Services, Faults: faults}
		return s.renderAt(w, r, status, "/org/webhooks/new", views.WebhookForm(m))
	}
	faults, p, err := s.confirmOwn(ctx, f)
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		problem.Headers(w, p)
		return again(p.Status, faults...)
	}
	_, secret, err := s.Webhooks.Add(ctx, request.By(ctx), request.Actor(ctx).OrgID, in)
	if invalid, ok := errors.AsType[*notify.Invalid](err); ok {
		var faults []views.Fault
		for _, f := range invalid.Faults {
			key := "webhook.fault." + f.Field
			if i18n.Has(ctx, key+"."+f.Why) {
				key += "." + f.Why
			}
			faults = append(faults, views.Fault{Field: f.Field, Message: i18n.T(ctx, key)})
		}
		return again(http.StatusUnprocessableEntity, faults...)
	}
	if _, ok := errors.AsType[*notify.TooMany](err); ok {
		return again(http.StatusConflict, views.Fault{Field: "url", Message: i18n.T(ctx, "webhook.fault.too_many")})
	}
	if err != nil {
		return err
	}
	return s.renderAt(w, r, http.StatusCreated, "/org/webhooks", views.Link(views.LinkPage{
		Kind: "webhook", For: hostOf(in.URL), Secret: secret.Text(), Back: "/org/webhooks",
	}))
}

// hostOf is the part of an address that is no secret.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

func (s *server) webhook(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	m, err := s.webhookModel(r, id)
	if err != nil {
		return err
	}
	return s.renderLive(w, r, "list", m, views.Webhook(m))
}

func (s *server) webhookModel(r *http.Request, id uuid.UUID) (m views.WebhookPage, err error) {
	ctx := i18n.With(r.Context(), s.locale(r))
	actor := request.Actor(ctx)
	e, err := s.Webhooks.Endpoint(ctx, actor.OrgID, id)
	if err != nil {
		return m, err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return m, err
	}
	m = views.WebhookPage{
		WebhookRow: webhookRow(e), CreatedAt: e.CreatedAt, By: who.of(ctx, e.CreatedBy), RotatedAt: e.RotatedAt,
		OldUntil: e.OldSecretUntil, DisabledAt: e.DisabledAt,
	}
	after := uuid.Nil
	if r.Method == http.MethodGet {
		after = listPage(r)
	}
	list, err := s.Webhooks.Deliveries(ctx, actor.OrgID, id, after, listRows+1)
	if err != nil {
		return m, err
	}
	for _, d := range list[:min(len(list), listRows)] {
		m.Deliveries = append(m.Deliveries, deliveryRow(ctx, d))
	}
	last := uuid.Nil
	if len(list) > listRows {
		last = list[listRows-1].ID
	}
	m.First, m.Next = pageLinks("/org/webhooks/"+id.String(), "", "", after != uuid.Nil, last)
	return m, nil
}

func deliveryRow(ctx context.Context, d notify.Delivery) views.DeliveryRow {
	row := views.DeliveryRow{
		ID: d.ID.String(), Event: d.Kind + "." + d.Event, State: string(d.State), Attempts: d.Attempts, CreatedAt: d.CreatedAt,
		AttemptedAt: d.AttemptedAt, NextAt: d.NextAt, Reason: string(d.Reason),
	}
	if !i18n.Has(ctx, "webhook.event."+row.Event) {
		row.Event = d.Kind
	}
	if d.Status != nil {
		row.Status = *d.Status
	}
	return row
}

func (s *server) backToWebhook(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	return seeOther(w, r, "/org/webhooks/"+id.String())
}

// webhookChange is one change of an organisation's receiver.
type webhookChange func(ctx context.Context, by pg.By, org, id uuid.UUID) error

// changeWebhook runs one change of the receiver in the address and goes on to the page after it.
func (s *server) changeWebhook(notice string, away bool, change webhookChange) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := pathID(r)
		if err != nil {
			return err
		}
		ctx := r.Context()
		if err := change(ctx, request.By(ctx), request.Actor(ctx).OrgID, id); err != nil {
			return err
		}
		s.notify(ctx, notice)
		if away {
			return seeOther(w, r, "/org/webhooks")
		}
		return seeOther(w, r, "/org/webhooks/"+id.String())
	}
}

// rotateWebhook shows the new secret, as addWebhook does.
func (s *server) rotateWebhook(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	m, err := s.webhookModel(r, id) // another's is missing, whatever the password
	if err != nil {
		return err
	}
	back := "/org/webhooks/" + id.String()
	faults, p, err := s.confirmOwn(ctx, f)
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		problem.Headers(w, p)
		m.Faults = faults
		return s.renderAt(w, r, p.Status, back, views.Webhook(m))
	}
	secret, _, err := s.Webhooks.Rotate(ctx, request.By(ctx), request.Actor(ctx).OrgID, id)
	if err != nil {
		return err
	}
	return s.renderAt(w, r, http.StatusCreated, back, views.Link(views.LinkPage{
		Kind: "webhook", For: hostOf(m.URL), Secret: secret.Text(), Back: back,
	}))
}

// deliveryID reads the delivery of the address.
func deliveryID(r *http.Request) (id, delivery uuid.UUID, err error) {
	if id, err = pathID(r); err != nil {
		return id, delivery, err
	}
	delivery, err = pathUUID(r, "delivery")
	return id, delivery, err
}

func (s *server) webhookDelivery(w http.ResponseWriter, r *http.Request) error {
	id, delivery, err := deliveryID(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	org := request.Actor(ctx).OrgID
	e, err := s.Webhooks.Endpoint(ctx, org, id)
	if err != nil {
		return err
	}
	d, err := s.Webhooks.Delivery(ctx, org, id, delivery)
	if err != nil {
		return err
	}
	m := views.DeliveryPage{
		DeliveryRow: deliveryRow(ctx, d), WebhookID: id.String(), URL: e.URL, MessageID: d.MessageID.String(), Body: string(d.Body),
		Answer: d.Answer, Off: e.DisabledAt != nil,
	}
	if d.TookMS != nil {
		m.TookMS = *d.TookMS
	}
	return s.renderLive(w, r, "page", m, views.WebhookDelivery(m))
}

func (s *server) backToDelivery(w http.ResponseWriter, r *http.Request) error {
	id, delivery, err := deliveryID(r)
	if err != nil {
		return err
	}
	return seeOther(w, r, "/org/webhooks/"+id.String()+"/deliveries/"+delivery.String())
}

func (s *server) retryDelivery(w http.ResponseWriter, r *http.Request) error {
	id, delivery, err := deliveryID(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := s.Webhooks.Retry(ctx, request.By(ctx), request.Actor(ctx).OrgID, id, delivery); err != nil {
		return err
	}
	s.notify(ctx, "webhook.saved_retry")
	return seeOther(w, r, "/org/webhooks/"+id.String()+"/deliveries/"+delivery.String())
}
