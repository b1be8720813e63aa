package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// waitingShown bounds the page; fewer may wait at once.
const waitingShown = 100

// waits counts for the navigation. It is comfort: without an answer nothing is shown.
func (s *server) waits(ctx context.Context, actor accounts.Actor) views.Waits {
	if actor.OrgID == uuid.Nil || !mayOrder(actor) {
		return views.Waits{}
	}
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	open, told, err := s.Allocator.WaitingCount(ctx, actor.OrgID)
	if err != nil {
		return views.Waits{}
	}
	return views.Waits{Open: open, Told: told}
}

// waitsOf is the organisation whose waiting list the person may see: their own. Staff have none.
func waitsOf(actor accounts.Actor) (uuid.UUID, error) {
	if actor.OrgID == uuid.Nil {
		return uuid.Nil, forbidden()
	}
	return actor.OrgID, nil
}

// waiting is the organisation's waiting list.
func (s *server) waiting(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	org, err := waitsOf(actor)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	list, err := s.Allocator.WaitingList(ctx, org, waitingShown)
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, actor)
	if err != nil {
		return err
	}
	var m views.WaitingPage
	for _, e := range list {
		req := requestOf(e.Request)
		row := views.WaitingRow{
			ID: e.ID.String(), Ask: askOf(req), Since: e.CreatedAt, By: who.of(ctx, e.Actor),
			Again: hiddenFields(formValues(req, "")), OrderBy: orderURL(req, "", "review"),
		}
		switch {
		case e.State == "waiting":
			m.Waiting = append(m.Waiting, row)
		case e.State == "told" && e.AssetTag != nil && e.ToldAt != nil:
			row.Tag, row.ToldAt, row.Free = *e.AssetTag, *e.ToldAt, e.Free
			row.OrderThis = orderURL(allocator.Request{Machine: row.Tag}, "", "review")
			if e.HoldID != nil {
				row.HoldID = e.HoldID.String()
			}
			m.Told = append(m.Told, row)
		}
	}
	slices.SortStableFunc(m.Told, func(a, b views.WaitingRow) int { return rank(b) - rank(a) })
	return s.renderLive(w, r, "list", m, views.Waiting(m))
}

// rank puts what can be had before what is on hold already, and that before what is gone.
func rank(w views.WaitingRow) int {
	switch {
	case w.Free:
		return 2
	case w.HoldID != "":
		return 1
	}
	return 0
}

// wait puts a request on the list. Asking twice for the same is one entry.
func (s *server) wait(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	org, err := waitsOf(actor)
	if err != nil {
		return err
	}
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	a := readAsk(ctx, s.knownChoices(ctx), f, "attempt")
	self, err := s.orderer(ctx, &a, actor, true)
	if err != nil {
		return err
	}
	req, faults, err := s.sound(ctx, a)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return s.orderPage(ctx, w, r, http.StatusUnprocessableEntity, a, req, faults, self, false)
	}
	_, more, err := s.Allocator.Wait(ctx, request.By(ctx), org, req, s.ownAttempt(ctx, org, f.Get("attempt")))
	if _, full := errors.AsType[*allocator.WaitingFull](err); full {
		p := problem.From(err)
		return s.refuse(w, r, p, views.Refusal{Name: string(p.Name), Ask: new(askOf(req)), ChangeURL: orderURL(req, "", "")})
	}
	if err != nil {
		return err
	}
	if len(more) > 0 {
		return s.orderPage(ctx, w, r, http.StatusUnprocessableEntity, a, req, s.tell(ctx, more, nil), self, false)
	}
	s.notify(ctx, "waiting.notice_added")
	return seeOther(w, r, "/waiting")
}

// ownAttempt is the attempt that was refused, for those who look at the entry later. One of another
// organisation is none; one that is not written yet is taken.
func (s *server) ownAttempt(ctx context.Context, org uuid.UUID, text string) *uuid.UUID {
	id, err := uuid.Parse(text)
	if err != nil {
		return nil
	}
	if a, err := s.Allocator.Attempt(ctx, id); err == nil && a.OrgID != org {
		return nil
	}
	return &id
}

// stopWaiting takes an entry off the list.
func (s *server) stopWaiting(w http.ResponseWriter, r *http.Request) error {
	id, _, err := object(r)
	if err != nil {
		return err
	}
	org, err := waitsOf(request.Actor(r.Context()))
	if err != nil {
		return err
	}
	if err := s.Allocator.StopWaiting(r.Context(), request.By(r.Context()), org, id); err != nil {
		return err
	}
	s.notify(r.Context(), "waiting.notice_stopped")
	return seeOther(w, r, "/waiting")
}

// backToWaiting serves those who reload the answer of a step.
func (s *server) backToWaiting(w http.ResponseWriter, r *http.Request) error {
	return seeOther(w, r, "/waiting")
}
