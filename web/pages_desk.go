package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// outcomes are those that the log of attempts can have, for the tabs.
var outcomes = []allocator.Outcome{
	allocator.Held, allocator.SomeoneFaster, allocator.NoneLeft, allocator.AllHeld, allocator.LimitReached,
	allocator.AlreadyYours, allocator.CoolDown, allocator.NotRolledOut, allocator.Suspended, allocator.TryAgain, allocator.Busy,
}

// desk lists the attempts.
func (s *server) desk(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	outcome := allocator.Outcome(r.URL.Query().Get("outcome"))
	if !slices.Contains(outcomes, outcome) {
		outcome = ""
	}
	after := listPage(r)
	list, err := s.Allocator.Attempts(ctx, allocator.AttemptFilter{Outcome: outcome, Before: after, Limit: listRows + 1})
	if err != nil {
		return err
	}
	m := views.DeskPage{Outcome: string(outcome)}
	for _, o := range outcomes {
		m.Outcomes = append(m.Outcomes, string(o))
	}
	for i := range list[:min(len(list), listRows)] {
		m.Items = append(m.Items, attemptRow(&list[i]))
	}
	last := uuid.Nil
	if len(list) > listRows {
		last = list[listRows-1].ID
	}
	m.First, m.Next = pageLinks("/desk", "outcome", string(outcome), after != uuid.Nil, last)
	return s.render(w, r, http.StatusOK, views.Desk(m))
}

func attemptRow(a *allocator.Attempt) views.AttemptRow {
	row := views.AttemptRow{
		ID: a.ID.String(), Org: a.OrgSlug, Actor: a.Actor, Outcome: string(a.Outcome), At: a.At, Ask: askOf(requestOf(a.Request)),
		Considered: a.Considered, Eligible: a.Eligible, Skipped: a.Skipped, Lost: a.Lost, Changed: a.Changed,
		Took: time.Duration(a.TookUS) * time.Microsecond,
	}
	if a.HoldID != nil {
		row.HoldID = a.HoldID.String()
	}
	return row
}

// showAttempt is the record of one order request: both passes, and who was faster.
func (s *server) showAttempt(w http.ResponseWriter, r *http.Request) error {
	id, err := uuid.Parse(request.PathValue(r, "id"))
	if err != nil {
		return problem.NoSuch()
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	a, err := s.Allocator.Attempt(ctx, id)
	if err != nil {
		return err
	}
	who, err := s.namesFor(ctx, request.Actor(ctx))
	if err != nil {
		return err
	}
	m := views.AttemptPage{
		AttemptRow: attemptRow(&a), Key: a.Key, RequestID: a.RequestID, Reasons: reasonsOf(a.Reasons),
		NearMisses: nearMissesOf(a.NearMisses, requestOf(a.Request), "", false),
	}
	m.Actor = who.of(ctx, a.Actor)
	for _, st := range a.Walk {
		m.Walk = append(m.Walk, views.Step{Tag: st.AssetTag, Result: st.Result, Why: st.Why, At: st.At})
	}
	for _, f := range a.Faster {
		m.Faster = append(m.Faster, views.Faster{Tag: f.AssetTag, Org: f.OrgSlug, HoldID: f.HoldID.String(), At: f.At, ByMS: f.ByMS})
	}
	return s.render(w, r, http.StatusOK, views.Attempt(m))
}
