package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// maxReason bounds the words that are kept with a step.
const maxReason = 500

func (a *API) holdDocument(ctx context.Context, h *holds.Hold) (hold, error) {
	m, err := a.machine(ctx, h.AssetTag)
	if err != nil {
		return hold{}, err
	}
	return holdOf(h, m, staff(ctx)), nil
}

func (a *API) serviceDocument(ctx context.Context, v *holds.Service) (service, error) {
	m, err := a.machine(ctx, v.AssetTag)
	if err != nil {
		return service{}, err
	}
	doc := serviceOf(v, m, staff(ctx))
	return doc, a.provisionings(ctx, &doc)
}

// machine reads the machine of a hold or service; one that was deleted since is shown by its tag.
func (a *API) machine(ctx context.Context, tag string) (fleet.Machine, error) {
	byTag, err := a.Fleet.MachinesByTag(ctx, []string{tag})
	return byTag[tag], err
}

func (a *API) listHolds(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	q := query(r)
	state := q.oneOf("state", string(holds.Held), string(holds.Converted), string(holds.Expired), string(holds.Cancelled))
	limit, after := q.limit(), q.idCursor(cursorHolds)
	if err := q.done(); err != nil {
		return err
	}
	s, err := scope(ctx)
	if err != nil {
		return err
	}
	rows, err := a.Holds.List(ctx, holds.Filter{Scope: s, State: holds.State(state), After: after, Limit: limit + 1})
	if err != nil {
		return err
	}
	rows, next := page(rows, limit, cursorHolds, func(h holds.Hold) string { return h.ID.String() })
	tags := make([]string, len(rows))
	for i := range rows {
		tags[i] = rows[i].AssetTag
	}
	machines, err := a.Fleet.MachinesByTag(ctx, tags)
	if err != nil {
		return err
	}
	out := list[hold]{Items: make([]hold, len(rows)), NextCursor: next}
	for i := range rows {
		out.Items[i] = holdOf(&rows[i], machines[rows[i].AssetTag], staff(ctx))
	}
	return write(w, http.StatusOK, out)
}

func (a *API) getHold(w http.ResponseWriter, r *http.Request) error {
	id, s, err := target(r)
	if err != nil {
		return err
	}
	if err := query(r).done(); err != nil {
		return err
	}
	h, err := a.Holds.Get(r.Context(), s, id)
	if err != nil {
		return err
	}
	doc, err := a.holdDocument(r.Context(), &h)
	if err != nil {
		return err
	}
	same := doc
	same.SecondsLeft = 0
	return writeTagged(w, r, doc, same)
}

func (a *API) writeHold(w http.ResponseWriter, r *http.Request, status int, h *holds.Hold) error {
	doc, err := a.holdDocument(r.Context(), h)
	if err != nil {
		return err
	}
	return write(w, status, doc)
}

func (a *API) extend(w http.ResponseWriter, r *http.Request) error {
	id, s, err := target(r)
	if err != nil {
		return err
	}
	key, faults, err := idempotencyKey(r, false)
	if err != nil {
		return err
	}
	more, err := readBody(r, true)
	if err != nil {
		return err
	}
	if faults = slices.Concat(faults, more, strayQuery(r)); len(faults) > 0 {
		return problem.Faulty(faults...)
	}
	h, err := a.Holds.Extend(r.Context(), request.By(r.Context()), s, id, key)
	if err != nil {
		return err
	}
	return a.writeHold(w, r, http.StatusOK, &h)
}

func (a *API) cancel(w http.ResponseWriter, r *http.Request) error {
	id, s, err := target(r)
	if err != nil {
		return err
	}
	var reason string
	if err := readExactly(r, true, proseField("reason", &reason)); err != nil {
		return err
	}
	h, err := a.Holds.Cancel(r.Context(), request.By(r.Context()), s, id, reason)
	if err != nil {
		return err
	}
	return a.writeHold(w, r, http.StatusOK, &h)
}

