package web

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// The trials are faults that were public in comparable products, tried on ours; docs/security.md
// lists them with their numbers.

// Another's id in the address is the access matrix; here in query, body and hidden field.
func TestTrial01ForeignIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold, _ := w.object("/holds/{id}")
	endpoint, delivery := w.object("/org/webhooks/{id}")
	rivals := fixture.Get[string](t, w.owner, `insert into webhook_endpoints (org_id, url, holds, services, secret)
		values ($1, 'https://rival.example/', true, true, decode(repeat('00', 32), 'hex')) returning id::text`, w.rival)
	before := w.state()
	eve := w.people[foreignAdmin]
	eve.get("/org/rollout?org=acme").lacks("acme")
	eve.post("/org/rollout?org=acme", "setting", "nonsense", "org", "acme").want(422)
	eve.get("/org/webhooks/"+rivals+"/deliveries/"+delivery).outcome(404, "not-found")
	eve.post("/org/webhooks/"+rivals+"/deliveries/"+delivery+"/retry").outcome(404, "not-found")
	eve.post("/org/webhooks/"+endpoint+"/remove").outcome(404, "not-found")
	eve.post("/order", "key", uuid.NewString(), "min_ram_gb", "8", "org", "acme").outcome(422, "invalid")
	w.order(foreign, body{"org": "acme"}).want(422)
	w.do(foreign, "POST", "/api/v1/holds/"+uuid.NewString()+"/cancel", body{"id": hold}).want(422)
	for _, after := range []string{"/holds?after=" + hold, "/services?after=" + hold, "/org?after=" + hold} {
		if p := eve.get(after).want(200); strings.Contains(p.raw, hold+`"`) && strings.Contains(p.raw, "/holds/"+hold) {
			t.Errorf("%s shows the hold", after)
		}
	}
	if w.state() != before {
		t.Error("something changed")
	}
}

// What people write is text for every template.
func TestTrial02Templates(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const evil = "{{7*7}} ${7*7} ${{7*7}} {$smarty.version} <%= 7*7 %> {time}"
	fixture.Exec(t, s.owner, "update organisations set name = $1 where slug = 'acme'", evil)
	fixture.Exec(t, s.owner, "insert into sites (code, name) values ('S', $1)", evil)
	fixture.Exec(t, s.owner, `insert into machines (asset_tag, site_code, model, cpu, cores, ram_gb, status, price_month_minor) values ('X', 'S', $1, $1, 8, 64, 'ready', 100)`, evil)
	b, olga := s.person(evil, accounts.OrgAdmin, "acme"), s.person("Olga", accounts.Operator, "")
	for path, who := range map[string]*browser{
		"/account": b, "/org": b, "/org/history": b, "/offers": b, "/fleet/machines/X": olga, "/admin/orgs/acme": olga, "/admin/orgs": olga,
	} {
		if p := who.get(path).want(200); strings.Contains(p.raw, "49") && strings.Contains(plain(p), " 49 ") || !strings.Contains(p.raw, "{{7*7}}") {
			t.Errorf("%s: %s", path, p.outline())
		}
	}
	for _, text := range []string{"{{7*7}}", "${7*7}", "{time}"} {
		p := b.post("/sign-in", "email", text+"@x", "password", "not it at all").want(401)
		if !strings.Contains(p.raw, text) {
			t.Errorf("%s became something else", text)
		}
	}
}

