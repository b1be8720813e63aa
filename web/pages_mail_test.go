package web

import (
	"strings"
	"testing"
	"time"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
)

// Where no mail is sent, nothing promises one, and the links are on the screen.
func TestPagesWithoutMail(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bea, olga := s.person("Bea", accounts.OrgAdmin, "acme"), s.person("Olga", accounts.Operator, "")
	s.stranger().get("/").want(200).says("An administrator of your organisation can give you a link")
	s.stranger().get("/forgot").outcome(404, "not-found")
	s.stranger().post("/forgot", "email", "org-admin-acme@example.com").outcome(404, "not-found")
	if p := bea.post("/org/members/invite", "email", "new@example.com", "role", "customer").want(201).says("/invitation?token="); strings.Contains(p.raw, "A mail with this link") {
		t.Error("a mail is promised")
	}
	olga.get("/admin/mail").want(200).says("Mail is not configured")
	olga.get("/admin/mail/caught/1").outcome(404, "not-found")
	bea.get("/admin/mail").outcome(403, "forbidden")
	if n := fixture.Get[int](t, s.owner, "select count(*) from mails"); n != 0 {
		t.Errorf("%d mails", n)
	}
}

func TestForgottenPassword(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) {
		c.Mail = notify.NewMailer(c.DB, nil, "https://portal.example", time.Minute)
		c.Accounts.OnLink(c.Mail.Link)
	})
	bea := s.person("Bea", accounts.OrgAdmin, "acme")
	b := s.stranger()
	b.get("/").want(200).says("Password forgotten?")
	b.get("/forgot").outcome(200, "forgot")
	b.post("/forgot", "email", "").want(422).says("Enter an e-mail address")
	known := b.post("/forgot", "email", "org-admin-acme@example.com").outcome(200, "forgot-sent")
	unknown := b.post("/forgot", "email", "nobody@example.com").outcome(200, "forgot-sent")
	if strings.ReplaceAll(plain(known), "org-admin-acme@example.com", "") != strings.ReplaceAll(plain(unknown), "nobody@example.com", "") {
		t.Error("an address with an account and one without are told apart")
	}
	if strings.Contains(known.raw, "token") {
		t.Error("whoever asks sees the link")
	}
	secret := fixture.Get[string](t, s.owner, "select secret from mails where kind = 'password_reset'")
	b.get("/reset?token="+secret).outcome(200, "reset")
	bea.post("/org/members/invite", "email", "new@example.com", "role", "customer").want(201).says("A mail with this link is on its way")
	for range guessLimit { // from one network
		b.post("/forgot", "email", "nobody@example.com")
	}
	b.post("/forgot", "email", "nobody@example.com").want(429)
}
