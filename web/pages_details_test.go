package web

import (
	"strings"
	"testing"
	"time"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
)

// TestNameAndAddress: the name is the person's to change; the address only with the password and by a link
// that proves it, and then whoever is signed in is signed out.
func TestNameAndAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.person("Rob", accounts.Customer, "rival")
	b := s.person("Ada", accounts.Customer, "acme")
	other := s.again(ada, password)
	p := b.get("/account/details").want(200)
	b.follow(b.submit(p, "/account/details", "name", " Ada Lind ", "email", ada)).want(200).says("Saved").says("Ada Lind")
	b.submit(p, "/account/details", "name", " ", "email", ada).want(422).says("Enter your name")
	other.get("/holds").want(200)

	b.submit(p, "/account/details", "name", "Ada Lind", "email", "new@example.com").want(422).says("not your present password")
	b.submit(p, "/account/details", "name", "Ada Lind", "email", "no address", "old_password", password).want(422).says("complete address")
	b.submit(p, "/account/details", "name", " ", "email", "new@example.com", "old_password", password).want(422).says("Enter your name")
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from email_changes"); n != 0 {
		t.Errorf("%d wishes are half written", n)
	}
	// Without mail the wish waits for an operator, and nobody sees the link on a page.
	asked := b.follow(b.submit(p, "/account/details", "name", "Ada L.", "email", "New@example.com", "old_password", password)).want(200).
		says("One step more").says("ask an operator for the link").says("Ada L.").says(ada)
	if strings.Contains(asked.raw, "token=") {
		t.Error("the link is on the page")
	}
	s.again(ada, password)
	s.stranger().post("/sign-in", "email", "new@example.com", "password", password).want(401)
	secret, wish, err := s.server.Accounts.EmailLink(t.Context(), by(), ada)
	if err != nil || wish.Email != "new@example.com" {
		t.Fatalf("%+v %v", wish, err)
	}
	// Opening it changes nothing; using it does, once.
	link := s.stranger().get("/email?token="+secret).outcome(200, "email").says("new@example.com").says(ada)
	s.again(ada, password)
	s.stranger().submit(link, "/email").outcome(200, "email-done")
	b.get("/holds").outcome(401, "unauthenticated")
	other.get("/holds").outcome(401, "unauthenticated")
	s.stranger().post("/sign-in", "email", ada, "password", password).want(401)
	s.again("new@example.com", password)
	s.stranger().submit(link, "/email").outcome(410, "link-used")
	s.stranger().get("/email?token=x").outcome(404, "link-unknown")
	if strings.Contains(s.log.String(), secret) {
		t.Error("the secret is in the log")
	}
}

// The address that was confirmed is the one that the link was made for, and no other: neither a second
// wish nor a new password leaves an old link usable, and an address that somebody else has by now is not
// taken from them.
func TestOldLinksOfAnAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) {
		c.Mail = notify.NewMailer(c.DB, nil, "https://portal.example", time.Minute)
		c.Accounts.OnLink(c.Mail.Link)
	})
	s.person("Rob", accounts.Customer, "rival")
	b := s.person("Ada", accounts.Customer, "acme")
	ask := func(email string) string {
		t.Helper()
		b.submit(b.get("/account/details"), "/account/details", "name", "Ada", "email", email, "old_password", password).want(303)
		return fixture.Get[string](t, s.owner, "select secret from mails where kind = 'email_change' and person = $1", email)
	}
	first := ask("first@example.com")
	b.get("/account").says("first@example.com becomes your address once you open the link in the mail")
	second := ask("second@example.com")
	s.stranger().post("/email", "token", first).outcome(410, "link-revoked")
	b.submit(b.get("/account"), "/account/email/stop").want(303)
	s.stranger().post("/email", "token", second).outcome(410, "link-revoked")
	third := ask("customer-rival@example.com")
	s.stranger().post("/email", "token", third).outcome(409, "link-taken")
	fourth := ask("fourth@example.com")
	const chosen = "tea with a llama"
	b.submit(b.get("/account/password"), "/account/password", "old_password", password, "password", chosen).want(303)
	s.stranger().post("/email", "token", fourth).outcome(410, "link-revoked")
	b.submit(b.get("/account/details"), "/account/details", "name", "Ada", "email", "fifth@example.com", "old_password", chosen).want(303)
	fifth := fixture.Get[string](t, s.owner, "select secret from mails where kind = 'email_change' and person = 'fifth@example.com'")
	if err := s.server.Accounts.Forgot(t.Context(), "", ada); err != nil {
		t.Fatal(err)
	}
	reset := fixture.Get[string](t, s.owner, "select secret from mails where kind = 'password_reset'")
	s.stranger().post("/email", "token", fifth).outcome(200, "email-done")
	// What the old mailbox still has is worth nothing, and it is told.
	s.stranger().get("/reset?token="+reset).outcome(410, "link-revoked")
	if to := fixture.Get[string](t, s.owner, "select person from mails where kind = 'email_changed'"); to != ada {
		t.Errorf("%s was told", to)
	}
	fixture.Exec(t, s.owner, "update email_changes set used_at = null, expires_at = clock_timestamp() where used_at is not null")
	s.stranger().post("/email", "token", fifth).outcome(410, "link-expired")
}
