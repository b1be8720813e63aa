package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/web/problem"
)

// Every response has the headers, whatever became of the request.
func TestHeadersOnEveryResponse(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.Secure = true })
	nonces := map[string]bool{}
	nonce := regexp.MustCompile(`'nonce-([A-Za-z0-9_-]{22})'`)
	for _, c := range []struct{ method, path string }{
		{"GET", "/healthz"}, {"HEAD", "/healthz"}, {"GET", "/nothing"}, {"GET", "/api/v1/nothing"}, {"GET", "/api/v1/holds"},
		{"POST", "/api/v1/holds"}, {"DELETE", "/api/v1/holds"}, {"OPTIONS", "/api/v1/holds"}, {"BREW", "/api/v1/holds"}, {"POST", "/"}, {"GET", "//"},
		{"TRACE", "/"},
	} {
		a := s.do(stranger, c.method, c.path, nil)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
			"Strict-Transport-Security": "max-age=63072000; includeSubDomains", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := a.header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q", a.what, name, got)
			}
		}
		csp := a.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "style-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "object-src 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: no %s in %q", a.what, part, csp)
			}
		}
		m := nonce.FindStringSubmatch(csp)
		if m == nil || nonces[m[1]] {
			t.Fatalf("%s: nonce of %q", a.what, csp)
		}
		nonces[m[1]] = true
		if len(a.header.Get("X-Request-Id")) != 16 {
			t.Errorf("%s: request id %q", a.what, a.header.Get("X-Request-Id"))
		}
		for name := range a.header {
			if strings.HasPrefix(name, "Access-Control-") || name == "Server" || name == "Set-Cookie" && strings.HasPrefix(c.path, "/api") {
				t.Errorf("%s: header %s", a.what, name)
			}
		}
	}
	plain := newSite(t)
	if plain.do(stranger, "GET", "/healthz", nil).header.Get("Strict-Transport-Security") != "" {
		t.Error("HSTS on plain HTTP")
	}
}

func TestOneSpellingOfEachPath(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range []string{
		"//api/v1/holds", "/api//v1/holds", "/api/v1//holds", "/api/v1/holds/", "/api/v1/holds//", "/api/v1/./holds", "/api/v1/x/../holds",
		"/api/v1/holds.", "/api/v1/holds;x=1", "/api%2fv1%2fholds", "/api/v1%2Fholds", "/%61pi/v1/holds", "/api/v1/hold%73", "/API/v1/holds",
		"/api/V1/holds", "/api/v1/Holds", "/api/v1/holds%20", "/api/v1/holds%00", "/api/v1/holds%0a", "/api/v1/holds%2e", "/api/v1/%2e/holds",
		"/api/v1/%2e%2e/v1/holds", "/api/v1\\holds", "/api/v1/holds%5c", "/.//api/v1/holds", "/api/v1/holds.json", "/api/v1/holds%3flimit=1", "/api/v2/holds", "/api",
	} {
		conn, err := net.Dial("tcp", s.http.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		// By hand, since a client would clean the path.
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", path, s.tokens[operator])
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		raw, _ := io.ReadAll(resp.Body)
		conn.Close()
		if resp.StatusCode != 404 && resp.StatusCode != 400 {
			t.Errorf("%s: %d %.200s", path, resp.StatusCode, raw)
		}
		if resp.Header.Get("Location") != "" {
			t.Errorf("%s: redirected to %s", path, resp.Header.Get("Location"))
		}
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 2)
	before := s.state()
	for _, c := range []struct{ path, allow string }{
		{"/api/v1/holds", "GET, HEAD, POST, OPTIONS"}, {"/api/v1/surveys", "POST, OPTIONS"}, {"/api/v1/rollout", "PUT, OPTIONS"},
		{"/healthz", "GET, HEAD, OPTIONS"},
	} {
		for _, method := range []string{"DELETE", "PATCH", "TRACE", "BREW"} {
			if a := s.do(operator, method, c.path, nil).problem(405, "method-not-allowed"); a.header.Get("Allow") != c.allow {
				t.Errorf("%s: Allow %q", a.what, a.header.Get("Allow"))
			}
		}
		a := s.do(stranger, "OPTIONS", c.path, nil, "Origin", "https://evil.example", "Access-Control-Request-Method", "POST").want(204)
		if a.header.Get("Allow") != c.allow || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", a.what, a.header)
		}
	}
	s.do(operator, "BREW", "/api/v1/nothing", nil).problem(404, "not-found")
	s.do(customer, "POST", "/api/v1/holds", "{}", "Idempotency-Key", "x", "X-HTTP-Method-Override", "GET").want(201)
	head := s.do(customer, "HEAD", "/api/v1/holds", nil).want(200)
	if len(head.body) != 0 || head.header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %q %v", head.body, head.header)
	}
	s.do(stranger, "HEAD", "/api/v1/holds", nil).want(401)
	// A GET that looks like an order is none.
	s.do(customer, "GET", "/api/v1/holds/"+"x"+"/cancel", nil).problem(405, "method-not-allowed")
	if s.state() == before {
		t.Error("the one order did nothing")
	}
}

func TestRequestIDComesFromHere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.do(stranger, "GET", "/api/v1/nothing", nil, "X-Request-Id", "chosen-outside").problem(404, "not-found")
	if strings.Contains(string(a.body)+a.header.Get("X-Request-Id"), "chosen-outside") || strings.Contains(s.log.String(), "chosen-outside") {
		t.Errorf("%v %s", a.header, a.body)
	}
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.do(customer, "GET", "/api/v1/holds?state=held&secret=hunter2", nil, "Cookie", "session=hunter2").want(422)
	var found bool
	for line := range strings.Lines(s.log.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if entry["request_id"] == a.header.Get("X-Request-Id") {
			found = entry["status"] == float64(422) && entry["route"] == "/api/v1/holds" && entry["problem"] == "invalid" &&
				strings.HasPrefix(entry["actor"].(string), "token:")
		}
	}
	if !found || strings.Contains(s.log.String(), "hunter2") {
		t.Errorf("log: %s", s.log.String())
	}
}

func TestPanicsAndUnexpectedErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const secret = "password=hunter2 at 10.0.0.7"
	s.server.routes = append(s.server.routes,
		route{method: "GET", pattern: "/api/v1/panic", public: true, api: true, handle: func(http.ResponseWriter, *http.Request) error { panic(secret) }},
		route{method: "GET", pattern: "/api/v1/error", public: true, api: true, handle: func(http.ResponseWriter, *http.Request) error { return fmt.Errorf("sql: %s", secret) }},
		route{method: "GET", pattern: "/panic", public: true, handle: func(http.ResponseWriter, *http.Request) error { panic(secret) }},
	)
	h, err := s.server.handler()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/panic", "/api/v1/error", "/panic"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 500 || strings.Contains(w.Body.String(), "hunter2") || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if !strings.Contains(s.log.String(), w.Header().Get("X-Request-Id")) {
			t.Errorf("%s: not in the log", path)
		}
	}
	if !strings.Contains(s.log.String(), "hunter2") {
		t.Error("the cause is not in the log")
	}
}

// A page's form that another site sent is refused; programs, which send no such headers, are not.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.BaseURL = "https://portal.example/" })
	s.server.routes = append(s.server.routes, route{method: "POST", pattern: "/test", public: true,
		handle: func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(204); return nil }})
	h, err := s.server.handler()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		header, value string
		status        int
	}{
		{"", "", 204}, {"Sec-Fetch-Site", "same-origin", 204}, {"Sec-Fetch-Site", "none", 204}, {"Sec-Fetch-Site", "cross-site", 403},
		{"Sec-Fetch-Site", "same-site", 403}, {"Origin", "null", 403}, {"Origin", "https://evil.example", 403}, {"Origin", "http://example.com", 204},
		{"Origin", "https://portal.example", 204}, {"Origin", "http://portal.example", 403}, {"Origin", "https://portal.example.evil", 403},
	} {
		r := httptest.NewRequest("POST", "/test", nil)
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s %s: %d, want %d", c.header, c.value, w.Code, c.status)
		}
	}
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.OrderRate = 2 })
	fixture.Equal(t, s.owner, "A", 6)
	s.held(customer, "{}")
	s.held(customer, "{}")
	if a := s.order(customer, "{}").problem(429, "too-many-requests"); a.header.Get("Retry-After") == "" {
		t.Errorf("%v", a.header)
	}
	// Another caller, and everything but orders, goes on.
	s.held(orgAdmin, "{}")
	s.do(customer, "GET", "/api/v1/holds", nil).want(200)
	s.do(customer, "POST", "/api/v1/surveys", nil).want(200)
}

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do(stranger, "GET", "/healthz", nil).want(200)
	if a := s.do(stranger, "GET", "/readyz", nil).want(200); a.text("database") != "ok" || a.text("schema") != "ok" {
		t.Errorf("ready: %s", a.body)
	}
	old := newSite(t)
	fixture.Exec(t, old.owner, "delete from schema_migrations where version_id = (select max(version_id) from schema_migrations)")
	if a := old.do(stranger, "GET", "/readyz", nil).want(503); a.text("schema") != "outdated" {
		t.Errorf("old schema: %s", a.body)
	}
	old.do(stranger, "GET", "/healthz", nil).want(200)
}

// With the database away the process answers, and says that trying again is worth while.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	s, away := siteThatLosesItsDatabase(t)
	s.do(customer, "GET", "/api/v1/holds", nil).want(200)
	away(true)
	s.do(stranger, "GET", "/healthz", nil).want(200)
	if a := s.do(stranger, "GET", "/readyz", nil).want(503); a.text("database") != "unreachable" {
		t.Errorf("away: %s", a.body)
	}
	for _, path := range []string{"/api/v1/holds", "/api/v1/offers"} {
		if a := s.do(customer, "GET", path, nil).problem(503, "busy"); a.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
	s.order(customer, "{}").problem(503, "busy")
	away(false)
	s.do(customer, "GET", "/api/v1/holds", nil).want(200)
}

// siteThatLosesItsDatabase is a site with a switch.
func siteThatLosesItsDatabase(t *testing.T) (*site, func(away bool)) {
	t.Helper()
	owner := pgtest.DB(t)
	cfg := fixture.App(t, owner, 5).Config()
	var away atomic.Bool
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if away.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return dial(ctx, network, addr)
	}
	app, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	return newSiteOn(t, owner, app), func(gone bool) {
		away.Store(gone)
		app.Reset()
	}
}

func TestRoutesAreDecided(t *testing.T) {
	t.Parallel()
	ok := func(http.ResponseWriter, *http.Request) error { return problem.NoSuch() }
	for _, rt := range []route{
		{method: "GET", pattern: "/x", handle: ok}, {method: "GET", pattern: "/x", function: "x", handle: ok},
		{method: "GET", pattern: "/x", function: "order", public: true, handle: ok}, {method: "GET", pattern: "/x", public: true},
		{method: "GET", pattern: "/x", function: "order", or: "x", handle: ok},
	} {
		if rt.check() == nil {
			t.Errorf("%+v was accepted", rt)
		}
	}
}
