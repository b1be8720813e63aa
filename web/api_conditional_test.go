package web

import (
	"net/http"
	"testing"

	"ironhold/migrations/pgtest/fixture"
)

// A single object's tag stays while nothing but the clock moves, and changes with the object.
func TestETags(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	at := s.exampleHold()
	for path, who := range map[string]caller{
		"/api/v1/holds/" + at.hold: customer, "/api/v1/services/" + at.service: customer, "/api/v1/attempts/" + at.attempt: sales,
		"/api/v1/machines/A-6": operator, "/api/v1/orgs/acme/rollout": orgAdmin,
	} {
		first := s.do(who, "GET", path, nil).want(200)
		tag := first.header.Get("ETag")
		if tag == "" {
			t.Errorf("%s: no ETag", path)
			continue
		}
		for _, match := range []string{tag, `"x", ` + tag, "*", tag[2:]} {
			if again := s.do(who, "GET", path, nil, "If-None-Match", match).want(304); len(again.body) > 0 || again.header.Get("ETag") != tag {
				t.Errorf("%s: If-None-Match %s: %v %s", path, match, again.header, again.body)
			}
		}
		s.do(who, "GET", path, nil, "If-None-Match", `"x"`).want(200)
		s.do(foreign, "GET", path, nil, "If-None-Match", "*").refused()
	}
	path := "/api/v1/holds/" + at.hold
	before := s.do(customer, "GET", path, nil).want(200).header.Get("ETag")
	fixture.Exec(t, s.owner, "update holds set created_at = created_at - interval '3 seconds', expires_at = expires_at - interval '3 seconds' where id = $1", at.hold)
	moved := s.do(customer, "GET", path, nil, "If-None-Match", before).want(200)
	if moved.header.Get("ETag") == before {
		t.Error("another deadline, the same tag")
	}
	s.do(customer, "POST", path+"/cancel", nil).want(200)
	if a := s.do(customer, "GET", path, nil, "If-None-Match", moved.header.Get("ETag")).want(200); a.text("state") != "cancelled" {
		t.Errorf("after cancelling: %s", a.body)
	}
	// Staff see more: another document, another tag.
	if s.do(customer, "GET", path, nil).header.Get("ETag") == s.do(sales, "GET", path, nil).header.Get("ETag") {
		t.Error("staff's and the customer's document share a tag")
	}
}

// refused wants some refusal by right.
func (a answer) refused() {
	a.t.Helper()
	if a.status != http.StatusNotFound && a.status != http.StatusForbidden {
		a.t.Errorf("%s: %d", a.what, a.status)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 3)
	before := s.state()
	for _, accept := range []string{"text/html", "application/xml, text/*;q=0.5", "application/json;q=0", "*/*, application/json;q=0", "application/problem+json"} {
		s.do(customer, "GET", "/api/v1/holds", nil, "Accept", accept).problem(406, "not-acceptable")
		s.do(customer, "POST", "/api/v1/holds", "{}", "Accept", accept, "Idempotency-Key", "x").problem(406, "not-acceptable")
	}
	for _, kind := range []string{"text/plain", "application/xml", "application/x-www-form-urlencoded"} {
		for _, path := range []string{"/api/v1/holds", "/api/v1/surveys"} {
			s.doWith(customer, "POST", path, "{}", kind, "Idempotency-Key", "x").problem(415, "unsupported-media-type")
		}
	}
	for path, allow := range map[string]string{
		"/api/v1/holds": "GET, HEAD, POST, OPTIONS", "/api/v1/rollout": "PUT, OPTIONS", "/api/v1/openapi.json": "GET, HEAD, OPTIONS",
	} {
		if a := s.do(customer, "DELETE", path, nil).problem(405, "method-not-allowed"); a.header.Get("Allow") != allow {
			t.Errorf("%s: Allow %q", path, a.header.Get("Allow"))
		}
	}
	s.do(customer, "GET", "/api/v1/nothing", nil).problem(404, "not-found")
	if s.state() != before {
		t.Error("a refused request changed something")
	}
	for _, accept := range []string{"application/json", "*/*", "application/*", "text/html, */*;q=0.1", "nonsense;;, application/json", "application/*;q=0, application/json"} {
		s.do(customer, "GET", "/api/v1/holds", nil, "Accept", accept).want(200)
	}
}
