package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"ironhold/migrations/pgtest/fixture"
)

// May is what each caller gets: "-" 401, "f" 403, "n" 404, "y" anything else. The objects in the
// addresses are acme's.
type may struct {
	stranger, customer, foreign, orgAdmin, sales, operator string
}

func (m may) of(c caller) string {
	return map[caller]string{
		stranger: m.stranger, customer: m.customer, foreign: m.foreign, orgAdmin: m.orgAdmin, sales: m.sales, operator: m.operator,
	}[c]
}

// access is the whole of the API as it was agreed, written down a second time.
var access = map[string]may{
	"GET /healthz":                       {"y", "y", "y", "y", "y", "y"},
	"GET /readyz":                        {"y", "y", "y", "y", "y", "y"},
	"GET /api/v1/openapi.json":           {"y", "y", "y", "y", "y", "y"},
	"GET /api/v1/offers":                 {"-", "y", "y", "y", "y", "y"},
	"POST /api/v1/surveys":               {"-", "y", "y", "y", "y", "y"},
	"POST /api/v1/holds":                 {"-", "y", "y", "y", "y", "f"},
	"GET /api/v1/holds":                  {"-", "y", "y", "y", "y", "y"},
	"GET /api/v1/holds/{id}":             {"-", "y", "n", "y", "y", "y"},
	"POST /api/v1/holds/{id}/extend":     {"-", "y", "n", "y", "y", "f"},
	"POST /api/v1/holds/{id}/cancel":     {"-", "y", "n", "y", "y", "y"},
	"POST /api/v1/holds/{id}/convert":    {"-", "y", "n", "y", "y", "f"},
	"POST /api/v1/holds/{id}/substitute": {"-", "y", "n", "y", "y", "f"},
	"GET /api/v1/services":               {"-", "y", "y", "y", "y", "y"},
	"GET /api/v1/services/{id}":          {"-", "y", "n", "y", "y", "y"},
	"POST /api/v1/services/{id}/end":     {"-", "y", "n", "y", "y", "y"},
	"POST /api/v1/services/{id}/keep":    {"-", "y", "n", "y", "y", "y"},
	"GET /api/v1/operating-systems":      {"-", "y", "y", "y", "y", "y"},
	"GET /api/v1/machines":               {"-", "f", "f", "f", "y", "y"},
	"GET /api/v1/machines/{tag}":         {"-", "f", "f", "f", "y", "y"},
	"POST /api/v1/machines/{tag}/status": {"-", "f", "f", "f", "f", "y"},
	"POST /api/v1/machines/{tag}/wiped":  {"-", "f", "f", "f", "f", "y"},
	"GET /api/v1/attempts":               {"-", "f", "f", "f", "y", "y"},
	"GET /api/v1/attempts/{id}":          {"-", "f", "f", "f", "y", "y"},
	"GET /api/v1/orgs/{slug}/rollout":    {"-", "f", "f", "y", "y", "y"},
	"PUT /api/v1/orgs/{slug}/rollout":    {"-", "f", "f", "y", "f", "y"},
	"PUT /api/v1/rollout":                {"-", "f", "f", "f", "f", "y"},
	"GET /api/v1/invariants":             {"-", "f", "f", "f", "f", "y"},
}

// The page about the API has every operation.
func TestReferencePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := string(s.do(stranger, "GET", "/help/api", nil).want(200).body)
	for what := range access {
		if !strings.Contains(page, "<code>"+what+"</code>") {
			t.Errorf("%s is not on the page", what)
		}
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 9)
	hold, sold := s.held(customer, body{"machine": "A-1"}), s.held(customer, body{"machine": "A-2"})
	service := s.do(customer, "POST", "/api/v1/holds/"+sold+"/convert", nil).want(201).text("id")
	attempt := s.do(customer, "GET", "/api/v1/holds/"+hold, nil).text("attempt")

	walked := map[string]bool{}
	for _, rt := range s.server.routes {
		if !rt.api {
			continue
		}
		name := rt.method + " " + rt.pattern
		walked[name] = true
		want, ok := access[name]
		if !ok {
			t.Errorf("%s is in no table", name)
			continue
		}
		id := hold
		switch {
		case strings.Contains(rt.pattern, "/services/"):
			id = service
		case strings.Contains(rt.pattern, "/attempts/"):
			id = attempt
		}
		path := strings.NewReplacer("{id}", id, "{tag}", "A-1", "{slug}", "acme").Replace(rt.pattern)
		// First those who may not, so that the objects are still there.
		for _, allowed := range []bool{false, true} {
			for _, who := range callers {
				if (want.of(who) == "y") == allowed {
					s.tryAccess(who, rt.method, path, want.of(who))
				}
			}
		}
	}
	for name := range access {
		if !walked[name] {
			t.Errorf("%s is no route", name)
		}
	}
}

