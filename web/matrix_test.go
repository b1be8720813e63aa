package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// world is a site with somebody of each kind signed in, which makes an object of acme's for any
// address, a fresh one each time.
type world struct {
	*site
	people map[caller]*browser
	emails map[caller]string
	ada    uuid.UUID // acme's customer, whose sessions are asked for
	n      int
	keyed  bool // Ada has a passkey for now
}

// foreignAdmin is rival's administrator: may all that acme's may, of another organisation.
const foreignAdmin caller = "foreign-admin"

var visitors = []caller{stranger, customer, foreign, orgAdmin, sales, operator}

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	return newWorldOn(t, newSite(t, change...))
}

func newWorldOn(t *testing.T, s *site) *world {
	t.Helper()
	w := &world{site: s, people: map[caller]*browser{stranger: s.stranger()}, emails: map[caller]string{}}
	fixture.Equal(t, s.owner, "A", 400)
	fixture.Exec(t, s.owner, "update org_limits set max_holds = 1000, max_machines = 1000")
	for _, p := range []struct {
		who  caller
		role accounts.Role
		org  string
	}{
		{customer, accounts.Customer, "acme"}, {foreign, accounts.Customer, "rival"}, {orgAdmin, accounts.OrgAdmin, "acme"},
		{foreignAdmin, accounts.OrgAdmin, "rival"}, {sales, accounts.Sales, ""}, {operator, accounts.Operator, ""},
	} {
		w.people[p.who] = s.person(string(p.who), p.role, p.org)
		w.emails[p.who] = strings.ToLower(string(p.role)) + "-" + p.org + "@example.com"
	}
	secret, err := s.server.Accounts.AddToken(t.Context(), by(), string(foreignAdmin), accounts.OrgAdmin, "rival")
	if err != nil {
		t.Fatal(err)
	}
	s.tokens[foreignAdmin] = secret
	w.ada = userID(t, s, w.emails[customer])
	return w
}

// object makes an object of acme's for the address and gives what stands for it there.
func (w *world) object(pattern string) (id, second string) {
	w.t.Helper()
	w.n++
	if w.keyed { // a passkey of Ada's would ask for itself at her next sign-in
		fixture.Exec(w.t, w.owner, "delete from passkeys where name = 'Key of acme'")
		w.keyed = false
	}
	get := func(sql string, args ...any) string {
		w.t.Helper()
		return fixture.Get[string](w.t, w.owner, sql, args...)
	}
	hold := func() string { return w.held(customer, body{}) }
	under := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(pattern, p+"/{") })
	}
	switch {
	case !strings.Contains(pattern, "{"):
	case under("/holds"):
		return hold(), ""
	case under("/services", "/work"):
		return w.do(customer, "POST", "/api/v1/holds/"+hold()+"/convert", nil).want(201).text("id"), ""
	case under("/attempts"):
		return w.do(customer, "GET", "/api/v1/holds/"+hold(), nil).text("attempt"), ""
	case under("/waiting"):
		return get(`insert into waiting_list (org_id, request) values ($1, jsonb_build_object('min_ram_gb', 1000 + $2::int)) returning id::text`, w.acme, w.n), ""
	case under("/sessions"):
		return get("insert into sessions (token, user_id, data, expiry) values (gen_random_uuid()::text, $1, '', clock_timestamp() + interval '1 hour') returning id::text", w.ada), ""
	case under("/passkeys"):
		w.keyed = true
		return get("insert into passkeys (user_id, credential_id, credential, name) values ($1, uuid_send(gen_random_uuid()), '{}', 'Key of acme') returning id::text", w.ada), ""
	case under("/members", "/people"):
		return get("insert into users (org_id, email, name, role) values ($1, gen_random_uuid() || '@acme.example', 'Member of acme', 'customer') returning id::text", w.acme), ""
	case under("/invitations"):
		return get(`insert into invitations (org_id, email, role, token_hash, expires_at)
			values ($1, gen_random_uuid() || '@acme.example', 'customer', uuid_send(gen_random_uuid()), clock_timestamp() + interval '1 hour') returning id::text`, w.acme), ""
	case under("/tokens"):
		return get("insert into api_tokens (org_id, name, role, hash) values ($1, 'Token of acme', 'customer', uuid_send(gen_random_uuid())) returning id::text", w.acme), ""
	case under("/webhooks"):
		id = get(`insert into webhook_endpoints (org_id, url, holds, services, secret)
			values ($1, 'https://acme.example/' || gen_random_uuid(), true, true, decode(repeat('00', 32), 'hex')) returning id::text`, w.acme)
		message := get("insert into webhook_messages (org_id, kind, subject_id, event) values ($1, 'hold', gen_random_uuid(), 'held') returning id::text", w.acme)
		return id, get("insert into webhook_deliveries (org_id, message_id, endpoint_id, state) values ($1, $2::text::uuid, $3::text::uuid, 'failed') returning id::text", w.acme, message, id)
	case under("/requests"):
		return get("insert into purchase_requests (site_code, request) values ('SITE1', jsonb_build_object('min_ram_gb', $1::int)) returning id::text", w.n), ""
	case under("/machines"):
		return fmt.Sprintf("A-%d", w.n%400+1), ""
	case under("/offers"):
		return get("select min(class_id)::text from machines"), ""
	case under("/orgs"):
		return "acme", ""
	case under("/sites"):
		return "SITE1", ""
	case under("/problems"):
		return "none-left", ""
	case under("/caught"):
		return "1", ""
	default:
		w.t.Fatalf("%s: say here what stands for its object", pattern)
	}
	return "", ""
}