// No form takes more than its own fields.
func TestTrial03MassAssignment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 3)
	b := s.person("Ada", accounts.Customer, "acme")
	id := userID(t, s, ada)
	more := []string{
		"role", "operator", "is_admin", "1", "is_superuser", "true", "staff", "1", "org_id", s.rival.String(), "org_slug", "rival", "id", uuid.NewString(),
		"password_hash", "x", "disabled_at", "", "price_month_minor", "1", "price", "1", "status", "ready", "expires_at", "2100-01-01", "max_holds", "99", "factor", "passkey",
	}
	who := "select role || org_id::text || (disabled_at is null) || password_hash from users where id = $1"
	before := fixture.Get[string](t, s.owner, who, id)
	b.post("/account/preferences", append([]string{"language", "de", "time_zone", "UTC"}, more...)...)
	b.post("/account/details", append([]string{"name", "Ada L", "email", ada}, more...)...)
	b.post("/preferences", append([]string{"theme", "dark"}, more...)...)
	held := b.submit(b.review("machine=EQ-1"), "/order", slices.DeleteFunc(slices.Clone(more), func(string) bool { return true })...).want(303).header.Get("Location")
	b.post(held+"/extend", append([]string{"key", "k"}, more...)...)
	b.post(held+"/confirm", more...)
	if got := fixture.Get[string](t, s.owner, who, id); got != before {
		t.Errorf("the person is %s, was %s", got, before)
	}
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from services where org_id = $1 and price_month_minor = 4000", s.acme); n != 1 {
		t.Error("the price is not the hold's")
	}
	for _, field := range []string{"org_id", "price_month_minor", "role", "expires_at", "state", "created_by"} {
		s.order(customer, body{"machine": "EQ-2", field: "1"}).problem(422, "invalid")
	}
}

// A staff page has one spelling, and answers nobody else under another.
func TestTrial04RoleFromTheAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.person("Ada", accounts.Customer, "acme")
	for _, path := range []string{"/admin/rollout", "/admin/orgs", "/fleet", "/desk", "/admin/jobs", "/api/v1/machines"} {
		for _, spelled := range []string{
			path, strings.ToUpper(path), "/." + path, path + "/", path + ".", path + ";x=1", path + "%00", path + "%2e", strings.Replace(path, "/", "/%2f", 1),
			path[:1] + "%61" + path[2:], path + "?role=operator", path + "?_method=GET&staff=1", "/operator" + path, "/system" + path, path + "%20",
		} {
			for _, who := range []*browser{b, s.stranger()} {
				if p := who.get(spelled); p.status == 200 || p.status >= 500 || p.status == 303 {
					t.Errorf("%s: %d", spelled, p.status)
				}
			}
		}
	}
}

// Nobody becomes staff but by somebody on the server: there is no first visit that makes an operator.
func TestTrial05FirstAdministrator(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range []string{"/setup", "/install", "/admin", "/admin/setup", "/register", "/sign-up", "/api/v1/users", "/first-admin", "/admin/create"} {
		b := s.stranger()
		b.get(path).want(404)
		b.post(path, "email", "x@example.com", "password", "tea with a llama", "role", "operator").want(404)
	}
	secret, _, err := s.server.Accounts.Invite(t.Context(), by(), s.acme, "new@example.com", accounts.Customer)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	in := 0
	for range 6 {
		b := s.stranger()
		all.Go(func() {
			p := b.post("/invitation", "token", secret, "name", "New", "password", "tea with a llama", "role", "operator", "org_id", "")
			mu.Lock()
			defer mu.Unlock()
			if p.status == 303 {
				in++
			}
		})
	}
	all.Wait()
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from users where role <> 'customer' or org_id is null"); n != 0 || in != 1 {
		t.Errorf("%d accounts of staff, %d people joined by one link", n, in)
	}
}

// Nothing that changes anything is open to those who are not signed in, but the ways to sign in: no
// message from outside says that something was paid or is ready.
func TestTrial06ForgedMessages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	open := []string{
		"/sign-in", "/sign-in/second", "/sign-in/passkey", "/sign-in/passkey/options", "/sign-out", "/preferences", "/invitation", "/reset", "/forgot", "/email",
	}
	for _, rt := range s.server.routes {
		if rt.public && rt.method != http.MethodGet && !slices.Contains(open, rt.pattern) && !strings.HasPrefix(rt.pattern, "/confirm-email") {
			t.Errorf("%s %s changes something for anybody", rt.method, rt.pattern)
		}
	}
	for _, path := range []string{"/webhook", "/callback", "/ipn", "/api/v1/webhooks", "/api/v1/payments", "/api/v1/provisioned"} {
		s.do(stranger, "POST", path, body{"state": "paid"}).want(404)
	}
}

// Nothing is attached to another's hold or service.
func TestTrial07AttachToAnothers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold, _ := w.object("/holds/{id}")
	before := w.state()
	for _, who := range []caller{foreign, foreignAdmin} {
		b := w.people[who]
		b.post("/desk/notes", "subject", "hold", "id", hold, "body", "x").outcome(403, "forbidden")
		b.post("/holds/"+hold+"/confirm", "os", "x", "note", "x", "keys", "x").outcome(404, "not-found")
		b.post("/desk/requests", "where", "SITE1", "attempt", hold).outcome(403, "forbidden")
	}
	if w.state() != before {
		t.Error("something changed")
	}
}

