package notify_test

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/accounts"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
	"ironhold/notify/mailcatch"
)

// post is a bench whose mails are caught.
func post(t *testing.T) *bench {
	t.Helper()
	b := setup(t)
	var err error
	if b.catcher, err = mailcatch.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// person adds somebody to an organisation.
func (b *bench) person(email, name, role, language, zone string) uuid.UUID {
	b.t.Helper()
	return fixture.Get[uuid.UUID](b.t, b.owner, `insert into users (org_id, email, name, role, language, time_zone)
		values ($1, $2, $3, $4, $5, $6) returning id`, b.org, email, name, role, language, zone)
}

// ending is a hold with so much left of a quarter of an hour.
func (b *bench) ending(actor string, left time.Duration) uuid.UUID {
	b.t.Helper()
	id := b.hold(b.org)
	fixture.Exec(b.t, b.owner, `update holds set created_by = $2, created_at = clock_timestamp() - interval '15 minutes' + $3::interval,
		expires_at = clock_timestamp() + $3::interval where id = $1`, id, actor, left)
	return id
}

// mails are those that were caught, by recipient.
func (b *bench) mails(to string) (list []mailcatch.Caught) {
	for _, m := range b.catcher.All() {
		if m.To == to {
			list = append(list, m)
		}
	}
	return list
}

// state of the only mail of a subject, with the reason.
func (b *bench) state(subject uuid.UUID) string {
	b.t.Helper()
	return fixture.Get[string](b.t, b.owner, "select coalesce((select rtrim(state || ' ' || why) from mails where subject_id = $1), '')", subject)
}

// directory makes links that are sent.
func (b *bench) directory() *accounts.Directory {
	return accounts.New(b.app).OnLink(notify.NewMailer(b.app, nil, source, time.Minute).Link)
}

// Each occasion is one mail, in the language and the zone of whoever gets it.
func TestEveryOccasion(t *testing.T) {
	t.Parallel()
	b := post(t)
	ada := b.person("ada@acme.example", "Ada <Lind>", "customer", "de", "Europe/Berlin")
	eva := b.person("eva@acme.example", "Eva", "org-admin", "en", "Asia/Kathmandu")
	b.work()

	hold := b.ending("user:"+ada.String(), 2*time.Minute)
	until := fixture.Get[time.Time](t, b.owner, "select expires_at from holds where id = $1", hold)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hold's mail", func() bool { return len(b.mails("ada@acme.example")) == 1 })
	m := b.mails("ada@acme.example")[0]
	if m.Subject != "Ihre Reservierung von M1 endet bald" || m.HeaderTo != `"Ada <Lind>" <ada@acme.example>` || !strings.HasSuffix(m.ID, "@portal.example>") {
		t.Errorf("%q to %q, %s", m.Subject, m.HeaderTo, m.ID)
	}
	for _, want := range []string{"Guten Tag Ada <Lind>,", until.In(berlin).Format("15:04") + "\u00a0CE", source + "/holds/" + hold.String()} {
		if !strings.Contains(m.Text, want) {
			t.Errorf("no %q in %s", want, m.Text)
		}
	}
	if !strings.Contains(m.HTML, "Ada &lt;Lind&gt;") || !strings.Contains(m.HTML, `<a href="`+source+"/holds/"+hold.String()+`">`) || !strings.Contains(m.HTML, `lang="de"`) {
		t.Errorf("HTML: %s", m.HTML)
	}

	// A program ordered: its organisation's administrators are told.
	b.ending("token:"+uuid.NewString(), 2*time.Minute)
	eventually(t, "the administrator's mail", func() bool { return len(b.mails("eva@acme.example")) == 1 })
	if m := b.mails("eva@acme.example")[0]; m.Subject != "Your hold on M2 ends soon" || !strings.Contains(m.Text, "UTC+5:45") {
		t.Errorf("%q: %s", m.Subject, m.Text)
	}

	// One-use links.
	by := actor
	by.Actor = "user:" + ada.String()
	secret, inv, err := b.directory().Invite(t.Context(), by, b.org, "new@acme.example", accounts.Customer)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the invitation", func() bool { return len(b.mails("new@acme.example")) == 1 })
	if m := b.mails("new@acme.example")[0]; m.Subject != "Einladung zu acme bei Ironhold" || !strings.Contains(m.Text, source+"/invitation?token="+secret) ||
		!strings.Contains(m.Text, inv.ExpiresAt.In(berlin).Format("15:04")) {
		t.Errorf("%q: %s", m.Subject, m.Text)
	}
	secret, _, err = b.directory().AddReset(t.Context(), actor, b.org, ada, eva)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reset", func() bool { return len(b.mails("eva@acme.example")) == 2 })
	if m := b.mails("eva@acme.example")[0]; m.Subject != "Choose a new password" || !strings.Contains(m.Text, source+"/reset?token="+secret) {
		t.Errorf("%q: %s", m.Subject, m.Text)
	}
	if n := fixture.Get[int](t, b.owner, "select count(*) from mails where secret is not null and state = 'sent'"); n != 0 {
		t.Errorf("%d secrets are kept", n)
	}

	// Somebody waited.
	machine := fixture.Add(t, b.owner, fixture.Machine{Tag: "FREE-1"})[0]
	entry := fixture.Get[uuid.UUID](t, b.owner, "insert into waiting_list (org_id, actor, request) values ($1, $2, '{}') returning id", b.org, "user:"+ada.String())
	fixture.Exec(t, b.owner, "update waiting_list set state = 'told', told_at = clock_timestamp(), machine_id = $2 where id = $1", entry, machine)
	eventually(t, "the news", func() bool { return len(b.mails("ada@acme.example")) == 2 })
	if m := b.mails("ada@acme.example")[0]; m.Subject != "Server FREE-1 ist frei geworden" {
		t.Errorf("%q", m.Subject)
	}

	// Nothing comes twice.
	for range 3 {
		fixture.Exec(t, b.owner, "select mails_tell('hold_ending', $1, $2, $3)", hold, "user:"+ada.String(), b.org)
	}
	b.person("last@acme.example", "Last", "customer", "", "UTC")
	last := b.ending("user:"+fixture.Get[uuid.UUID](t, b.owner, "select id from users where email = 'last@acme.example'").String(), time.Minute)
	eventually(t, "the last", func() bool { return b.state(last) == "sent" })
	if n := len(b.catcher.All()); n != 6 {
		t.Errorf("%d mails", n)
	}
}

// What is no longer so is not said: looked at right before sending.
func TestOverBeforeItIsSent(t *testing.T) {
	t.Parallel()
	b := post(t)
	ada := "user:" + b.person("ada@acme.example", "Ada", "customer", "", "UTC").String()
	w, err := newWorker(t.Context(), pgtest.LoginURL(t, b.owner.Config().ConnString()), "idle", b.catcher, b.changed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.db.Close)
	confirmed, extended, fresh := b.ending(ada, 2*time.Minute), b.ending(ada, 2*time.Minute), b.ending(ada, 10*time.Minute)
	little := b.ending(ada, 2*time.Minute) // extended by less than the warning
	machine := fixture.Add(t, b.owner, fixture.Machine{Tag: "FREE-1"})[0]
	entry := fixture.Get[uuid.UUID](t, b.owner, "insert into waiting_list (org_id, actor, request) values ($1, $2, '{}') returning id", b.org, ada)
	fixture.Exec(t, b.owner, "update waiting_list set state = 'told', told_at = clock_timestamp(), machine_id = $2 where id = $1", entry, machine)
	_, inv, err := b.directory().Invite(t.Context(), actor, b.org, "new@acme.example", accounts.Customer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.relay.Once(t.Context()); err != nil { // the jobs are there
		t.Fatal(err)
	}
	if b.state(confirmed) != "queued" || b.state(extended) != "queued" || b.state(little) != "queued" || b.state(fresh) != "" || b.state(entry) != "queued" || b.state(inv.ID) != "queued" {
		t.Fatalf("%q %q %q %q %q", b.state(confirmed), b.state(extended), b.state(fresh), b.state(entry), b.state(inv.ID))
	}
	if _, _, err := b.book.Convert(t.Context(), actor, b.scope(), confirmed); err != nil {
		t.Fatal(err)
	}
	if _, err := b.book.Extend(t.Context(), actor, b.scope(), extended, "e"); err != nil {
		t.Fatal(err)
	}
	fixture.Exec(t, b.owner, "update holds set extended_at = clock_timestamp(), expires_at = clock_timestamp() + interval '4 minutes 50 seconds' where id = $1", little)
	fixture.Exec(t, b.owner, `insert into holds (org_id, machine_id, idempotency_key, expires_at) values ($1, $2, 'taken', clock_timestamp() + interval '1 hour')`, b.org, machine)
	if err := b.directory().RevokeInvitation(t.Context(), actor, b.org, inv.ID); err != nil {
		t.Fatal(err)
	}
	b.work()
	eventually(t, "they are over", func() bool {
		return b.state(confirmed) == "skipped over" && b.state(extended) == "" && b.state(little) == "" && b.state(entry) == "skipped over" && b.state(inv.ID) == "skipped over"
	})
	if n := len(b.catcher.All()); n != 0 {
		t.Errorf("%d mails", n)
	}
	// When the new deadline is near, the mail comes, once.
	fixture.Exec(t, b.owner, "update holds set extended_at = clock_timestamp() - interval '14 minutes', expires_at = clock_timestamp() + interval '1 minute' where id = $1", extended)
	eventually(t, "the later mail", func() bool { return b.state(extended) == "sent" })
	if n := len(b.mails("ada@acme.example")); n != 1 {
		t.Errorf("%d mails", n)
	}
}

func TestServersThatRefuse(t *testing.T) {
	t.Parallel()
	b := post(t)
	b.catcher.Refuse(func(to string) string {
		if strings.HasPrefix(to, "no") {
			return "550 no such person"
		}
		return "451 later"
	})
	no := b.person("nobody@acme.example", "No", "customer", "", "UTC")
	ada := b.person("ada@acme.example", "Ada", "customer", "", "UTC")
	off := b.person("off@acme.example", "Off", "customer", "", "UTC")
	b.work()
	never, later := b.ending("user:"+no.String(), time.Minute), b.ending("user:"+ada.String(), 2*time.Minute)
	eventually(t, "one is refused for good", func() bool { return b.state(never) == "failed refused" })
	eventually(t, "one is tried", func() bool {
		return fixture.Get[int](t, b.owner, "select coalesce((select attempts from mails where subject_id = $1), 0)", later) > 0
	})
	b.catcher.Refuse(nil)
	eventually(t, "the other one arrives", func() bool { b.now(); return b.state(later) == "sent" })
	// Whoever was disabled meanwhile is told nothing.
	b.catcher.Refuse(func(string) string { return "451 later" })
	gone := b.ending("user:"+off.String(), 2*time.Minute)
	eventually(t, "it is tried", func() bool {
		return fixture.Get[int](t, b.owner, "select coalesce((select attempts from mails where subject_id = $1), 0)", gone) > 0
	})
	fixture.Exec(t, b.owner, "update users set disabled_at = clock_timestamp() where id = $1", off)
	b.catcher.Refuse(nil)
	eventually(t, "it is skipped", func() bool { b.now(); return b.state(gone) == "skipped disabled" })
	if n := len(b.catcher.All()); n != 1 {
		t.Errorf("%d mails", n)
	}
}

// Without mail nothing waits for better times, and no secret is kept.
func TestWithoutMail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada@acme.example", "Ada", "customer", "", "UTC")
	b.work()
	fixture.Exec(t, b.owner, "insert into waiting_list (org_id, actor, request) values ($1, $2, '{}')", b.org, "user:"+ada.String())
	machine := fixture.Add(t, b.owner, fixture.Machine{Tag: "FREE-1"})[0]
	fixture.Exec(t, b.owner, "update waiting_list set state = 'told', told_at = clock_timestamp(), machine_id = $1", machine)
	entry := fixture.Get[uuid.UUID](t, b.owner, "select id from waiting_list")
	eventually(t, "it is not sent", func() bool { return b.state(entry) == "skipped not_configured" })
	if _, _, err := accounts.New(b.app).Invite(t.Context(), actor, b.org, "new@acme.example", accounts.Customer); err != nil {
		t.Fatal(err)
	}
	if n := fixture.Get[int](t, b.owner, "select count(*) from mails"); n != 1 {
		t.Errorf("%d mails", n)
	}
}

// What others named themselves begins no header.
func TestNoHeaderOfTheirs(t *testing.T) {
	t.Parallel()
	b := post(t)
	fixture.Exec(t, b.owner, `update organisations set name = E'Acme\r\nBcc: all@evil.example\r\n\r\n{{.URL}} ${7*7} <script>'`)
	ada := b.person("ada@acme.example", "Ada\r\nCc: all@evil.example", "customer", "", "Nowhere/At_all")
	b.work()
	if _, _, err := b.directory().Invite(t.Context(), actor, b.org, "new@acme.example", accounts.Customer); err != nil {
		t.Fatal(err)
	}
	b.ending("user:"+ada.String(), time.Minute)
	eventually(t, "both arrive", func() bool { return len(b.catcher.All()) == 2 })
	for _, c := range b.catcher.All() {
		m, err := mail.ReadMessage(strings.NewReader(c.Raw))
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("Bcc") != "" || m.Header.Get("Cc") != "" || len(m.Header["To"]) != 1 || strings.Contains(c.HTML, "<script>") {
			t.Errorf("%v\n%s", m.Header, c.HTML)
		}
		if strings.Contains(c.Subject, "Acme") && !strings.Contains(c.Subject, "{{.URL}} ${7*7}") {
			t.Errorf("the name was taken for a template: %q", c.Subject)
		}
	}
}

// A link that was not made is not sent.
func TestNoLinkNoMail(t *testing.T) {
	t.Parallel()
	b := post(t)
	no := errors.New("no")
	d := accounts.New(b.app).OnLink(func(ctx context.Context, tx pgx.Tx, l accounts.Link) error {
		if err := notify.NewMailer(b.app, nil, source, time.Minute).Link(ctx, tx, l); err != nil {
			return err
		}
		return no
	})
	if _, _, err := d.Invite(t.Context(), actor, b.org, "new@acme.example", accounts.Customer); !errors.Is(err, no) {
		t.Fatal(err)
	}
	if n := fixture.Get[int](t, b.owner, "select (select count(*) from mails) + (select count(*) from invitations)"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// What no relay has taken out is seen by its age.
func TestLag(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lag := func() float64 {
		t.Helper()
		seconds, err := notify.Lag(t.Context(), b.app)
		if err != nil {
			t.Fatal(err)
		}
		return seconds
	}
	if n := lag(); n != 0 {
		t.Errorf("nothing waits, for %f s", n)
	}
	b.endpoint("https://hooks.example/")
	b.hold(b.org)
	fixture.Exec(t, b.owner, "update webhook_messages set at = at - interval '1 minute'")
	if n := lag(); n < 60 || n > 600 {
		t.Errorf("a message waits for %f s", n)
	}
	ada := b.person("ada@acme.example", "Ada", "customer", "", "UTC")
	fixture.Exec(t, b.owner, `insert into mails (kind, subject_id, person, user_id, org_id, created_at)
		values ('machine_free', $1::uuid, $1::uuid::text, $1::uuid, $2, clock_timestamp() - interval '1 hour')`, ada, b.org)
	if n := lag(); n < 3600 {
		t.Errorf("a mail waits for %f s", n)
	}
}