// none is what stands for an object that does not exist.
func none(pattern string) (id, second string) {
	switch {
	case strings.Contains(pattern, "{class}"):
		return "999999999", ""
	case strings.Contains(pattern, "{id}"):
		return uuid.NewString(), uuid.NewString()
	}
	return "nobody", ""
}

// at is the address with its objects.
func at(pattern, id, second string) string {
	return strings.NewReplacer("{id}", id, "{delivery}", second, "{tag}", id, "{class}", id, "{slug}", id, "{name}", id, "{code}", id, "{n}", id, "/*", "/x").Replace(pattern)
}

// ask sends a request as somebody: by token to the API, otherwise with the cookies of a browser and
// an empty form.
func (w *world) ask(rt route, who caller, path string) page {
	w.t.Helper()
	if rt.api {
		headers := []string{"Idempotency-Key", uuid.NewString()}
		var b any
		if rt.method != http.MethodGet {
			b = body{}
		}
		a := w.do(who, rt.method, path, b, headers...)
		return page{t: w.t, what: a.what, status: a.status, header: a.header, raw: string(a.body)}
	}
	b := w.people[who]
	if rt.method == http.MethodGet {
		return b.get(path)
	}
	return b.do(rt.method, path, strings.NewReader(""))
}

// awake signs somebody in again whose session a request has ended.
func (w *world) awake(who caller) {
	w.t.Helper()
	if who != stranger && w.people[who].get("/account").status != http.StatusOK {
		w.people[who] = w.again(w.emails[who], password)
	}
}

// same is an answer without what differs between two requests.
func (p page) same(ids ...string) string {
	text := p.raw
	for _, c := range append(ids, p.header.Get("X-Request-Id"), nonceOf(p)) {
		if c != "" {
			text = strings.ReplaceAll(text, c, "")
		}
	}
	location := p.header.Get("Location")
	for _, id := range ids {
		if id != "" {
			location = strings.ReplaceAll(location, id, "")
		}
	}
	return fmt.Sprintf("%d %s %s", p.status, location, text)
}

func nonceOf(p page) string {
	_, after, _ := strings.Cut(p.header.Get("Content-Security-Policy"), "'nonce-")
	nonce, _, _ := strings.Cut(after, "'")
	return nonce
}

func verdict(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "-"
	case http.StatusForbidden:
		return "f"
	case http.StatusNotFound:
		return "n"
	}
	return "y"
}

// Every route that the router knows, by each kind of caller, on an object of acme's: as the two
// tables say. Nobody else's object can be told from one that does not exist, and who is refused has
// changed nothing. A route that is in no table fails here.
func TestAccessMatrix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, rt := range w.walk() {
		want, ok := pageAccess[name]
		if rt.api {
			want, ok = access[name]
		}
		var got may
		before, refused := "", true
		for _, allowed := range []bool{false, true} {
			id, second := w.object(rt.pattern)
			if !allowed {
				before = w.state()
			}
			for _, who := range visitors {
				if (want.of(who) == "y") != allowed && ok {
					continue
				}
				if allowed {
					refused = false
					id, second = w.object(rt.pattern)
				}
				p := w.ask(rt, who, at(rt.pattern, id, second))
				if p.status == http.StatusUnauthorized && who != stranger && !rt.api { // a step before has ended the session
					w.people[who] = w.again(w.emails[who], password)
					p = w.ask(rt, who, at(rt.pattern, id, second))
				}
				got.set(who, verdict(p.status))
				w.checkHeaders(rt, p)
			}
			if !allowed && w.state() != before {
				t.Errorf("%s: who is refused changes something", name)
			}
		}
		switch {
		case !ok:
			t.Errorf("%q: %q, is in no table", name, got)
		case got != want:
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		if !refused && strings.Contains(rt.pattern, "{") {
			w.foreignIsMissing(name, rt)
		}
	}
	for name := range pageAccess {
		if _, ok := w.walk()[name]; !ok {
			t.Errorf("%s is no route", name)
		}
	}
}