// Every page that takes a secret is throttled, not the API alone.
func TestTrial08EveryDoorIsThrottled(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]func(b *browser, i int) int{
		"sign-in": func(b *browser, i int) int {
			return b.post("/sign-in", "email", uuid.NewString()+"@example.com", "password", "not it at all").status
		},
		"reset": func(b *browser, _ int) int { return b.get("/reset?token=x").status },
		"new": func(b *browser, _ int) int {
			return b.post("/reset", "token", "x", "password", "tea with a llama").status
		},
		"invitation": func(b *browser, _ int) int { return b.get("/invitation?token=x").status },
		"join":       func(b *browser, _ int) int { return b.post("/invitation", "token", "x").status },
		"passkey": func(b *browser, _ int) int {
			b.post("/sign-in/passkey", "credential", "{}")
			return b.get("/reset?token=x").status
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSite(t).stranger()
			for i := range guessLimit + 2 {
				if try(b, i) == http.StatusTooManyRequests {
					return
				}
			}
			t.Error("never too many")
		})
	}
}

// Many networks together are noticed too: then each has few tries, and who guesses nothing is let in.
func TestManyNetworksAreThrottled(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	s.person("Ada", accounts.Customer, "acme")
	b := s.stranger()
	from := func(i int) {
		b.header.Set("X-Forwarded-For", netip.AddrFrom4([4]byte{203, 0, byte(113 + i/200), byte(i % 200)}).String())
	}
	for i := range allGuessLimit + 10 {
		from(i / 4)
		b.get("/reset?token=guess")
	}
	from(700)
	refused := 0
	for range fewGuesses + 2 {
		if b.get("/reset?token=guess").status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d of %d refused", refused, fewGuesses+2)
	}
	from(701)
	b.post("/sign-in", "email", ada, "password", password).want(303)
}

// Markup that staff write is text for who reads it, and the policy would stop it besides.
func TestTrial09StoredScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold, _ := w.object("/holds/{id}")
	const evil = `<script>alert(1)</script><img src=x onerror=alert(1)>`
	w.people[sales].post("/desk/notes", "subject", "hold", "id", hold, "body", evil).want(303)
	fixture.Exec(t, w.owner, "update machines set status_reason = $1 where asset_tag = 'A-1'", evil)
	for _, path := range []string{"/holds/" + hold, "/fleet/machines/A-1"} {
		noMarkup(t, w.people[operator].get(path).want(200))
	}
}

// Between hold and contract nothing can be changed that was agreed.
func TestTrial10ChangedOnTheWay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 2)
	b := s.person("Ada", accounts.Customer, "acme")
	held := b.order("machine=EQ-1")
	fixture.Exec(t, s.owner, "update machines set price_month_minor = 1 where asset_tag = 'EQ-1'")
	b.post(held+"/confirm", "machine", "EQ-2", "price_month_minor", "1", "setup_minor", "0", "term", "-1", "currency", "XXX", "org", "rival").want(303)
	if got := fixture.Get[string](t, s.owner, "select m.asset_tag || ' ' || s.price_month_minor || ' ' || (s.org_id = $1) from services s join machines m on m.id = s.machine_id", s.acme); got != "EQ-1 4000 true" {
		t.Errorf("sold %s", got)
	}
}

