package web

import (
	"encoding/base32"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/jackc/pgx/v5"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// app sets up an app for codes and gives its secret and the recovery codes.
func (b *browser) app() (secret []byte, codes []string) {
	b.s.t.Helper()
	p := b.get("/account/factors/totp").want(http.StatusOK)
	text := strings.ReplaceAll(strings.TrimSpace(textOf(p.find("code")[0])), " ", "")
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	if err != nil {
		b.s.t.Fatal(err)
	}
	b.post("/account/factors/totp", "code", "000000").want(http.StatusUnprocessableEntity).says("not right")
	made := b.post("/account/factors/totp", "code", code(b.s.t, secret, 0)).outcome(http.StatusCreated, "codes-made")
	for _, m := range regexp.MustCompile(`[a-z2-7]{4}(-[a-z2-7]{4}){3}`).FindAllString(made.raw, -1) {
		codes = append(codes, m)
	}
	if len(codes) != 10 {
		b.s.t.Fatalf("recovery codes: %v", codes)
	}
	return secret, codes
}

// code is what the app shows some steps from now.
func code(t testing.TB, secret []byte, steps int) string {
	t.Helper()
	c, err := accounts.TOTPCode(secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// forget makes the server take the last code of the app once more, as half a minute would.
func (s *site) forget() { fixture.Exec(s.t, s.owner, "update totp_secrets set last_step = 0") }

func TestCodesOfAnApp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.person("Ada", accounts.Customer, "acme")
	other := s.again(ada, password)
	old := sessionToken(s, b)
	b.get("/account/factors").want(200).says("App for codes")
	secret, codes := b.app()
	if sessionToken(s, b) == old {
		t.Error("the session has its old token")
	}
	other.get("/holds").outcome(401, "unauthenticated")
	b.get("/account/factors").want(200).says("10 recovery codes")
	s.forget()

	in := s.stranger()
	half := in.post("/sign-in", "email", ada, "password", password, "next", "/holds").want(303)
	if half.header.Get("Location") != "/sign-in/second" {
		t.Fatalf("the password alone leads to %s", half.header.Get("Location"))
	}
	in.get("/holds").outcome(401, "unauthenticated")
	in.get("/account").outcome(401, "unauthenticated")
	in.get("/sign-in/second").outcome(200, "second-factor")
	in.post("/sign-in/second", "code", "123456").want(422).says("not right")
	right := code(t, secret, 0)
	if got := in.post("/sign-in/second", "code", right[:3]+" "+right[3:]).want(303).header.Get("Location"); got != "/holds" {
		t.Errorf("led to %s", got)
	}
	in.get("/holds").want(200)
	// A code counts once, and so does a recovery code.
	again := s.stranger()
	again.post("/sign-in", "email", ada, "password", password).want(303)
	again.post("/sign-in/second", "code", right).want(422)
	again.post("/sign-in/second", "code", strings.ToUpper(strings.ReplaceAll(codes[0], "-", " "))).want(303)
	again.get("/account/factors").want(200).says("9 recovery codes")
	third := s.stranger()
	third.post("/sign-in", "email", ada, "password", password).want(303)
	third.post("/sign-in/second", "code", codes[0]).want(422)
	// Nobody comes to the second step without the first, and what is half signed in ends by itself.
	s.stranger().post("/sign-in/second", "code", codes[1]).want(303)
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from sessions where user_id is null and expiry > clock_timestamp() + interval '11 minutes'"); n != 0 {
		t.Errorf("%d half sessions live longer than a sign-in takes", n)
	}
	// Made anew, the old ones are nothing.
	again.post("/account/factors/codes").outcome(201, "codes-made")
	third.post("/sign-in/second", "code", codes[1]).want(422)
	again.follow(again.post("/account/factors/totp/remove")).want(200).says("Removed")
	s.again(ada, password).get("/holds").want(200)
	for _, event := range []string{"totp_on", "totp_removed", "recovery_on"} {
		if n := fixture.Get[int](t, s.owner, "select count(*)::int from account_events where event = $1", event); n != 1 {
			t.Errorf("%d entries for %s in the history", n, event)
		}
	}
	for _, c := range append(codes, accounts.TOTPText(secret)) {
		if strings.Contains(s.log.String(), c) {
			t.Error("a secret is in the log")
		}
	}
}

// The right password does not set back the count of wrong codes.
func TestCodesAreThrottled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	secret, codes := s.person("Ada", accounts.Customer, "acme").app()
	b := s.stranger()
	for range 10 {
		b.post("/sign-in", "email", ada, "password", password).want(303)
		b.post("/sign-in/second", "code", "000000").want(422)
	}
	b.post("/sign-in", "email", ada, "password", password).want(303)
	p := b.post("/sign-in/second", "code", codes[0]).want(429).says("Too many wrong codes")
	if p.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	fixture.Exec(t, s.owner, "update sign_in_failures set since = since - interval '16 minutes'")
	s.forget()
	b.post("/sign-in/second", "code", code(t, secret, 0)).want(303)
}

