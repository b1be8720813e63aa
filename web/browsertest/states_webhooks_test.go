package browsertest

import (
	"github.com/google/uuid"

	"ironhold/migrations/pgtest/fixture"
)

// The pages of webhooks.
func init() {
	states = append(states, []state{
		{name: "webhooks-none", who: orgAdmin, show: at("/org/webhooks")},
		{name: "webhooks", who: orgAdmin, show: func(v *visit) { v.webhooks(); v.Go("/org/webhooks") }},
		{name: "webhook-form", who: orgAdmin, show: at("/org/webhooks/new")},
		{name: "webhook-form-wrong", who: orgAdmin, title: "Error", show: func(v *visit) {
			v.Post("/org/webhooks", "url", "https://127.0.0.1/", "own_password", password)
		}},
		{name: "webhook-made", who: orgAdmin, show: func(v *visit) {
			v.Post("/org/webhooks", "url", "https://acme.example/ironhold", "holds", "on", "own_password", password)
		}},
		{name: "webhook", who: orgAdmin, show: func(v *visit) { v.Go(path("/org/webhooks/", v.webhooks())) }},
		{name: "webhook-off", who: orgAdmin, show: func(v *visit) { v.Post(path("/org/webhooks/", v.webhooks(), "/disable")) }},
		{name: "webhook-gone", who: orgAdmin, show: func(v *visit) {
			id := v.webhooks()
			fixture.Exec(v.t, v.Owner, "update webhook_endpoints set disabled_at = now(), disabled_why = 'gone'")
			v.Go(path("/org/webhooks/", id))
		}},
		{name: "webhook-delivery", who: orgAdmin, outcome: "delivery-failed", show: func(v *visit) {
			v.Go(path("/org/webhooks/", v.webhooks(), "/deliveries/",
				fixture.Get[uuid.UUID](v.t, v.Owner, "select id from webhook_deliveries where state = 'failed'")))
		}},
		{name: "german-webhook", who: orgAdmin, show: func(v *visit) { v.german(); v.Go(path("/org/webhooks/", v.webhooks())) }},
	}...)
}

// webhooks adds a receiver with deliveries of each state, and returns it.
func (v *visit) webhooks() uuid.UUID {
	v.t.Helper()
	id := fixture.Get[uuid.UUID](v.t, v.Owner, `insert into webhook_endpoints (org_id, url, description, holds, services, secret, created_by, rotated_at, old_secret, old_secret_until)
		values ($1, 'https://hooks.acme.example/ironhold/a-rather-long-path-with-a-token-Zk3vG0yq5hR7tB2nX9pL4sW8mC1dJ6fA0uE5oK7iQxY', 'Accounting and the build farm', true, true,
		        decode(repeat('ab', 32), 'hex'), 'user:' || $2, now(), decode(repeat('cd', 32), 'hex'), now() + interval '1 day') returning id`, v.acme, v.user)
	v.own("GOT-1")
	fixture.Exec(v.t, v.Owner, `with m as (
		  insert into webhook_messages (org_id, kind, subject_id, event, sequence, body, relayed_at)
		  select $1, 'hold', gen_random_uuid(), e, 1, convert_to('{"specversion":"1.0","type":"ironhold.hold.' || e || '","data":{"org":"acme","sequence":1}}', 'UTF8'), now()
		    from unnest(array['held', 'extended', 'converted', 'expired', 'cancelled']) e returning id, event)
		insert into webhook_deliveries (org_id, message_id, endpoint_id, state, attempts, attempted_at, next_at, status, reason, answer, took_ms)
		select $1, m.id, $2, x.state, x.n, now(), now() + interval '5 minutes', x.status, x.reason, x.answer, 120
		  from m join (values ('held', 'delivered', 1, 204, '', ''), ('extended', 'queued', 0, null, '', ''), ('converted', 'queued', 3, null, 'timeout', ''),
		    ('expired', 'failed', 11, 503, '', '<html><body>Service Unavailable</body></html>'), ('cancelled', 'dropped', 0, null, '', '')) x(event, state, n, status, reason, answer) using (event)`, v.acme, id)
	return id
}