func (s *site) tryAccess(who caller, method, path, want string) {
	s.t.Helper()
	before := ""
	if want != "y" {
		before = s.state()
	}
	var b any
	if method != http.MethodGet {
		b = map[string]any{}
	}
	a := s.do(who, method, path, b, "Idempotency-Key", uuid.NewString())
	got := "y"
	switch a.status {
	case 401:
		got = "-"
	case 403:
		got = "f"
	case 404:
		got = "n"
	case 500:
		s.t.Errorf("%s: %s", a.what, a.body)
	}
	if got != want {
		s.t.Errorf("%s: %d, want %q: %s", a.what, a.status, want, a.body)
	}
	switch got {
	case "-":
		a.problem(401, "unauthenticated")
		if a.header.Get("WWW-Authenticate") == "" {
			s.t.Errorf("%s: no WWW-Authenticate", a.what)
		}
	case "f":
		a.problem(403, "forbidden")
	case "n":
		a.problem(404, "not-found")
	}
	if want != "y" && s.state() != before {
		s.t.Errorf("%s: changed something", a.what)
	}
}

// Another organisation's ids answer exactly as those of nothing, as do words that are no ids.
func TestForeignIDsAnswerAsMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 4)
	hold, sold := s.held(customer, body{"machine": "A-1"}), s.held(customer, body{"machine": "A-2"})
	service := s.do(customer, "POST", "/api/v1/holds/"+sold+"/convert", nil).want(201).text("id")
	before := s.state()
	for _, c := range []struct{ method, path, id string }{
		{"GET", "/api/v1/holds/%", hold}, {"POST", "/api/v1/holds/%/extend", hold}, {"POST", "/api/v1/holds/%/cancel", hold},
		{"POST", "/api/v1/holds/%/convert", hold}, {"POST", "/api/v1/holds/%/substitute", hold},
		{"GET", "/api/v1/services/%", service}, {"POST", "/api/v1/services/%/end", service},
	} {
		missing := uuid.NewString()
		ask := func(id string) string {
			a := s.do(foreign, c.method, strings.ReplaceAll(c.path, "%", id), nil).problem(404, "not-found")
			return strings.NewReplacer(id, "ID", a.text("request_id"), "REQUEST").Replace(string(a.body))
		}
		want := ask(missing)
		if got := ask(c.id); got != want {
			t.Errorf("%s %s: foreign %s, missing %s", c.method, c.path, got, want)
		}
		for _, id := range []string{"1", "null", strings.ToUpper(c.id) + "0", "{" + c.id + "}", "urn:uuid:" + c.id, strings.ReplaceAll(c.id, "-", ""), "%00", "..%2f" + c.id, "00000000-0000-0000-0000-000000000000"} {
			s.do(foreign, c.method, strings.ReplaceAll(c.path, "%", id), nil).problem(404, "not-found")
			s.do(customer, c.method, strings.ReplaceAll(c.path, "%", id), nil).problem(404, "not-found")
		}
	}
	// A hold's id is no service's.
	s.do(customer, "GET", "/api/v1/services/"+hold, nil).problem(404, "not-found")
	// Substitution by body: the address counts.
	s.do(foreign, "POST", "/api/v1/holds/"+uuid.NewString()+"/cancel", body{"id": hold}).want(422)
	if s.state() != before {
		t.Error("something changed")
	}
	for _, path := range []string{"/api/v1/holds", "/api/v1/services", "/api/v1/holds?state=held"} {
		if n := s.do(foreign, "GET", path, nil).want(200).number("items.#"); n != 0 {
			t.Errorf("%s shows %d foreign rows", path, n)
		}
	}
	s.do(orgAdmin, "GET", "/api/v1/orgs/rival/rollout", nil).problem(404, "not-found")
	s.do(orgAdmin, "PUT", "/api/v1/orgs/rival/rollout", body{"setting": "off"}).problem(404, "not-found")
	s.do(orgAdmin, "GET", "/api/v1/orgs/nobody/rollout", nil).problem(404, "not-found")
	s.do(operator, "GET", "/api/v1/orgs/nobody/rollout", nil).problem(404, "not-found")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	good := s.tokens[customer]
	ask := func(headers ...string) answer { return s.do(stranger, "GET", "/api/v1/holds", nil, headers...) }
	ask("Authorization", "Bearer "+good).want(200)
	ask("Authorization", "bearer  "+good).want(200)
	for _, h := range []string{
		"", "Bearer", "Bearer ", good, "Basic " + good, "Token " + good, "Bearer ih_x", "Bearer " + good + "x",
		"Bearer " + strings.ToUpper(good), "Bearer " + good + " " + good, "Bearer " + strings.Repeat("x", 5000),
		"Bearer ih_'; drop table holds; --", "Bearer \u00e9",
	} {
		ask("Authorization", h).problem(401, "unauthenticated")
	}
	ask("Authorization", "Bearer "+good, "Authorization", "Bearer "+good).problem(401, "unauthenticated")
	if a := ask("Authorization", "Bearer ih_wrong"); !strings.Contains(a.header.Get("WWW-Authenticate"), "invalid_token") {
		t.Errorf("challenge: %q", a.header.Get("WWW-Authenticate"))
	}
	// Neither a cookie nor the address carries a token.
	for _, name := range []string{"session", "__Host-session", "token", "Authorization"} {
		ask("Cookie", name+"="+good).problem(401, "unauthenticated")
	}
	s.do(stranger, "GET", "/api/v1/holds?access_token="+good, nil).problem(401, "unauthenticated")

	fixture.Exec(t, s.owner, "update api_tokens set revoked_at = now() where name = 'customer'")
	ask("Authorization", "Bearer "+good).problem(401, "unauthenticated")
	if strings.Contains(s.log.String(), good) {
		t.Error("a token is in the log")
	}
}
