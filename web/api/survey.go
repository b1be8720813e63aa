package api

import (
	"net/http"
	"time"

	"ironhold/allocator"
	"ironhold/web/problem"
)

// survey is the first pass without an order.
type survey struct {
	Considered int                    `json:"considered"`
	Eligible   int                    `json:"eligible"`
	Excluded   int                    `json:"excluded"`
	Reasons    []allocator.Count      `json:"reasons"`
	NearMisses []allocator.NearMiss   `json:"near_misses"`
	AsOf       time.Time              `json:"as_of"`
	Machines   *list[surveyedMachine] `json:"machines,omitzero"` // staff
}

// surveyedMachine is one machine with all that excludes it.
type surveyedMachine = allocator.Surveyed

func (a *API) survey(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	q := query(r)
	limit, after := defaultLimit, ""
	if staff(ctx) {
		limit, after = q.limit(), q.cursor(cursorSurvey)
	}
	req, org, faults, err := a.readOrder(r, false)
	if err != nil {
		return err
	}
	for _, f := range faults {
		q.fault(f.Field, f.Message)
	}
	if err := q.done(); err != nil {
		return err
	}
	s, faults, err := a.Allocator.Survey(ctx, org, req)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return problem.Faulty(faults...)
	}
	out := survey{
		Considered: s.Considered, Eligible: s.Eligible, Excluded: s.Excluded, Reasons: filled(s.Reasons),
		NearMisses: filled(s.NearMisses), AsOf: s.AsOf.UTC(),
	}
	if staff(ctx) {
		rows, err := a.Allocator.SurveyMachines(ctx, org, req, after, limit+1)
		if err != nil {
			return err
		}
		rows, next := page(rows, limit, cursorSurvey, func(m surveyedMachine) string { return m.AssetTag })
		out.Machines = &list[surveyedMachine]{Items: filled(rows), NextCursor: next}
	}
	return write(w, http.StatusOK, out)
}

// filled makes a nil slice an empty one, so that it is written as [].
func filled[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
