package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/static"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.person("Ada", accounts.Customer, "acme")
	at, _ := url.Parse(s.http.URL)
	token := func(b *browser) string {
		for _, c := range b.client.Jar.Cookies(at) {
			if c.Name == "session" {
				return c.Value
			}
		}
		return ""
	}
	old := token(b)
	if old == "" {
		t.Fatal("no session cookie")
	}
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from sessions where token = $1 or position(convert_to($1, 'UTF8') in data) > 0", old); n != 0 {
		t.Error("the token itself is in the database")
	}
	again := b.post("/sign-in", "email", "customer-acme@example.com", "password", password).want(303)
	if token(b) == old {
		t.Error("the token is not renewed at sign-in")
	}
	cookie := again.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	live := token(b)
	b.post("/sign-out").want(303)
	b.get("/holds").outcome(401, "unauthenticated")
	thief := s.stranger()
	for _, v := range []string{old, live} {
		thief.client.Jar.SetCookies(at, []*http.Cookie{{Name: "session", Value: v, Path: "/"}})
		thief.get("/holds").outcome(401, "unauthenticated")
	}
	// Signing out everywhere ends sessions that this browser does not know of.
	b = s.person("Bea", accounts.OrgAdmin, "acme")
	b.get("/holds").want(200)
	if err := s.server.Accounts.SignOutEverywhere(t.Context(), by(), userID(t, s, "org-admin-acme@example.com")); err != nil {
		t.Fatal(err)
	}
	b.get("/holds").outcome(401, "unauthenticated")
}

func TestSignInRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.person("Ada", accounts.Customer, "acme")
	b := s.stranger()
	wrong := b.post("/sign-in", "email", "customer-acme@example.com", "password", "not it at all").want(401)
	unknown := b.post("/sign-in", "email", "nobody@example.com", "password", "not it at all").want(401)
	if strings.ReplaceAll(plain(wrong), "customer-acme", "") != strings.ReplaceAll(plain(unknown), "nobody", "") {
		t.Error("a wrong password and an unknown address are told apart")
	}
	if strings.Contains(wrong.raw, "not it at all") {
		t.Error("the password is shown again")
	}
	b.post("/sign-in", "email", "", "password", "").want(422).says("2 things need your attention")
	for _, next := range []string{"//evil.example", `/\evil.example`, "https:evil.example", "https://evil.example/", "javascript:alert(1)", "/\t/evil.example", "/a/../../b", "evil"} {
		p := b.post("/sign-in", "email", "customer-acme@example.com", "password", password, "next", next).want(303)
		if got := p.header.Get("Location"); got != "/" {
			t.Errorf("next %q leads to %q", next, got)
		}
	}
	p := b.post("/sign-in", "email", "customer-acme@example.com", "password", password, "next", "/offers?sort=-ram").want(303)
	if got := p.header.Get("Location"); got != "/offers?sort=-ram" {
		t.Errorf("led to %q", got)
	}
}

// TestAnOrderAfterTheSessionEnded keeps what was entered.
func TestAnOrderAfterTheSessionEnded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 1)
	s.person("Ada", accounts.Customer, "acme")
	b := s.stranger()
	asked := b.post("/order", "key", "the-key", "min_ram_gb", "32").outcome(401, "unauthenticated")
	in := b.submit(asked, "/sign-in", "email", "customer-acme@example.com", "password", password).want(303)
	review := b.follow(in).want(200).says("at least 32")
	if keyOf(review) != "the-key" {
		t.Error("the key changed")
	}
}