// Staff who must have a second factor see nothing but where they set one up, and keep one.
func TestStaffMustHaveASecondFactor(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.StaffFactor = true })
	s.person("Ada", accounts.Customer, "acme").get("/holds").want(200)
	olga := s.person("Olga", accounts.Operator, "")
	for _, path := range []string{"/fleet", "/", "/admin/rollout", "/account", "/account/password", "/events"} {
		p := olga.get(path).want(303)
		if got := p.header.Get("Location"); got != "/account/factors" && path != "/" {
			t.Errorf("%s leads to %s", path, got)
		}
	}
	before := s.state()
	olga.post("/admin/rollout", "launch", "off").want(303)
	if s.state() != before {
		t.Error("the launch was changed without a second factor")
	}
	olga.get("/account/factors").want(200).says("Staff need more than a password")
	olga.app()
	olga.get("/fleet").want(200)
	olga.post("/account/factors/totp/remove").want(409).says("your only second factor")
	olga.get("/account/factors").lacks("Staff need more")
	// A session from before does not count: by the whole way in, please.
	fixture.Exec(t, s.owner, "delete from totp_secrets")
	sam := s.person("Sam", accounts.Sales, "")
	fixture.Exec(t, s.owner, "insert into totp_secrets (user_id, secret, confirmed_at) select id, gen_random_uuid()::text::bytea, now() from users where role = 'sales'")
	sam.follow(sam.get("/account/factors")).want(200).says("Sign in")
	sam.get("/desk").outcome(401, "unauthenticated")
}

// What one signs in with changes only within a short while of a proof.
func TestConfirmBeforeFactorsChange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.person("Ada", accounts.Customer, "acme")
	b.app()
	s.later(t, 11*time.Minute)
	for _, path := range []string{"/account/factors/totp/remove", "/account/factors/codes", "/account/factors/passkeys"} {
		if got := b.post(path).want(303).header.Get("Location"); got != "/account/confirm" {
			t.Errorf("%s leads to %s", path, got)
		}
	}
	b.post("/account/factors/passkeys/options").outcome(403, "forbidden")
	b.get("/account/factors").want(200)
	b.post("/account/confirm", "own_password", "not it at all").want(422).says("This is not your password")
	b.get("/account/confirm").want(200)
	b.post("/account/confirm", "own_password", password).want(303)
	b.post("/account/factors/codes").want(201)
}

// later lets time pass for all sessions' proofs.
func (s *site) later(t *testing.T, d time.Duration) {
	t.Helper()
	s.rewrite(t, func(values map[string]any) { values[freshKey] = time.Now().Add(-d).Unix() })
}

// A new password by link signs nobody in, so it does not go round the second factor.
func TestResetKeepsTheSecondFactor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cy := s.person("Cy", accounts.Customer, "acme")
	cy.app()
	s.person("Eva", accounts.OrgAdmin, "acme")
	secret, _, err := s.server.Accounts.AddReset(t.Context(), by(), s.acme, userID(t, s, "org-admin-acme@example.com"), userID(t, s, ada))
	if err != nil {
		t.Fatal(err)
	}
	b := s.stranger()
	b.post("/reset", "token", secret, "password", "tea with a llama").outcome(200, "reset-done")
	b.get("/holds").outcome(401, "unauthenticated")
	b.post("/reset", "token", secret, "password", "tea with two llamas").outcome(410, "link-used")
	if got := b.post("/sign-in", "email", ada, "password", "tea with a llama").want(303).header.Get("Location"); got != "/sign-in/second" {
		t.Errorf("after a reset the password leads to %s", got)
	}
	b.get("/holds").outcome(401, "unauthenticated")
}

// rewrite changes the values of all sessions of people.
func (s *site) rewrite(t *testing.T, change func(values map[string]any)) {
	t.Helper()
	codec := scs.GobCodec{}
	rows, err := s.owner.Query(t.Context(), "select token, data from sessions where user_id is not null and expiry > clock_timestamp() and length(data) > 0")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Token string
		Data  []byte
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		deadline, values, err := codec.Decode(r.Data)
		if err != nil {
			t.Fatal(err)
		}
		change(values)
		data, err := codec.Encode(deadline, values)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Exec(t, s.owner, "update sessions set data = $2 where token = $1", r.Token, data)
	}
}