// Files are taken for the fleet's list alone; they are read as such a list and never served.
func TestTrial11Files(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.state()
	for _, f := range []struct{ name, content string }{
		{"x.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`}, {"x.php.csv", "<?php system($_GET[0]); ?>"}, {"../../x.csv", "PK\x03\x04"}, {"x.html", "<script>alert(1)</script>"},
	} {
		var form bytes.Buffer
		m := multipart.NewWriter(&form)
		part, err := m.CreateFormFile("file", f.name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write([]byte(f.content))
		_ = m.Close()
		b := w.people[operator]
		b.header.Set("Content-Type", m.FormDataContentType())
		p := b.raw("POST", "/fleet/import", &form)
		b.header.Del("Content-Type")
		if p.status >= 500 || strings.Contains(p.raw, "<svg xmlns=\"http://www.w3.org/2000/svg\" onload") || strings.Contains(p.raw, "<script>alert") {
			t.Errorf("%s: %d %s", f.name, p.status, p.outline())
		}
		b.get("/static/" + strings.TrimPrefix(f.name, "../../")).want(404)
	}
	if w.state() != before {
		t.Error("something was taken in")
	}
}

// A link that was sent to an address is worth nothing once the address is another.
func TestTrial12ChangedAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.person("Ada", accounts.Customer, "acme")
	s.person("Eva", accounts.OrgAdmin, "acme")
	id := userID(t, s, ada)
	secret, _, err := s.server.Accounts.AddReset(t.Context(), by(), s.acme, userID(t, s, "org-admin-acme@example.com"), id)
	if err != nil {
		t.Fatal(err)
	}
	b.post("/account/details", "name", "Ada", "email", "new@example.com", "old_password", "not it at all").want(422)
	b.post("/account/details", "name", "Ada", "email", "new@example.com", "old_password", password)
	if fixture.Get[string](t, s.owner, "select email from users where id = $1", id) != ada {
		s.stranger().get("/reset?token=" + secret).want(410)
	}
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from users where email = 'new@example.com' and id <> $1", id); n != 0 {
		t.Error("somebody else has it")
	}
}

// Every list, count, file and stream has the rows of its reader alone.
func TestTrial13Scope(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fillAcme(w)
	for _, leak := range w.leaks() {
		t.Error(leak)
	}
	for _, path := range []string{"/api/v1/holds", "/api/v1/services"} {
		if n := w.do(foreign, "GET", path, nil).want(200).number("items.#"); n != 0 {
			t.Errorf("%s has %d rows of another organisation", path, n)
		}
	}
}

// A file needs the rights of its page each time: not another's, not a stranger's, not after the end.
func TestTrial14Exports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attempt, _ := w.object("/desk/attempts/{id}")
	ada := w.people[customer]
	for _, path := range []string{"/desk/attempts.csv", "/desk/attempts/" + attempt + "/machines.csv"} {
		w.people[stranger].get(path).outcome(401, "unauthenticated")
		w.people[foreign].get(path).outcome(403, "forbidden")
		if p := w.people[sales].get(path).want(200); !strings.HasPrefix(p.header.Get("Content-Disposition"), "attachment") || !strings.Contains(p.header.Get("Cache-Control"), "no-store") {
			t.Errorf("%s: %v", path, p.header)
		}
	}
	ada.get("/offers.csv").want(200)
	ada.header.Set("Sec-Fetch-Dest", "script")
	ada.get("/offers.csv").outcome(403, "forbidden")
	ada.header.Del("Sec-Fetch-Dest")
	ada.post("/sign-out").want(303)
	ada.get("/offers.csv").outcome(401, "unauthenticated")
}

// No search finds what its reader may not see.
func TestTrial15Search(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fixture.Add(t, w.owner, fixture.Machine{Tag: "SECRET-1", RAM: 777})
	w.held(customer, body{"machine": "SECRET-1"})
	fixture.Exec(t, w.owner, "update machines set serial = 'SERIAL-777', room = 'ROOM-777' where asset_tag = 'SECRET-1'")
	for _, path := range []string{"/desk/find?q=SECRET", "/fleet?q=SECRET", "/desk/attempts.csv?org=acme", "/api/v1/machines?q=SECRET"} {
		w.people[stranger].get(path).want(401)
		if p := w.people[foreign].get(path); p.status != 403 && p.status != 401 {
			t.Errorf("%s: %d", path, p.status)
		}
	}
	for _, path := range []string{
		"/offers?q=SECRET", "/offers?min_ram_gb=777", "/order?step=match&min_ram_gb=777", "/order/match?min_ram_gb=777", "/holds?q=SECRET", "/services?q=SERIAL", "/offers.csv", "/waiting",
	} {
		p := w.people[foreign].get(path)
		for _, secret := range []string{"SECRET-1", "SERIAL-777", "ROOM-777", "acme"} {
			if strings.Contains(p.raw, secret) {
				t.Errorf("%s shows %s", path, secret)
			}
		}
	}
}