func TestPagesByRole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 1)
	who := map[string]*browser{
		"stranger": s.stranger(), "customer": s.person("A", accounts.Customer, "acme"), "admin": s.person("B", accounts.OrgAdmin, "acme"),
		"sales": s.person("C", accounts.Sales, ""), "operator": s.person("D", accounts.Operator, ""),
	}
	for _, c := range []struct {
		path string
		want map[string]int
	}{
		{"/", map[string]int{"stranger": 200, "customer": 200, "admin": 200, "sales": 303, "operator": 303}},
		{"/help", map[string]int{"stranger": 200, "customer": 200, "admin": 200, "sales": 200, "operator": 200}},
		{"/help/api", map[string]int{"stranger": 200, "customer": 200, "admin": 200, "sales": 200, "operator": 200}},
		{"/problems/none-left", map[string]int{"stranger": 200, "customer": 200, "admin": 200, "sales": 200, "operator": 200}},
		{"/problems/nonsense", map[string]int{"stranger": 404, "customer": 404, "admin": 404, "sales": 404, "operator": 404}},
		{"/offers", map[string]int{"stranger": 401, "customer": 200, "admin": 200, "sales": 200, "operator": 200}},
		{"/order", map[string]int{"stranger": 401, "customer": 200, "admin": 200, "sales": 200, "operator": 403}},
		{"/holds", map[string]int{"stranger": 401, "customer": 200, "admin": 200, "sales": 200, "operator": 200}},
		{"/services", map[string]int{"stranger": 401, "customer": 200, "admin": 200, "sales": 200, "operator": 200}},
		{"/account", map[string]int{"stranger": 401, "customer": 200, "admin": 200, "sales": 200, "operator": 200}},
		{"/desk", map[string]int{"stranger": 401, "customer": 403, "admin": 403, "sales": 200, "operator": 200}},
		{"/fleet", map[string]int{"stranger": 401, "customer": 403, "admin": 403, "sales": 200, "operator": 200}},
		{"/fleet/machines/EQ-1", map[string]int{"stranger": 401, "customer": 403, "admin": 403, "sales": 200, "operator": 200}},
		{"/org/rollout", map[string]int{"stranger": 401, "customer": 403, "admin": 200, "sales": 404, "operator": 404}},
		{"/org/rollout?org=acme", map[string]int{"stranger": 401, "customer": 403, "admin": 200, "sales": 200, "operator": 200}},
		{"/admin/rollout", map[string]int{"stranger": 401, "customer": 403, "admin": 403, "sales": 403, "operator": 200}},
		{"/nowhere", map[string]int{"stranger": 404, "customer": 404, "admin": 404, "sales": 404, "operator": 404}},
	} {
		for name, b := range who {
			p := b.get(c.path)
			if p.status != c.want[name] {
				t.Errorf("%s as %s: %d, want %d", c.path, name, p.status, c.want[name])
			}
			if p.status != http.StatusSeeOther {
				checkLayout(t, p)
			}
		}
	}
	state := s.state()
	for _, path := range []string{"/fleet/machines/EQ-1/status", "/admin/rollout"} {
		for _, name := range []string{"stranger", "customer", "admin", "sales"} {
			if p := who[name].post(path, "launch", "off", "status", "retired", "reason", "x"); p.status != 401 && p.status != 403 {
				t.Errorf("%s as %s: %d", path, name, p.status)
			}
		}
	}
	for _, name := range []string{"stranger", "customer", "sales"} {
		if p := who[name].post("/org/rollout?org=acme", "setting", "off"); p.status != 401 && p.status != 403 {
			t.Errorf("rollout as %s: %d", name, p.status)
		}
	}
	if s.state() != state {
		t.Error("something changed")
	}
}

// checkLayout: also a refusal is a page of the site.
func checkLayout(t *testing.T, p page) {
	t.Helper()
	if len(p.find("h1")) != 1 || len(p.find("main")) != 1 || len(p.find("footer")) == 0 || !strings.Contains(p.raw, p.header.Get("X-Request-Id")) {
		t.Errorf("%s: not in the layout: %s", p.what, p.outline())
	}
	if len(p.raw) > 50_000 {
		t.Errorf("%s: %d bytes", p.what, len(p.raw))
	}
	if !strings.Contains(p.header.Get("Content-Security-Policy"), "'nonce-"+attrOf(p.find("script")[0], "nonce")) {
		t.Errorf("%s: the nonce is not the policy's", p.what)
	}
	if p.header.Get("Cache-Control") == "" {
		t.Errorf("%s may be cached", p.what)
	}
}

func TestStaffPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 2)
	ada, sam, olga, bea := s.person("Ada", accounts.Customer, "acme"), s.person("Sam", accounts.Sales, ""), s.person("Olga", accounts.Operator, ""), s.person("Bea", accounts.OrgAdmin, "acme")
	held := ada.order("machine=EQ-1")
	none := ada.submit(ada.review("min_ram_gb=1024"), "/order").outcome(409, "none-left")
	id := referenceOf(none)
	for range 40 { // readable within a second
		if sam.get("/desk/attempts/"+id).status == 200 {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	sam.get("/desk").want(200).says("None left").says("acme")
	sam.get("/desk/attempts/" + id).want(200).says("Too little memory").says("Ada").says(id)
	ada.get("/desk/attempts/"+id).outcome(403, "forbidden")
	sam.get("/desk/attempts/x").outcome(404, "not-found")
	sam.get(held).outcome(200, "held").says("For acme")
	olga.get("/fleet").want(200).says("EQ-1")
	machine := olga.get("/fleet/machines/EQ-1").want(200).says("On hold for acme").says("Cancel the hold or wait for its deadline")
	if strings.Contains(machine.raw, `value="retired"`) {
		t.Error("a machine on hold is offered to be retired")
	}
	olga.submit(machine, "/status", "status", "maintenance", "reason", "").want(422).says("Please fill this in")
	olga.follow(olga.submit(machine, "/status", "status", "maintenance", "reason", "fan")).want(200).says("fan").says("by Olga")
	olga.post("/fleet/machines/EQ-1/status", "status", "retired", "reason", "x").outcome(409, "illegal-move")

	// Sales order for an organisation.
	form := sam.get("/order").want(200).says("For the organisation")
	_ = form
	sam.follow(sam.get("/order?step=review&machine=EQ-2")).outcome(422, "invalid").says("Choose the organisation")
	behalf := sam.submit(sam.review("machine=EQ-2&org=rival"), "/order").want(303).header.Get("Location")
	sam.get(behalf).outcome(200, "held").says("For rival")
	ada.get(behalf).outcome(404, "not-found")

	page := bea.get("/org/rollout").want(200).says("launched for everybody")
	bea.follow(bea.submit(page, "/org/rollout", "setting", "off")).want(200).says("Off for acme").says("by Bea")
	bea.submit(page, "/org/rollout", "setting", "maybe").want(422)
	ada.get("/offers").says("Ordering is switched off")
	launch := olga.get("/admin/rollout").want(200)
	olga.submit(launch, "/admin/rollout", "launch", "percent", "percent", "101").want(422)
	olga.follow(olga.submit(launch, "/admin/rollout", "launch", "percent", "percent", "25")).want(200).says("For 25% of the undecided").says("by Olga")
}

func TestLanguageAndColours(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.person("Ada", accounts.Customer, "acme")
	b.header.Set("Accept-Language", "de-DE,de;q=0.9")
	if p := b.get("/holds").says("Reservierungen"); attrOf(p.find("html")[0], "lang") != "de" {
		t.Error("the page does not say that it is German")
	}
	back := b.post("/preferences", "language", "en", "next", "/holds?state=held").want(303).header.Get("Location")
	if back != "/holds?state=held" {
		t.Errorf("led to %q", back)
	}
	b.get("/holds").says("Holds")
	other := s.stranger()
	other.header.Set("Accept-Language", "de")
	other.post("/sign-in", "email", "customer-acme@example.com", "password", password).want(303)
	other.get("/holds").says("Holds") // the person's own setting follows to another browser
	if got := b.post("/preferences", "theme", "dark", "next", "//evil").want(303).header.Get("Location"); got != "/" {
		t.Errorf("led to %q", got)
	}
	if p := b.get("/holds"); attrOf(p.find("html")[0], "data-theme") != "dark" {
		t.Error("the colours were not kept")
	}
	b.get("/problems/none-left").says("None left")
	s.stranger().get("/nowhere").says("Page not found")
}

func TestOddRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.person("Ada", accounts.Customer, "acme")
	b.do("POST", "/offers", nil).outcome(405, "method-not-allowed")
	b.get("/sign-out").outcome(405, "method-not-allowed")
	b.post("/order", "x", strings.Repeat("y", 100_000)).outcome(413, "too-large")
	b.do("POST", "/order", strings.NewReader("a=%zz")).want(400)
	b.get("/offers?min_ram_gb=x&sort=nonsense&page=-4&unknown=1").want(200).says("One thing needs your attention")
	b.get("/offers?page=99999999999999999999").want(200)
	b.get("/holds?after=x&state=nonsense").want(200)
	b.header.Set("Sec-Fetch-Site", "cross-site")
	b.post("/sign-out").outcome(403, "cross-origin")
	b.header.Del("Sec-Fetch-Site")
	b.get("/holds").want(200)
	st := s.stranger()
	css := st.get(static.Path("app.css")).want(200)
	if !strings.Contains(css.header.Get("Cache-Control"), "immutable") || css.header.Get("Set-Cookie") != "" {
		t.Errorf("headers of a static file: %v", css.header)
	}
	st.get("/static/000000000000/app.css").outcome(404, "not-found")
	st.get("/static/../pages.go").want(404)
	st.get("/static/").outcome(404, "not-found")
}

func TestSecureCookies(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.Secure = true })
	s.person("Ada", accounts.Customer, "acme")
	p := s.stranger().post("/sign-in", "email", "customer-acme@example.com", "password", password).want(303)
	c := p.header.Get("Set-Cookie")
	if !strings.HasPrefix(c, "__Host-session=") || !strings.Contains(c, "Secure") || strings.Contains(c, "Domain") {
		t.Errorf("cookie: %s", c)
	}
}

func referenceOf(p page) string {
	for _, n := range p.find("code") {
		if attrOf(n, "class") == "ref" {
			return strings.TrimSpace(textOf(n))
		}
	}
	p.t.Fatalf("%s: no reference", p.what)
	return ""
}