func (a *API) convert(w http.ResponseWriter, r *http.Request) error {
	id, s, err := target(r)
	if err != nil {
		return err
	}
	var os string
	var keys []string
	if err := readExactly(r, true, setupFields(&os, &keys)...); err != nil {
		return err
	}
	h, err := a.Holds.Get(r.Context(), s, id)
	if err != nil {
		return err
	}
	setup, err := a.setup(r.Context(), h.OrgID, os, keys)
	if err != nil {
		return err
	}
	v, created, err := a.Holds.ConvertWith(r.Context(), request.By(r.Context()), s, id, setup)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	doc, err := a.serviceDocument(r.Context(), &v)
	if err != nil {
		return err
	}
	w.Header().Set("Location", Prefix+"/services/"+v.ID.String())
	return write(w, status, doc)
}

func (a *API) substitute(w http.ResponseWriter, r *http.Request) error {
	id, s, err := target(r)
	if err != nil {
		return err
	}
	if err := readExactly(r, true); err != nil {
		return err
	}
	h, err := a.Holds.Substitute(r.Context(), request.By(r.Context()), s, id)
	if err != nil {
		return err
	}
	doc, err := a.holdDocument(r.Context(), &h)
	if err != nil {
		return err
	}
	w.Header().Set("Location", Prefix+"/holds/"+h.ID.String())
	return write(w, http.StatusCreated, doc)
}

func (a *API) listServices(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	q := query(r)
	limit, after := q.limit(), q.idCursor(cursorServices)
	if err := q.done(); err != nil {
		return err
	}
	s, err := scope(ctx)
	if err != nil {
		return err
	}
	rows, err := a.Holds.ListServices(ctx, holds.Filter{Scope: s, After: after, Limit: limit + 1})
	if err != nil {
		return err
	}
	rows, next := page(rows, limit, cursorServices, func(v holds.Service) string { return v.ID.String() })
	tags := make([]string, len(rows))
	for i := range rows {
		tags[i] = rows[i].AssetTag
	}
	machines, err := a.Fleet.MachinesByTag(ctx, tags)
	if err != nil {
		return err
	}
	out := list[service]{Items: make([]service, len(rows)), NextCursor: next}
	for i := range rows {
		out.Items[i] = serviceOf(&rows[i], machines[rows[i].AssetTag], staff(ctx))
	}
	docs := make([]*service, len(rows))
	for i := range out.Items {
		docs[i] = &out.Items[i]
	}
	if err := a.provisionings(ctx, docs...); err != nil {
		return err
	}
	return write(w, http.StatusOK, out)
}

func (a *API) getService(w http.ResponseWriter, r *http.Request) error {
	id, s, err := target(r)
	if err != nil {
		return err
	}
	if err := query(r).done(); err != nil {
		return err
	}
	v, err := a.Holds.GetService(r.Context(), s, id)
	if err != nil {
		return err
	}
	doc, err := a.serviceDocument(r.Context(), &v)
	if err != nil {
		return err
	}
	return writeTagged(w, r, doc, doc)
}

func (a *API) writeService(w http.ResponseWriter, r *http.Request, v *holds.Service) error {
	doc, err := a.serviceDocument(r.Context(), v)
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, doc)
}

func (a *API) endService(w http.ResponseWriter, r *http.Request) error {
	id, s, err := target(r)
	if err != nil {
		return err
	}
	var reason string
	var at *time.Time
	if err := readExactly(r, true, proseField("reason", &reason), momentField("at", &at)); err != nil {
		return err
	}
	ctx, by := r.Context(), request.By(r.Context())
	var v holds.Service
	if at != nil {
		v, err = a.Holds.PlanEnd(ctx, by, s, id, *at, reason)
	} else {
		v, err = a.Holds.EndService(ctx, by, s, id, reason)
	}
	if err != nil {
		return err
	}
	return a.writeService(w, r, &v)
}

// keepService withdraws a planned end.
func (a *API) keepService(w http.ResponseWriter, r *http.Request) error {
	id, s, err := target(r)
	if err != nil {
		return err
	}
	if err := readExactly(r, true); err != nil {
		return err
	}
	v, err := a.Holds.KeepService(r.Context(), request.By(r.Context()), s, id)
	if err != nil {
		return err
	}
	return a.writeService(w, r, &v)
}