// foreignIsMissing compares what another organisation's people are told of an object of acme's and
// of none.
func (w *world) foreignIsMissing(name string, rt route) {
	w.t.Helper()
	open := []string{"/problems/", "/offers/", "/machines/", "/sites/", "/caught/"} // nobody's own
	if slices.ContainsFunc(open, func(p string) bool { return strings.Contains(rt.pattern, p) }) {
		return
	}
	for _, who := range []caller{foreign, foreignAdmin} {
		w.awake(who)
		id, second := w.object(rt.pattern)
		before := w.state()
		a, b := none(rt.pattern)
		theirs, missing := w.ask(rt, who, at(rt.pattern, id, second)), w.ask(rt, who, at(rt.pattern, a, b))
		if theirs.same(id, second) != missing.same(a, b) {
			w.t.Errorf("%s as %s: %s, and of nothing %s", name, who, theirs.same(id, second), missing.same(a, b))
		}
		if w.state() != before {
			w.t.Errorf("%s as %s changes something of another organisation", name, who)
		}
	}
}

// checkHeaders: what every answer carries, whatever it says.
func (w *world) checkHeaders(rt route, p page) {
	w.t.Helper()
	csp := p.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "object-src 'none'"} {
		if !strings.Contains(csp, part) {
			w.t.Errorf("%s: no %s in the policy %q", p.what, part, csp)
		}
	}
	if strings.Contains(csp, "unsafe-") && !strings.HasPrefix(rt.pattern, JobsPrefix) {
		w.t.Errorf("%s: the policy is %q", p.what, csp)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY"} {
		if got := p.header.Get(name); got != want {
			w.t.Errorf("%s: %s is %q", p.what, name, got)
		}
	}
	cache := p.header.Get("Cache-Control")
	if personal := rt.pattern != "/static/*"; personal && !strings.Contains(cache, "no-store") && !strings.Contains(cache, "private") && !rt.public {
		w.t.Errorf("%s may be kept by others: Cache-Control %q", p.what, cache)
	}
	if kind := p.header.Get("Content-Type"); p.status == 200 && strings.HasPrefix(kind, "text/csv") && !strings.HasPrefix(p.header.Get("Content-Disposition"), "attachment") {
		w.t.Errorf("%s: a file that opens in the browser", p.what)
	}
	if strings.Contains(p.raw, "<script") && p.header.Get("Content-Type") == "text/html; charset=utf-8" && !strings.HasPrefix(rt.pattern, JobsPrefix) {
		for _, n := range p.find("script") {
			if attrOf(n, "nonce") != nonceOf(p) {
				w.t.Errorf("%s: a script without the nonce", p.what)
			}
		}
	}
}

// walk gives every route by name, as the router has it; what the router has beyond the list of
// routes is a fault.
func (w *world) walk() map[string]route {
	w.t.Helper()
	list := map[string]route{}
	for _, rt := range w.server.routes {
		list[rt.method+" "+rt.pattern] = rt
	}
	h, err := w.server.handler()
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]route{}
	err = chi.Walk(h.(chi.Routes), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		rt, ok := list[method+" "+pattern]
		switch {
		case ok:
			out[method+" "+pattern] = rt
		case method != http.MethodHead:
			w.t.Errorf("the router has %s %s, the list of routes has not", method, pattern)
		}
		return nil
	})
	if err != nil || len(out) != len(list) {
		w.t.Fatalf("%d of %d routes are in the router, %v", len(out), len(list), err)
	}
	return out
}

// set is the counterpart of of.
func (m *may) set(c caller, v string) {
	*map[caller]*string{
		stranger: &m.stranger, customer: &m.customer, foreign: &m.foreign, orgAdmin: &m.orgAdmin, sales: &m.sales, operator: &m.operator,
	}[c] = v
}

// A page takes no token, and the API no session.
func TestTokensAndSessionsAreApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, rt := range w.walk() {
		if rt.public || rt.method != http.MethodGet {
			continue
		}
		id, second := w.object(rt.pattern)
		path := at(rt.pattern, id, second)
		b := w.people[operator]
		if !rt.api {
			b = w.stranger()
			b.header.Set("Authorization", "Bearer "+w.tokens[operator])
		}
		if p := b.get(path); p.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, p.status)
		}
	}
}
