package web

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
	"ironhold/notify/outbound"
)

// An administrator adds a receiver, looks at what was sent, sends it again, changes the secret and
// removes it; nobody else does or sees any of it.
func TestWebhookPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) {
		c.Webhooks = notify.NewWebhooks(c.DB, outbound.New(outbound.Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}))
	})
	bea := s.person("Bea", accounts.OrgAdmin, "acme")
	bea.get("/org/webhooks").want(200).says("Nobody is told")
	bea.get("/org/webhooks/new").want(200)
	add := func(pairs ...string) page {
		return bea.post("/org/webhooks", append([]string{"url", "https://hooks.example/in?token=Zk3vG0yq", "holds", "on"}, pairs...)...)
	}
	add("own_password", "not it at all").want(422)
	add("own_password", password, "url", "").want(201) // the first value counts
	secret := fixture.Get[[]byte](t, s.owner, "select secret from webhook_endpoints")
	id := fixture.Get[uuid.UUID](t, s.owner, "select id from webhook_endpoints").String()
	if len(secret) != 32 {
		t.Errorf("a secret of %d bytes", len(secret))
	}
	add("own_password", password).want(422).says("is a receiver already")
	for url, want := range map[string]string{
		"https://10.2.0.1/": "not on the public internet", "ftp://hooks.example/": "must begin with https://", "nonsense": "Enter an address",
		"https://user:pw@hooks.example/": "Leave out user name", "https://169.254.169.254/latest": "not on the public internet",
	} {
		bea.post("/org/webhooks", "url", url, "services", "on", "own_password", password).want(422).says(want)
	}
	bea.post("/org/webhooks", "url", "https://b.example/", "own_password", password).want(422).says("Choose at least one kind")
	bea.post("/org/webhooks", "url", "http://10.1.0.1/", "services", "on", "own_password", password).want(201).says("whsec_")
	list := bea.get("/org/webhooks").want(200).says("https://hooks.example/in?token=Zk3vG0yq")
	if strings.Contains(list.raw, "whsec_") {
		t.Error("the secret is shown again")
	}
	if p := bea.get("/org/history").want(200).says("Webhook added").says("hooks.example"); !strings.Contains(p.raw, "/org/webhooks/"+id) {
		t.Error("the history does not lead to the receiver")
	}
	if history := bea.get("/org/history"); strings.Contains(history.raw, "Zk3vG0yq") {
		t.Error("the history shows the whole address")
	}

	here := "/org/webhooks/" + id
	bea.follow(bea.post(here + "/test").want(303)).says("The test is on its way")
	fixture.Exec(t, s.owner, `update webhook_messages set body = '{"a":"<b>"}', relayed_at = clock_timestamp()`)
	delivery := fixture.Get[uuid.UUID](t, s.owner, `insert into webhook_deliveries (org_id, message_id, endpoint_id, state, attempts, attempted_at, status, answer, took_ms)
		select org_id, id, endpoint_id, 'failed', 11, clock_timestamp(), 503, '<script>', 12 from webhook_messages returning id`).String()
	bea.get(here).want(200).says("Given up").says("Status 503")
	one := here + "/deliveries/" + delivery
	if p := bea.get(one).want(200).says("<script>").says(`{"a":"<b>"}`); strings.Contains(p.raw, "<b>") {
		t.Error("the body is not escaped")
	}
	bea.follow(bea.post(one + "/retry").want(303)).says("On its way").says("sent again")
	bea.get(one + "/retry").want(303)

	bea.post(here+"/rotate", "own_password", "not it at all").want(422)
	bea.post(here+"/rotate", "own_password", password).want(201).says("whsec_")
	bea.get(here).says("The one before also counts until")
	bea.follow(bea.post(here + "/disable").want(303)).says("Switched off")
	bea.get(one).says("Switch it on to send the message again")
	bea.follow(bea.post(here + "/enable").want(303)).says("On")

	// Others: a colleague may not, another organisation's administrator finds nothing.
	ada, rival := s.person("Ada", accounts.Customer, "acme"), s.person("Rob", accounts.OrgAdmin, "rival")
	sam := s.person("Sam", accounts.Sales, "")
	state := func() string {
		return fixture.Get[string](t, s.owner, "select coalesce(string_agg(e::text, ',' order by id), '') || (select string_agg(d::text, ',') from webhook_deliveries d) from webhook_endpoints e")
	}
	before := state()
	for _, path := range []string{"/test", "/rotate", "/disable", "/enable", "/remove", "/deliveries/" + delivery + "/retry"} {
		ada.post(here+path, "own_password", password).outcome(403, "forbidden")
		sam.post(here+path, "own_password", password).outcome(403, "forbidden")
		rival.post(here+path, "own_password", password).outcome(404, "not-found")
		s.stranger().post(here + path).want(401)
	}
	for _, path := range []string{"", "/deliveries/" + delivery} {
		ada.get(here+path).outcome(403, "forbidden")
		rival.get(here+path).outcome(404, "not-found")
	}
	if state() != before {
		t.Error("something changed")
	}
	bea.get("/org/webhooks/x").outcome(404, "not-found")
	bea.get(here+"/deliveries/x").outcome(404, "not-found")
	bea.follow(bea.post(here + "/remove").want(303)).says("The receiver is removed")
	bea.get(here).outcome(404, "not-found")
	if p := bea.get("/org/history").says("Webhook removed"); strings.Contains(p.raw, here) {
		t.Error("the history leads to a receiver that is gone")
	}
	if string(fixture.Get[[]byte](t, s.owner, "select secret from webhook_endpoints where id = $1", id)) == string(secret) {
		t.Error("the secret is still there")
	}
}
