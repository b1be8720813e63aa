package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/web/problem"
)

// attempt is the record of one order request, for staff: what was asked, what each pass found.
type attempt struct {
	ID             uuid.UUID            `json:"id"`
	At             time.Time            `json:"at"`
	Org            string               `json:"org"`
	Actor          string               `json:"actor"`
	RequestID      string               `json:"request_id"`
	IdempotencyKey string               `json:"idempotency_key"`
	Outcome        allocator.Outcome    `json:"outcome"`
	Request        json.RawMessage      `json:"request"`
	Considered     int                  `json:"considered"`
	Eligible       int                  `json:"eligible"`
	Excluded       int                  `json:"excluded"`
	Reasons        []allocator.Count    `json:"reasons"`
	NearMisses     []allocator.NearMiss `json:"near_misses"`
	Walk           []step               `json:"walk"`
	Skipped        int                  `json:"skipped"`
	Lost           int                  `json:"lost"`
	Changed        int                  `json:"changed"`
	Faster         []faster             `json:"faster"`
	TookUS         int64                `json:"took_us"`
	Hold           *uuid.UUID           `json:"hold"`
}

type step struct {
	AssetTag string    `json:"asset_tag"`
	Result   string    `json:"result"` // won, skipped, changed, lost
	Why      string    `json:"why,omitempty"`
	At       time.Time `json:"at"`
}

// faster is a hold that was there before this order could make its own.
type faster struct {
	AssetTag string    `json:"asset_tag"`
	Hold     uuid.UUID `json:"hold"`
	Org      string    `json:"org"`
	At       time.Time `json:"at"`
	ByMS     int64     `json:"by_ms"`
}

func attemptOf(t *allocator.Attempt) attempt {
	out := attempt{
		ID: t.ID, At: t.At.UTC(), Org: t.OrgSlug, Actor: t.Actor, RequestID: t.RequestID, IdempotencyKey: t.Key,
		Outcome: t.Outcome, Request: t.Request, Considered: t.Considered, Eligible: t.Eligible,
		Excluded: t.Considered - t.Eligible, Reasons: filled(t.Reasons), NearMisses: filled(t.NearMisses), Walk: []step{},
		Skipped: t.Skipped, Lost: t.Lost, Changed: t.Changed, Faster: []faster{}, TookUS: t.TookUS, Hold: t.HoldID,
	}
	for _, s := range t.Walk {
		out.Walk = append(out.Walk, step{AssetTag: s.AssetTag, Result: s.Result, Why: s.Why, At: s.At.UTC()})
	}
	for _, f := range t.Faster {
		out.Faster = append(out.Faster, faster{AssetTag: f.AssetTag, Hold: f.HoldID, Org: f.OrgSlug, At: f.At.UTC(), ByMS: f.ByMS})
	}
	return out
}

// outcomes are those that are logged.
var outcomes = []string{
	string(allocator.Invalid), string(allocator.Replayed), string(allocator.KeyReused), string(allocator.NotRolledOut),
	string(allocator.Suspended), string(allocator.AlreadyYours), string(allocator.LimitReached), string(allocator.CoolDown),
	string(allocator.Held), string(allocator.SomeoneFaster), string(allocator.TryAgain), string(allocator.AllHeld),
	string(allocator.NoneLeft), string(allocator.Busy), string(allocator.Checking),
}

// outcomeWords are the outcomes and the names of their problems.
func outcomeWords() []string {
	words := slices.Clone(outcomes)
	for _, o := range outcomes {
		if s := strings.ReplaceAll(o, "_", "-"); s != o {
			words = append(words, s)
		}
	}
	return words
}

func (a *API) listAttempts(w http.ResponseWriter, r *http.Request) error {
	q := query(r)
	// The names of the problems are taken too.
	q.respell("outcome", func(s string) string { return strings.ReplaceAll(s, "-", "_") })
	f := allocator.AttemptFilter{
		Outcome: allocator.Outcome(q.oneOf("outcome", outcomes...)), From: q.time("from"), To: q.time("to"),
	}
	limit := q.limit()
	f.Before, f.Limit = q.idCursor(cursorAttempts), limit+1
	if !f.From.IsZero() && !f.To.IsZero() && f.To.Before(f.From) {
		q.fault("to", "lies before from")
	}
	if err := q.done(); err != nil {
		return err
	}
	rows, err := a.Allocator.Attempts(r.Context(), f)
	if err != nil {
		return err
	}
	rows, next := page(rows, limit, cursorAttempts, func(t allocator.Attempt) string { return t.ID.String() })
	out := list[attempt]{Items: make([]attempt, len(rows)), NextCursor: next}
	for i := range rows {
		out.Items[i] = attemptOf(&rows[i])
	}
	return write(w, http.StatusOK, out)
}

func (a *API) getAttempt(w http.ResponseWriter, r *http.Request) error {
	id, ok := parseID(r.PathValue("id"))
	if !ok {
		return problem.NoSuch()
	}
	if err := query(r).done(); err != nil {
		return err
	}
	t, err := a.Allocator.Attempt(r.Context(), id)
	if err != nil {
		return err
	}
	doc := attemptOf(&t)
	return writeTagged(w, r, doc, doc)
}
