package problem_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/web/problem"
)

// agreed are the names and statuses that outsiders rely on.
var agreed = map[string]int{
	"someone-was-faster": 409, "none-left": 409, "all-held": 409, "try-again-shortly": 503, "busy": 503, "checking": 503,
	"organisation-suspended": 403, "limit-reached": 409, "already-yours": 409, "cool-down": 429, "not-rolled-out": 403,
	"hold-expired": 410, "hold-cancelled": 409, "hold-converted": 409, "machine-withdrawn": 409, "extension-used": 409,
	"ceiling-reached": 409, "key-missing": 400, "key-reused": 422, "invalid": 422, "illegal-move": 409, "unauthenticated": 401,
	"not-found": 404, "forbidden": 403, "too-large": 413, "too-many-requests": 429, "internal": 500,
}

func TestClosedList(t *testing.T) {
	t.Parallel()
	seen := map[problem.Name]bool{}
	for _, k := range problem.All() {
		if seen[k.Name] || k.Status < 400 || k.Title == "" || len(k.Explanation) < 40 || k.Type() != "/problems/"+string(k.Name) {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
	}
	for name, status := range agreed {
		if k, ok := problem.Lookup(name); !ok || k.Status != status {
			t.Errorf("%s: %v %d, want %d", name, ok, k.Status, status)
		}
	}
	if _, ok := problem.Lookup("nothing"); ok {
		t.Error("a name out of nowhere was found")
	}
}

func document(t *testing.T, p *problem.Problem) (map[string]any, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	problem.Write(w, httptest.NewRequest("POST", "/api/v1/holds?x=1", nil), p, "rid")
	if w.Code != p.Status || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s: %d %v", p.Name, w.Code, w.Header())
	}
	var doc map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if doc["type"] != p.Type() || doc["request_id"] != "rid" || doc["instance"] != "/api/v1/holds" || doc["detail"] == "" || doc["detail"] == nil {
		t.Errorf("%s: %v", p.Name, doc)
	}
	return doc, w.Header()
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	id := uuid.New()
	attempt := uuid.New()
	survey := &allocator.Survey{Reasons: []allocator.Count{{Code: allocator.OverBudget, Count: 2}}}
	for _, c := range []struct {
		name    string
		result  allocator.Result
		members string
	}{
		{"none-left", allocator.Result{Outcome: allocator.NoneLeft, Survey: survey}, "retryable reasons near_misses attempt"},
		{"none-left", allocator.Result{Outcome: allocator.NoneLeft}, "retryable reasons near_misses attempt"},
		{"all-held", allocator.Result{Outcome: allocator.AllHeld, NextFreeAt: &now, Survey: survey}, "next_free_at near_misses attempt"},
		{"all-held", allocator.Result{Outcome: allocator.AllHeld}, "next_free_at near_misses attempt"},
		{"someone-was-faster", allocator.Result{Outcome: allocator.SomeoneFaster}, "retryable attempt"},
		{"try-again-shortly", allocator.Result{Outcome: allocator.TryAgain}, "attempt +"},
		{"busy", allocator.Result{Outcome: allocator.Busy, Detail: "secret"}, "attempt +"},
		{"checking", allocator.Result{Outcome: allocator.Checking, Detail: "secret"}, "attempt +"},
		{"organisation-suspended", allocator.Result{Outcome: allocator.Suspended, Detail: "secret"}, "attempt"},
		{"limit-reached", allocator.Result{Outcome: allocator.LimitReached, LimitName: "max_holds", Limit: 0}, "limit held active limit_name attempt"},
		{"limit-reached", allocator.Result{Outcome: allocator.LimitReached, LimitName: "max_machines", Limit: 3, Active: 3}, "limit held active"},
		{"already-yours", allocator.Result{Outcome: allocator.AlreadyYours, Hold: &holds.Hold{ID: id}}, "hold attempt"},
		{"already-yours", allocator.Result{Outcome: allocator.AlreadyYours, ServiceID: &id}, "service attempt"},
		{"cool-down", allocator.Result{Outcome: allocator.CoolDown, Until: &now}, "until attempt +"},
		{"not-rolled-out", allocator.Result{Outcome: allocator.NotRolledOut, Rollout: &allocator.RolloutRefusal{Reason: "org_off", WhoCanChange: "org-admin"}}, "reason who_can_change attempt"},
		{"key-reused", allocator.Result{Outcome: allocator.KeyReused, Hold: &holds.Hold{ID: id}}, "hold attempt"},
		{"invalid", allocator.Result{Outcome: allocator.Invalid, Faults: []allocator.Fault{{Field: "sites", Message: "x"}}}, "errors"},
	} {
		c.result.AttemptID = attempt
		p := problem.Of(c.result)
		if p == nil || string(p.Name) != c.name || p.Status != agreed[c.name] {
			t.Errorf("%s: %+v", c.name, p)
			continue
		}
		doc, header := document(t, p)
		for member := range strings.FieldsSeq(c.members) {
			if member == "+" {
				if header.Get("Retry-After") == "" || header.Get("Retry-After") == "0" {
					t.Errorf("%s: no Retry-After", c.name)
				}
				continue
			}
			if _, ok := doc[member]; !ok {
				t.Errorf("%s: no %s in %v", c.name, member, doc)
			}
		}
		if strings.Contains(fmt.Sprint(doc), "secret") {
			t.Errorf("%s tells what is for the log: %v", c.name, doc)
		}
		if at, ok := doc["next_free_at"].(string); ok && at != "2026-03-01T11:00:00Z" {
			t.Errorf("time: %s", at)
		}
	}
	for _, o := range []allocator.Outcome{allocator.Held, allocator.Replayed} {
		if problem.Of(allocator.Result{Outcome: o}) != nil {
			t.Errorf("%s is a problem", o)
		}
	}
	if p := problem.Of(allocator.Result{Outcome: "new"}); p.Name != problem.Internal {
		t.Errorf("an unknown outcome: %v", p)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	for _, c := range []struct {
		err  error
		name string
	}{
		{&holds.Refused{Kind: holds.HoldExpired, Hold: holds.Hold{State: holds.Held, Overdue: true}}, "hold-expired"},
		{&holds.Refused{Kind: holds.HoldCancelled}, "hold-cancelled"},
		{&holds.Refused{Kind: holds.HoldConverted, ServiceID: &id}, "hold-converted"},
		{&holds.Refused{Kind: holds.MachineWithdrawn, Substitute: true}, "machine-withdrawn"},
		{&holds.Refused{Kind: holds.NotWithdrawn}, "not-withdrawn"},
		{&holds.Refused{Kind: holds.NoSubstitute}, "no-substitute"},
		{&holds.Refused{Kind: holds.ExtensionUsed}, "extension-used"},
		{&holds.Refused{Kind: holds.CeilingReached}, "ceiling-reached"},
		{&holds.Refused{Kind: holds.NotFound}, "not-found"},
		{&holds.Refused{Kind: holds.Busy, Detail: "secret"}, "busy"},
		{&holds.Refused{Kind: holds.Checking, Detail: "secret"}, "checking"},
		{&holds.Refused{Kind: holds.Faster}, "someone-was-faster"},
		{&holds.Refused{Kind: "new", Detail: "secret"}, "internal"},
		{&fleet.NotFound{Tag: "secret"}, "not-found"},
		{&allocator.NotFound{ID: id}, "not-found"},
		{&accounts.NotFound{What: "organisation", ID: "secret"}, "not-found"},
		{&accounts.Unauthenticated{Message: "secret"}, "unauthenticated"},
		{&accounts.Invalid{Field: "launch", Message: "must be"}, "invalid"},
		{&fleet.Invalid{Field: "reason", Message: "is required"}, "invalid"},
		{&fleet.IllegalMove{From: fleet.Intake, To: fleet.Cleaning, Legal: []fleet.Status{fleet.Ready}}, "illegal-move"},
		{&http.MaxBytesError{Limit: 5}, "too-large"},
		{&fleet.FileError{Reason: "is empty"}, "invalid"},
		{&fleet.ImportBusy{Waited: time.Second}, "busy"},
		{&allocator.WaitingFull{Limit: 20}, "waiting-list-full"},
		{&pg.CommitUnknown{Cause: errors.New("secret")}, "checking"},
		{&pgconn.PgError{Code: "55P03", Message: "secret"}, "busy"},
		{&pgconn.PgError{Code: "23505", Message: "secret"}, "internal"},
		{errors.New("secret"), "internal"},
		{problem.New("made-up", "secret"), "internal"},
	} {
		p := problem.From(fmt.Errorf("outer: %w", c.err))
		if string(p.Name) != c.name {
			t.Errorf("%v: %s, want %s", c.err, p.Name, c.name)
		}
		if doc, _ := document(t, p); strings.Contains(fmt.Sprint(doc), "secret") && c.name != "internal" || strings.Contains(fmt.Sprint(doc), "outer") {
			t.Errorf("%s tells what is for the log: %v", c.name, doc)
		}
	}
	if p := problem.From(errors.New("secret")); p.Unwrap() == nil || strings.Contains(p.Detail, "secret") {
		t.Errorf("cause: %v", p)
	}
}
