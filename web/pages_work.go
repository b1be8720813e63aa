package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/provision"
	"ironhold/provision/driver"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// workBoard lists the installations and wipes that are not finished.
func (s *server) workBoard(w http.ResponseWriter, r *http.Request) error {
	m, err := s.workModel(r)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, views.Work(m))
}

func (s *server) workModel(r *http.Request) (m views.WorkPage, err error) {
	ctx := r.Context()
	list, err := s.Provision.Board(ctx)
	if err != nil {
		return m, err
	}
	if m.AsOf, err = s.Allocator.Now(ctx); err != nil {
		return m, err
	}
	m.CanDo = accounts.Can(request.Actor(ctx).Role, accounts.FleetWrite)
	for _, p := range list {
		age := time.Duration(p.Age * float64(time.Second)).Round(time.Second)
		row := views.WorkRow{
			Service: p.Service.String(), Kind: string(p.Kind), Tag: p.AssetTag, Place: strings.Join(nonEmpty(p.Site, p.Room, p.Rack), ", "), Org: p.Org,
			State: string(p.State), Driver: p.Driver, Step: p.Step, Percent: p.Percent, OS: p.OS, Keys: p.Keys, Since: p.CreatedAt, Age: age,
			Late: age > s.ProvisionAlarm, ByHand: p.ByHand(), Aside: p.AsideAt != nil, Detail: p.Detail, Trouble: p.Error,
		}
		if row.Late {
			m.Late++
		}
		m.Items = append(m.Items, row)
	}
	return m, nil
}

func nonEmpty(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// doWork takes a step of a person: it is done, it cannot be done, or it is taken over from a driver.
func (s *server) doWork(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	id, err := uuid.Parse(request.PathValue(r, "id"))
	kind := driver.Kind(f.Get("kind"))
	if err != nil || (kind != driver.Install && kind != driver.Wipe) {
		return problem.NoSuch()
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	by, notice := request.By(ctx), "work."+string(kind)+".recorded"
	switch f.Get("do") {
	case "done":
		err = s.Provision.HandDone(ctx, by, id, kind)
	case "failed":
		notice = "work.given_up"
		err = s.Provision.HandFailed(ctx, by, s.Holds, id, kind, f.Get("reason"))
	case "take":
		notice = "work.taken"
		err = s.Provision.TakeOver(ctx, by, id, kind)
	default:
		return problem.NoSuch()
	}
	if invalid, ok := errors.AsType[*provision.Invalid](err); ok {
		return s.workAgain(w, r, id, kind, f.Get("reason"), invalid)
	}
	if refused, ok := errors.AsType[*provision.Refused](err); ok {
		if refused.Kind == provision.NotFound {
			return problem.NoSuch()
		}
		// Somebody or a driver was quicker: the board says how it stands.
		s.notify(ctx, "work.changed")
		return seeOther(w, r, "/fleet/work")
	}
	if err != nil {
		return err
	}
	s.notify(ctx, notice)
	return seeOther(w, r, "/fleet/work")
}

// workAgain shows the board with what was typed and what is wrong with it.
func (s *server) workAgain(w http.ResponseWriter, r *http.Request, id uuid.UUID, kind driver.Kind, reason string, invalid *provision.Invalid) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	m, err := s.workModel(r)
	if err != nil {
		return err
	}
	wrong := i18n.T(ctx, "form.fault.required")
	if invalid.Code == "too_long" {
		wrong = i18n.T(ctx, "form.fault.too_long", "n", provision.MaxReason)
	}
	for i := range m.Items {
		if x := &m.Items[i]; x.Service == id.String() && x.Kind == string(kind) {
			x.Wrong, x.Reason = wrong, reason
		}
	}
	m.Faults = []views.Fault{{Field: "reason-" + string(kind) + "-" + id.String(), Label: i18n.T(ctx, "common.reason"), Message: wrong}}
	return s.renderAt(w, r, http.StatusUnprocessableEntity, "/fleet/work", views.Work(m))
}

// workOf is what a service's page says of its machine.
func workOf(list []provision.Progress) []views.WorkDone {
	out := make([]views.WorkDone, 0, len(list))
	for _, p := range list {
		out = append(out, views.WorkDone{Kind: string(p.Kind), State: string(p.State), Step: p.Step, Percent: p.Percent, FinishedAt: p.FinishedAt})
	}
	return out
}
