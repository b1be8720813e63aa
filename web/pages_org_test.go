package web

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// secret is what a page shows this once.
func secretOf(p page) string { p.t.Helper(); return referenceOf(p) }

// local is a link without its host.
func local(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return u.RequestURI()
}

func TestInviteAndJoin(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.BaseURL = "https://portal.example" })
	eva := s.person("Eva", accounts.OrgAdmin, "acme")
	form := eva.get("/org/members/invite").want(200)
	eva.submit(form, "/org/members/invite", "email", "no address", "role", "customer").want(422).says("Enter an e-mail address")
	eva.submit(form, "/org/members/invite", "email", "cy@example.com", "role", "operator").want(422).says("Choose one of these")
	eva.submit(form, "/org/members/invite", "email", "org-admin-acme@example.com", "role", "customer").want(409).says("belongs to a member")
	made := eva.submit(form, "/org/members/invite", "email", "Cy@Example.com", "role", "customer", "org_id", s.rival.String(), "org", "rival").
		outcome(201, "invitation-made").says("cy@example.com")
	link := secretOf(made)
	if !strings.HasPrefix(link, "https://portal.example/invitation?token=") {
		t.Fatalf("the link is %s", link)
	}
	eva.get("/org").want(200).says("cy@example.com").says("by Eva")
	if strings.Contains(eva.get("/org").raw, link) {
		t.Error("the link is shown again")
	}

	cy := s.stranger()
	cy.header.Set("Accept-Language", "de")
	join := cy.get(local(t, link)).outcome(200, "invitation").says("Bei acme mitmachen").says("Server zu bestellen")
	if got := fields(join, "/invitation"); !slices.Equal(got, []string{"token", "time_zone", "username", "name", "password"}) {
		t.Errorf("fields %v", got)
	}
	cy.submit(join, "/invitation", "name", "", "password", "tea with a llama").want(422).says("Namen")
	cy.submit(join, "/invitation", "name", "Cy", "password", "cy@example.com").want(422).says("besteht aus")
	in := cy.post("/invitation", "token", link[strings.Index(link, "=")+1:], "name", "Cy", "password", "tea with a llama", "time_zone", "Europe/Berlin",
		"role", "org-admin", "email", "boss@example.com", "org_id", s.rival.String(), "is_admin", "1").want(303)
	cy.follow(in).want(200).says("Willkommen")
	cy.get("/account").says("Mitglied").says("cy@example.com").says("acme")
	cy.get("/org").outcome(403, "forbidden")
	if got := fixture.Get[string](t, s.owner, "select role || ' ' || time_zone || ' ' || (org_id = $1) from users where email = 'cy@example.com'", s.acme); got != "customer Europe/Berlin true" {
		t.Errorf("made %s", got)
	}
	for path, want := range map[string]string{local(t, link): "link-used", "/invitation?token=x": "link-unknown", "/invitation": "link-unknown"} {
		if p := s.stranger().get(path); attrOf(p.find("main")[0], "data-outcome") != want || p.status != 410 && p.status != 404 {
			t.Errorf("%s: %d, %s", path, p.status, p.outline())
		}
	}
	s.stranger().post("/invitation", "token", strings.TrimPrefix(link, "https://portal.example/invitation?token="), "name", "X", "password", "tea with a llama").want(410)
	// No secret is in the log.
	if secret := link[strings.Index(link, "=")+1:]; strings.Contains(s.log.String(), secret) {
		t.Error("the log has the secret")
	}

	// An address that has an account elsewhere is told to its owner alone.
	s.person("Rob", accounts.Customer, "rival")
	taken := secretOf(eva.submit(form, "/org/members/invite", "email", "customer-rival@example.com", "role", "customer").want(201))
	p := s.stranger().get(local(t, taken)).want(200)
	s.stranger().submit(p, "/invitation", "name", "Rob", "password", "tea with a llama").want(422).says("an account with this address")
	eva.submit(eva.get("/org"), "/revoke").want(303)
	s.stranger().get(local(t, taken)).outcome(410, "link-revoked")
}

func TestMemberPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	eva, cy, rob := s.person("Eva", accounts.OrgAdmin, "acme"), s.person("Cy", accounts.Customer, "acme"), s.person("Rob", accounts.OrgAdmin, "rival")
	path := "/org/members/" + userID(t, s, "customer-acme@example.com").String()
	own := "/org/members/" + userID(t, s, "org-admin-acme@example.com").String()
	eva.get("/org").want(200).says("0 of 5").says("0 of 50").says("Cy").says("Eva")
	p := eva.get(path).want(200).says("customer-acme@example.com")

	eva.follow(eva.submit(p, path+"/role", "role", "org-admin", "name", "X", "org_id", s.rival.String(), "password", "x")).want(200).says("Administrator").says("The role is changed")
	cy.get("/holds").outcome(401, "unauthenticated")
	cy = s.again("customer-acme@example.com", password)
	cy.get("/org").want(200)
	eva.submit(p, path+"/role", "role", "sales").want(422)
	eva.follow(eva.submit(p, path+"/role", "role", "customer")).want(200).says("Member")
	eva.get(own).want(200).says("This is you")
	eva.post(own+"/role", "role", "customer").want(409).says("Nobody changes their own rights")
	eva.post(own + "/disable").want(409)

	// A link to a new password asks for the administrator's own.
	eva.submit(p, path+"/reset", "own_password", "wrong").want(422).says("This is not your password")
	link := secretOf(eva.submit(p, path+"/reset", "own_password", password).outcome(201, "reset-made"))
	cy = s.again("customer-acme@example.com", password)
	fresh := s.stranger()
	form := fresh.get(local(t, link)).outcome(200, "reset").says("customer-acme@example.com")
	fresh.submit(form, "/reset", "password", "passwordpassword").want(422).says("tried first")
	fresh.submit(form, "/reset", "password", "tea with a llama", "email", "org-admin-acme@example.com", "user_id", own).outcome(200, "reset-done")
	cy.get("/holds").outcome(401, "unauthenticated")
	fresh.submit(form, "/reset", "password", "tea with a llama").outcome(410, "link-used")
	cy = s.again("customer-acme@example.com", "tea with a llama")
	eva.post(own+"/reset", "own_password", password).want(409)

	eva.follow(eva.submit(p, path+"/disable")).want(200).says("Disabled")
	cy.get("/holds").outcome(401, "unauthenticated")
	s.stranger().post("/sign-in", "email", "customer-acme@example.com", "password", "tea with a llama").want(401)
	eva.follow(eva.submit(eva.get(path), path+"/enable")).want(200).says("Can sign in")
	s.again("customer-acme@example.com", "tea with a llama")

	// Another organisation's answer as missing ones do.
	for _, action := range []string{"", "/role", "/reset", "/disable", "/enable"} {
		if action != "" {
			rob.post(path+action, "role", "customer", "own_password", password).outcome(404, "not-found")
		} else {
			rob.get(path).outcome(404, "not-found")
		}
	}
	eva.get("/org/members/nonsense").outcome(404, "not-found")
}

func TestTokenPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	eva, rob := s.person("Eva", accounts.OrgAdmin, "acme"), s.person("Rob", accounts.OrgAdmin, "rival")
	form := eva.get("/org/tokens/new").want(200)
	eva.submit(form, "/org/tokens", "name", "CI", "role", "customer", "own_password", "wrong").want(422).says("This is not your password")
	eva.submit(form, "/org/tokens", "name", " ", "role", "customer", "own_password", password).want(422).says("Enter a name")
	eva.submit(form, "/org/tokens", "name", "CI", "role", "operator", "own_password", password).want(422)
	made := eva.submit(form, "/org/tokens", "name", "CI", "role", "customer", "own_password", password, "org_id", s.rival.String(), "org", "rival").outcome(201, "token-made")
	token := secretOf(made)
	s.tokens["ci"] = token
	fixture.Equal(t, s.owner, "EQ", 1)
	hold := s.held("ci", body{"machine": "EQ-1"})
	if org := fixture.Get[bool](t, s.owner, "select org_id = $1 from holds where id = $2", s.acme, hold); !org {
		t.Error("the token is another organisation's")
	}
	p := eva.get("/org").want(200).says("CI").says("by Eva")
	if strings.Contains(p.raw, token) {
		t.Error("the token is shown again")
	}
	id := fixture.Get[string](t, s.owner, "select id::text from api_tokens where name = 'CI'")
	one := eva.get("/org/tokens/" + id).want(200).says("Token CI")
	rob.get("/org/tokens/"+id).outcome(404, "not-found")
	rob.post("/org/tokens/"+id+"/revoke").outcome(404, "not-found")
	eva.follow(eva.submit(one, "/revoke")).want(200).says("The token is revoked")
	s.do("ci", "GET", "/api/v1/holds", nil).problem(401, "unauthenticated")
	eva.get("/org/tokens/" + id).want(200).says("Revoked")
	eva.get("/org/history").want(200).says("Token revoked").says("Token made").says("the program “CI”")
	eva.get("/org").says("1 of 5").says("1 on hold, 0 rented")
}

func TestOrgHistoryPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 3)
	eva, cy, rob := s.person("Eva", accounts.OrgAdmin, "acme"), s.person("Cy", accounts.Customer, "acme"), s.person("Rob", accounts.Customer, "rival")
	rob.get("/org/history").want(200).says("Nothing has happened")
	held := cy.order("machine=EQ-1")
	cy.submit(cy.get(held), "/cancel").want(303)
	sold := eva.order("machine=EQ-2")
	eva.submit(eva.get(sold+"/confirm"), "/confirm").want(303)
	if _, err := s.server.Accounts.SetLimits(t.Context(), by(), "acme", 4, 50); err != nil {
		t.Fatal(err)
	}
	eva.submit(eva.get("/org/rollout"), "/org/rollout", "setting", "off").want(303)
	p := eva.get("/org/history").want(200)
	for _, words := range []string{"Put on hold", "Given back", "Confirmed and rented", "EQ-1", "EQ-2", "Cy", "Eva", "On hold: 5 → 4.", "As we launch it → Off", "our staff", "Joined"} {
		p.says(words)
	}
	if !slices.Contains(p.links(), held) {
		t.Errorf("no link to %s: %v", held, p.links())
	}
	p = cy.get("/org/history?show=people").want(200).says("Put on hold").says("Eva")
	for _, words := range []string{"Joined", "Token", "Limits changed"} {
		if strings.Contains(p.raw, words) {
			t.Errorf("a member sees %s", words)
		}
	}
	if p := rob.get("/org/history"); strings.Contains(p.raw, "EQ-") || strings.Contains(p.raw, "Eva") {
		t.Error("another organisation sees it")
	}
	eva.get("/org/history?show=settings").says("Limits changed")
	eva.get("/org/history?show=nonsense&after=nonsense").want(200).says("Put on hold")
	// Page by page.
	fixture.Exec(t, s.owner, "insert into account_events (org_id, subject, subject_id, subject_name, event, actor, after) select $1, 'token', gen_random_uuid(), 'T' || i, 'added', 'test', '{}' from generate_series(1, 120) i", s.acme)
	seen, path := 0, "/org/history?show=people"
	for range 10 {
		p := eva.get(path).want(200)
		seen += strings.Count(p.raw, "Token made")
		path = ""
		for _, a := range p.find("a") {
			if attrOf(a, "rel") == "next" {
				path = attrOf(a, "href")
			}
		}
		if path == "" {
			break
		}
	}
	if seen != 120+2 { // and the tokens that the site has for this organisation
		t.Errorf("%d tokens in all pages", seen)
	}
}

// Who may what, and cross-site requests: of every page of this part.
func TestPeoplePagesAccess(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := map[string]*browser{
		"stranger": s.stranger(), "customer": s.person("A", accounts.Customer, "acme"), "admin": s.person("B", accounts.OrgAdmin, "acme"),
		"sales": s.person("C", accounts.Sales, ""), "operator": s.person("D", accounts.Operator, ""),
	}
	member := "/org/members/" + userID(t, s, "customer-acme@example.com").String()
	for _, path := range []string{"/org", "/org/members/invite", member, "/org/tokens/new"} {
		for name, want := range map[string]int{"stranger": 401, "customer": 403, "admin": 200, "sales": 403, "operator": 403} {
			p := who[name].get(path)
			if p.status != want {
				t.Errorf("%s as %s: %d, want %d", path, name, p.status, want)
			}
			checkLayout(t, p)
		}
	}
	for name, want := range map[string]int{"stranger": 401, "customer": 200, "admin": 200, "sales": 403, "operator": 403} {
		if p := who[name].get("/org/history"); p.status != want {
			t.Errorf("history as %s: %d", name, p.status)
		}
	}
	state := s.state()
	posts := []string{
		"/org/members/invite", member + "/role", member + "/reset", member + "/disable", member + "/enable", "/org/tokens",
		"/account/preferences", "/account/password", "/account/sessions/end-others", "/account/sessions/end-all",
	}
	for _, path := range posts {
		for name, b := range who {
			if strings.HasPrefix(path, "/account") && name != "stranger" || name == "admin" {
				continue
			}
			if p := b.post(path, "email", "x@example.com", "role", "customer", "name", "x", "own_password", password); p.status != 401 && p.status != 403 {
				t.Errorf("%s as %s: %d", path, name, p.status)
			}
		}
		b := who["admin"]
		b.header.Set("Sec-Fetch-Site", "cross-site")
		b.post(path, "email", "x@example.com", "role", "customer", "name", "x", "own_password", password).outcome(403, "cross-origin")
		b.header.Del("Sec-Fetch-Site")
	}
	if s.state() != state {
		t.Error("something changed")
	}
	for _, path := range []string{"/invitation", "/reset"} {
		b := s.stranger()
		b.header.Set("Sec-Fetch-Site", "cross-site")
		b.post(path, "token", "x").outcome(403, "cross-origin")
	}
}
