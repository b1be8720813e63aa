package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/holds/invariants"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/rollout"
)

// site is the whole server on a database of its own, with two organisations and a token of each
// kind of caller.
type site struct {
	t      testing.TB
	owner  *pgxpool.Pool
	server *server
	http   *httptest.Server
	log    *bytes.Buffer

	acme, rival uuid.UUID
	tokens      map[caller]string
}

// caller is who makes a request in these tests.
type caller string

const (
	stranger caller = "stranger"
	customer caller = "customer"  // of acme
	foreign  caller = "foreign"   // customer of rival
	orgAdmin caller = "org-admin" // of acme
	sales    caller = "sales"
	operator caller = "operator"
)

var callers = []caller{stranger, customer, foreign, orgAdmin, sales, operator}

func newSite(t testing.TB, change ...func(*Config)) *site {
	t.Helper()
	owner := pgtest.DB(t)
	return newSiteOn(t, owner, fixture.App(t, owner, 20), change...)
}

func newSiteOn(t testing.TB, owner, app *pgxpool.Pool, change ...func(*Config)) *site {
	t.Helper()
	ctx := t.Context()
	log := &bytes.Buffer{}
	store := rollout.New(app)
	c := Config{
		Accounts: accounts.New(app), Rollout: store, Holds: holds.New(app, holds.DefaultPolicy()),
		Allocator: allocator.New(app, allocator.Options{Precondition: store.Precondition()}), Fleet: fleet.New(app),
		Invariants: invariants.New(app), DB: app, Logger: slog.New(slog.NewJSONHandler(&locked{w: log}, nil)),
	}
	for _, f := range change {
		f(&c)
	}
	s, err := build(c)
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.handler()
	if err != nil {
		t.Fatal(err)
	}
	st := &site{t: t, owner: owner, server: s, http: httptest.NewServer(h), log: log, tokens: map[caller]string{}}
	t.Cleanup(func() {
		st.http.Close()
		c.Allocator.Close(ctx)
	})
	st.acme = fixture.Org(t, owner, "acme", 5, 50)
	st.rival = fixture.Org(t, owner, "rival", 5, 50)
	by := pg.By{Actor: "test"}
	if _, err := store.SetLaunch(ctx, by, "on"); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		who  caller
		role accounts.Role
		org  string
	}{
		{customer, accounts.Customer, "acme"}, {foreign, accounts.Customer, "rival"}, {orgAdmin, accounts.OrgAdmin, "acme"},
		{sales, accounts.Sales, ""}, {operator, accounts.Operator, ""},
	} {
		token, err := c.Accounts.AddToken(ctx, by, string(k.who), k.role, k.org)
		if err != nil {
			t.Fatal(err)
		}
		st.tokens[k.who] = token
	}
	return st
}

// answer is a response with its body read.
type answer struct {
	t      testing.TB
	what   string
	status int
	header http.Header
	body   []byte
}

// do sends a request. body may be nil, a string as it is, or anything to be written as JSON.
// Headers come in pairs.
func (s *site) do(who caller, method, path string, body any, headers ...string) answer {
	s.t.Helper()
	return s.doWith(who, method, path, body, "application/json", headers...)
}

// doWith is do with another content type.
func (s *site) doWith(who caller, method, path string, body any, kind string, headers ...string) answer {
	s.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		reader = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	if reader != nil {
		r.Header.Set("Content-Type", kind)
	}
	return s.send(who, r, headers...)
}

// chunked sends a body without telling its length.
func (s *site) chunked(who caller, method, path, body string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+path, io.MultiReader(strings.NewReader(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	return s.send(who, r, "Content-Type", "application/json", "Idempotency-Key", uuid.NewString())
}

func (s *site) send(who caller, r *http.Request, headers ...string) answer {
	s.t.Helper()
	if token := s.tokens[who]; token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := answer{t: s.t, what: string(who) + " " + r.Method + " " + r.URL.RequestURI(), status: resp.StatusCode, header: resp.Header, body: raw}
	a.described(r)
	return a
}

// order posts an order with a key of its own.
func (s *site) order(who caller, body any) answer {
	s.t.Helper()
	return s.do(who, "POST", "/api/v1/holds", body, "Idempotency-Key", uuid.NewString())
}

// held orders and returns the hold's id.
func (s *site) held(who caller, body any) string {
	s.t.Helper()
	return s.order(who, body).want(201).text("id")
}

func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: status %d, want %d: %s", a.what, a.status, status, a.body)
	}
	return a
}

// problem checks name and status of a problem document, and that it is a whole one.
func (a answer) problem(status int, name string) answer {
	a.t.Helper()
	a.want(status)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("%s: content type %q", a.what, got)
	}
	if got := a.text("type"); got != "/problems/"+name {
		a.t.Fatalf("%s: type %q, want %q: %s", a.what, got, name, a.body)
	}
	if a.number("status") != status || a.text("title") == "" || a.text("instance") == "" || a.text("request_id") != a.header.Get("X-Request-Id") {
		a.t.Errorf("%s: incomplete problem: %s", a.what, a.body)
	}
	return a
}

// at walks into the document: "a.b" for members, "#" for the length of an array, numbers for items.
func (a answer) at(path string) any {
	a.t.Helper()
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.body)
	}
	for part := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[part]
			if !ok {
				a.t.Fatalf("%s: no %q in %s", a.what, path, a.body)
			}
			v = next
		case []any:
			if part == "#" {
				v = float64(len(node))
				continue
			}
			var i int
			if _, err := fmt.Sscanf(part, "%d", &i); err != nil || i >= len(node) {
				a.t.Fatalf("%s: no %q in %s", a.what, path, a.body)
			}
			v = node[i]
		default:
			a.t.Fatalf("%s: no %q in %s", a.what, path, a.body)
		}
	}
	return v
}

func (a answer) text(path string) string {
	a.t.Helper()
	s, ok := a.at(path).(string)
	if !ok {
		a.t.Fatalf("%s: %q is no string in %s", a.what, path, a.body)
	}
	return s
}

func (a answer) number(path string) int {
	a.t.Helper()
	n, ok := a.at(path).(float64)
	if !ok {
		a.t.Fatalf("%s: %q is no number in %s", a.what, path, a.body)
	}
	return int(n)
}

func (a answer) has(member string) bool {
	a.t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(a.body, &doc); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.body)
	}
	_, ok := doc[member]
	return ok
}

// faults returns the faults of an "invalid" answer by field.
func (a answer) faults(status int) map[string]string {
	a.t.Helper()
	a.problem(status, "invalid")
	out := map[string]string{}
	for i := range a.number("errors.#") {
		out[a.text(fmt.Sprintf("errors.%d.field", i))] += a.text(fmt.Sprintf("errors.%d.message", i))
	}
	return out
}

// state is a fingerprint of everything that a request could change for good.
func (s *site) state() string {
	s.t.Helper()
	parts := []string{}
	for _, table := range []string{
		"organisations", "org_limits", "users", "holds", "services", "machines", "rollout_launch",
		"hold_events", "service_events", "machine_events", "rollout_events", "limit_events",
		"api_tokens", "invitations", "password_resets", "email_changes", "sites", "account_events",
	} {
		parts = append(parts, "(select md5(coalesce(string_agg((to_jsonb(t) - 'last_used_at' - 'signed_in_at')::text, ',' order by t::text), '')) from "+table+" t)")
	}
	return fixture.Get[string](s.t, s.owner, "select "+strings.Join(parts, " || "))
}
