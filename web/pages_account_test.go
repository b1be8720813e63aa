package web

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/views/i18n"
)

const ada = "customer-acme@example.com"

// again signs somebody in whom the site has already.
func (s *site) again(email, word string) *browser {
	s.t.Helper()
	b := s.stranger()
	b.post("/sign-in", "email", email, "password", word).want(http.StatusSeeOther)
	return b
}

// fields are the names of a form's fields.
func fields(p page, action string) (names []string) {
	for _, f := range p.find("form") {
		if strings.HasSuffix(attrOf(f, "action"), action) {
			for _, i := range append(findIn(f, "input"), findIn(f, "select")...) {
				names = append(names, attrOf(i, "name"))
			}
		}
	}
	return names
}

func TestAccountPreferences(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.person("Ada", accounts.Customer, "acme")
	b.header.Set("Accept-Language", "de")
	p := b.get("/account").want(200).says("Ada").says(ada).says("acme").says("Mitglied")
	if n := len(findIn(p.find("datalist")[0], "option")); n < 400 {
		t.Errorf("%d time zones are offered", n)
	}
	b.submit(p, "/account/preferences", "language", "xx", "time_zone", "Mars/Olympus").want(422).
		says("2 Angaben").says("Europe/Berlin")
	b.follow(b.submit(p, "/account/preferences", "language", "en", "time_zone", "Asia/Tokyo", "theme", "dark")).want(200).says("Saved.")
	p = b.get("/account")
	if attrOf(p.find("html")[0], "lang") != "en" || attrOf(p.find("html")[0], "data-theme") != "dark" {
		t.Error("language or colours were not kept")
	}
	// The person's language counts in every browser, before its cookie and before what it asks for.
	other := s.again(ada, password)
	other.header.Set("Accept-Language", "de")
	at, _ := url.Parse(s.http.URL)
	other.client.Jar.SetCookies(at, []*http.Cookie{{Name: "language", Value: "de", Path: "/"}})
	other.get("/account").says("Your account")
	// Without a preference the cookie counts, then the browser.
	b.submit(p, "/account/preferences", "language", "", "time_zone", "Asia/Tokyo").want(303)
	other.get("/account").says("Ihr Konto")
	b.get("/account").says("Ihr Konto")
	b.header.Set("Accept-Language", "fr")
	b.get("/account").says("Your account")
	if z := fixture.Get[string](t, s.owner, "select time_zone from users where email = $1", ada); z != "Asia/Tokyo" {
		t.Errorf("the zone is %s", z)
	}
	b.get("/account/preferences").want(303)
	// Nothing else can be set.
	before := fixture.Get[string](t, s.owner, "select u::text from users u where email = $1", ada)
	b.post("/account/preferences", "language", "", "time_zone", "Asia/Tokyo", "role", "operator", "org_id", s.rival.String(), "email", "x@example.com",
		"name", "X", "is_admin", "true", "disabled_at", "", "password_hash", "x", "id", s.acme.String()).want(303)
	if after := fixture.Get[string](t, s.owner, "select u::text from users u where email = $1", ada); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestPasswordPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.person("Ada", accounts.Customer, "acme")
	other := s.again(ada, password)
	p := b.get("/account/password").want(200)
	b.submit(p, "/account/password", "old_password", "wrong", "password", "short").want(422).
		says("2 things").says("not your present password").says("12 to 200")
	b.submit(p, "/account/password", "old_password", password, "password", "Password1234").want(422).says("tried first")
	wrong := b.submit(p, "/account/password", "old_password", password, "password", "acme-ada-acme").want(422).says("made of your name")
	if strings.Contains(wrong.raw, "acme-ada-acme") {
		t.Error("the password is shown again")
	}
	other.get("/holds").want(200)
	old := sessionToken(s, b)
	b.follow(b.submit(p, "/account/password", "old_password", password, "password", "tea with a llama")).want(200).says("Your password is changed")
	if sessionToken(s, b) == old {
		t.Error("the session has its old token")
	}
	other.get("/holds").outcome(401, "unauthenticated")
	b.get("/holds").want(200)
	s.stranger().post("/sign-in", "email", ada, "password", password).want(401)
	s.again(ada, "tea with a llama")
}

func sessionToken(s *site, b *browser) string {
	at, _ := url.Parse(s.http.URL)
	for _, c := range b.client.Jar.Cookies(at) {
		if c.Name == "session" {
			return c.Value
		}
	}
	return ""
}

func TestSessionsPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	here := s.person("Ada", accounts.Customer, "acme")
	s.person("Rob", accounts.Customer, "rival")
	there := s.stranger()
	there.header.Set("User-Agent", "Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/140.0")
	there.post("/sign-in", "email", ada, "password", password).want(303)
	third := s.again(ada, password)
	p := here.get("/account").want(200).says("Firefox on Windows").says("This one").says("From 127.0.0.1")
	if rows := len(findIn(p.find("tbody")[0], "tr")); rows != 3 {
		t.Errorf("%d sessions", rows)
	}
	foreign := fixture.Get[string](t, s.owner, "select s.id::text from sessions s join users u on u.id = s.user_id where u.email like '%rival%'")
	here.post("/account/sessions/"+foreign+"/end").outcome(404, "not-found")
	here.post("/account/sessions/nonsense/end").outcome(404, "not-found")
	id := fixture.Get[string](t, s.owner, "select id::text from sessions where user_agent like '%Firefox%'")
	here.follow(here.submit(p, "/account/sessions/"+id+"/end")).want(200).says("That session has ended")
	there.get("/holds").outcome(401, "unauthenticated")
	third.get("/holds").want(200)
	here.follow(here.submit(here.get("/account"), "/account/sessions/end-others")).want(200).says("signed out everywhere else")
	third.get("/holds").outcome(401, "unauthenticated")
	third = s.again(ada, password)
	here.submit(here.get("/account"), "/account/sessions/end-all").want(303)
	here.get("/holds").outcome(401, "unauthenticated")
	third.get("/holds").outcome(401, "unauthenticated")
	// Ending the own session by its row signs out too.
	third = s.again(ada, password)
	id = fixture.Get[string](t, s.owner, "select s.id::text from sessions s join users u on u.id = s.user_id where u.email = $1 and expiry > clock_timestamp()", ada)
	third.post("/account/sessions/" + id + "/end").want(303)
	third.get("/holds").outcome(401, "unauthenticated")
}

// The words and the answer are the same whether or not the account exists, and the right password
// does not pass.
func TestSignInIsThrottledByAccount(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.person("Ada", accounts.Customer, "acme")
	b := s.stranger()
	var texts []string
	for _, email := range []string{ada, "nobody@example.com"} {
		for range 10 {
			b.post("/sign-in", "email", email, "password", "not the password").want(401)
		}
		p := b.post("/sign-in", "email", email, "password", password).want(429).says("Too many wrong passwords for this address")
		if p.header.Get("Retry-After") == "" || p.header.Get("X-Ratelimit-Remaining") != "" {
			t.Errorf("headers: %v", p.header)
		}
		texts = append(texts, strings.ReplaceAll(plain(p), email, ""))
	}
	if len(texts[0]) != len(texts[1]) {
		t.Errorf("told apart:\n%s\n%s", texts[0], texts[1])
	}
	fixture.Exec(t, s.owner, "update sign_in_failures set since = since - interval '16 minutes'")
	s.again(ada, password)
}

func TestSignInIsThrottledByNetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	s.person("Ada", accounts.Customer, "acme")
	b := s.stranger()
	b.header.Set("X-Forwarded-For", "203.0.113.9")
	for range guessLimit {
		b.get("/reset?token=guess").want(404)
	}
	b.post("/sign-in", "email", ada, "password", password).want(429).says("from your network")
	b.get("/reset?token=guess").outcome(429, "too-many-requests")
	b.post("/invitation", "token", "guess").outcome(429, "too-many-requests")
	other := s.stranger()
	other.header.Set("X-Forwarded-For", "203.0.113.10")
	other.post("/sign-in", "email", ada, "password", password).want(303)
	other.get("/account").says("From 203.0.113.10")
}

func TestUntrustedProxyIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header  string
		trusted []netip.Prefix
		told    bool
	}{
		"a proxy that nobody trusts": {header: "203.0.113.9", told: true},
		"no proxy":                   {},
		"a proxy that is trusted":    {header: "203.0.113.9", trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(conf *Config) { conf.TrustedProxies = c.trusted })
			olga := s.person("Olga", accounts.Operator, "")
			olga.header.Set("X-Forwarded-For", c.header)
			olga.get("/fleet").want(200)
			page := olga.get("/admin/checks").want(200)
			if c.told {
				page.says("TRUSTED_PROXIES")
			} else {
				page.lacks("TRUSTED_PROXIES")
			}
		})
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	s := &server{Config: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}}}
	for _, c := range []struct {
		remote string
		header []string
		want   string
	}{
		{"192.0.2.1:5", nil, "192.0.2.1"},
		{"192.0.2.1:5", []string{"198.51.100.7"}, "192.0.2.1"}, // not from a proxy: anybody's words
		{"10.0.0.1:5", []string{"198.51.100.7"}, "198.51.100.7"},
		{"10.0.0.1:5", []string{"1.2.3.4, 198.51.100.7"}, "198.51.100.7"}, // the first is the client's own claim
		{"10.0.0.1:5", []string{"1.2.3.4", "198.51.100.7, 10.0.0.2"}, "198.51.100.7"},
		{"10.0.0.1:5", []string{"nonsense"}, "10.0.0.1"},
		{"10.0.0.1:5", nil, "10.0.0.1"},
		{"[::1]:5", []string{"2001:db8:1:2:3::9"}, "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:5", nil, "192.0.2.1"},
		{"unix", nil, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.header}}
		if got := s.network(r); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.remote, c.header, got, c.want)
		}
	}
}

// In the made-up language every page of a person still works.
func TestPseudoLocaleByCookie(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.person("Ada", accounts.OrgAdmin, "acme")
	at, _ := url.Parse(s.http.URL)
	b.client.Jar.SetCookies(at, []*http.Cookie{{Name: "language", Value: i18n.Pseudo, Path: "/"}})
	for _, path := range []string{"/", "/account", "/account/password", "/org", "/org/history", "/org/members/invite", "/org/tokens/new", "/offers", "/order"} {
		p := b.get(path).want(200)
		if attrOf(p.find("html")[0], "lang") != i18n.Pseudo || !strings.Contains(textOf(p.find("h1")[0]), "[") && path != "/org" {
			t.Errorf("%s: %s", path, textOf(p.find("h1")[0]))
		}
	}
}
