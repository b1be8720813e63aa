package web

import (
	"strings"
	"sync"
	"testing"
	"time"

	"ironhold/migrations/pgtest/fixture"
)

type body = map[string]any

func TestOrderAndReplay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "A1", Site: "HEL1"}, fixture.Machine{Tag: "A2", RAM: 128})

	first := s.do(customer, "POST", "/api/v1/holds", "{}", "Idempotency-Key", "k 1").want(422)
	first.problem(422, "invalid")
	first = s.do(customer, "POST", "/api/v1/holds", "{}", "Idempotency-Key", `"k1"`).want(201)
	if first.header.Get("Location") != "/api/v1/holds/"+first.text("id") || first.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("headers of a new hold: %v", first.header)
	}
	for path, want := range map[string]string{
		"state": "held", "org": "acme", "machine.asset_tag": "A1", "machine.site": "HEL1",
		"machine.cpu": "AMD EPYC 7302P", "price_month.currency": "EUR", "decision.rule": first.text("decision.rule"),
	} {
		if got := first.text(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if first.number("price_month.amount_minor") != 4000 || first.number("machine.ram_gb") != 64 || first.number("machine.cores") != 8 {
		t.Errorf("facts: %s", first.body)
	}
	if n := first.number("seconds_left"); n < 895 || n > 900 {
		t.Errorf("seconds_left: %d", n)
	}
	if first.at("extended_at") != nil || first.at("service") != nil || first.has("overdue") || first.has("created_by") {
		t.Errorf("a customer's view: %s", first.body)
	}
	for _, field := range []string{"created_at", "expires_at"} {
		at, err := time.Parse(time.RFC3339, first.text(field))
		if err != nil || at.Location() != time.UTC || !strings.HasSuffix(first.text(field), "Z") {
			t.Errorf("%s: %q %v", field, first.text(field), err)
		}
	}

	again := s.do(customer, "POST", "/api/v1/holds", "{}", "Idempotency-Key", `"k1"`).want(200)
	if again.header.Get("Idempotent-Replayed") != "true" || again.text("id") != first.text("id") ||
		again.text("expires_at") != first.text("expires_at") {
		t.Errorf("a repeat: %v %s", again.header, again.body)
	}
	// The same request spelt another way is the same request.
	s.do(customer, "POST", "/api/v1/holds", " {\n}\n", "Idempotency-Key", `"k1"`).want(200)
	reused := s.do(customer, "POST", "/api/v1/holds", body{"min_ram_gb": 128}, "Idempotency-Key", `"k1"`).problem(422, "key-reused")
	if reused.text("hold") != first.text("id") {
		t.Errorf("key reused: %s", reused.body)
	}
	// Keys belong to an organisation.
	s.do(foreign, "POST", "/api/v1/holds", "{}", "Idempotency-Key", `"k1"`).want(201)
}

func TestOrderKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 3)
	before := s.state()
	s.do(customer, "POST", "/api/v1/holds", "{}").problem(400, "key-missing")
	s.do(customer, "POST", "/api/v1/holds", "{}", "Idempotency-Key", "").problem(400, "key-missing")
	for _, key := range []string{"a b", "\u00e9", strings.Repeat("x", 256), "a\tb"} {
		if faults := s.do(customer, "POST", "/api/v1/holds", "{}", "Idempotency-Key", key).faults(422); faults["Idempotency-Key"] == "" {
			t.Errorf("key %q: %v", key, faults)
		}
	}
	two := s.do(customer, "POST", "/api/v1/holds", "{}", "Idempotency-Key", "a", "Idempotency-Key", "b").faults(422)
	if two["Idempotency-Key"] == "" {
		t.Errorf("two keys: %v", two)
	}
	if s.state() != before {
		t.Error("a refused order changed something")
	}
	s.do(customer, "POST", "/api/v1/holds", "{}", "Idempotency-Key", strings.Repeat("~", 255)).want(201)
}

func TestOneKeyAtOnceGivesOneHold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 4)
	ids, statuses := make([]string, 5), make([]int, 5)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			a := s.do(customer, "POST", "/api/v1/holds", "{}", "Idempotency-Key", "one")
			statuses[i] = a.status
			if a.status < 300 {
				ids[i] = a.text("id")
			}
		})
	}
	wg.Wait()
	created := 0
	for i := range ids {
		if ids[i] == "" || ids[i] != ids[0] {
			t.Errorf("answers: %v %v", statuses, ids)
		}
		if statuses[i] == 201 {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d answers said created: %v", created, statuses)
	}
}

func TestRefusedOrders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "BIG", RAM: 512, Price: 30000}, fixture.Machine{Tag: "ONE", RAM: 64})

	none := s.order(customer, body{"min_ram_gb": 1024}).problem(409, "none-left")
	if none.at("retryable") != false || none.number("reasons.#") == 0 || none.number("near_misses.#") == 0 || none.text("attempt") == "" {
		t.Errorf("none left: %s", none.body)
	}
	if none.text("near_misses.0.relax") != "min_ram_gb" || none.number("near_misses.0.gains") != 1 {
		t.Errorf("near misses: %s", none.body)
	}
	held := s.held(foreign, body{"machine": "BIG"})
	all := s.order(customer, body{"min_ram_gb": 512}).problem(409, "all-held")
	if next, err := time.Parse(time.RFC3339, all.text("next_free_at")); err != nil || time.Until(next) < 10*time.Minute {
		t.Errorf("all held: %s", all.body)
	}
	if all.text("attempt") == "" || all.at("near_misses") == nil || strings.Contains(string(all.body), "rival") {
		t.Errorf("all held: %s", all.body)
	}
	own := s.order(foreign, body{"machine": "BIG"}).problem(409, "already-yours")
	if own.text("hold") != held || own.has("service") {
		t.Errorf("already yours: %s", own.body)
	}
	service := s.do(foreign, "POST", "/api/v1/holds/"+held+"/convert", nil).want(201).text("id")
	own = s.order(foreign, body{"machine": "BIG"}).problem(409, "already-yours")
	if own.text("service") != service || own.has("hold") {
		t.Errorf("already yours: %s", own.body)
	}
	// Until now only looks were refused: the logged attempt says the same.
	time.Sleep(1100 * time.Millisecond)
	log := s.do(sales, "GET", "/api/v1/attempts/"+none.text("attempt"), nil).want(200)
	if log.text("outcome") != "none_left" || log.number("considered") != 2 || log.text("org") != "acme" || log.text("request_id") != none.text("request_id") {
		t.Errorf("the log: %s", log.body)
	}
}

func TestLimitSuspensionRolloutCoolDown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 10)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "DEAR", Price: 90000})
	for range 3 {
		s.held(customer, "{}")
	}
	fixture.Exec(t, s.owner, "update org_limits set max_holds = 3 where org_id = $1", s.acme)
	limit := s.order(customer, "{}").problem(409, "limit-reached")
	if limit.number("limit") != 3 || limit.number("held") != 3 || limit.number("active") != 0 || limit.text("limit_name") != "max_holds" {
		t.Errorf("limit: %s", limit.body)
	}
	fixture.Exec(t, s.owner, "update org_limits set max_holds = 50, max_machines = 3 where org_id = $1", s.acme)
	if limit = s.order(customer, "{}").problem(409, "limit-reached"); limit.text("limit_name") != "max_machines" {
		t.Errorf("limit: %s", limit.body)
	}

	s.do(orgAdmin, "PUT", "/api/v1/orgs/acme/rollout", body{"setting": "off"}).want(200)
	off := s.order(customer, "{}").problem(403, "not-rolled-out")
	if off.text("reason") != "org_off" || off.text("who_can_change") != "org-admin" {
		t.Errorf("off: %s", off.body)
	}
	s.do(operator, "PUT", "/api/v1/rollout", body{"launch": "off"}).want(200)
	off = s.order(foreign, "{}").problem(403, "not-rolled-out")
	if off.text("reason") != "launch_off" || off.text("who_can_change") != "operator" {
		t.Errorf("off: %s", off.body)
	}
	s.do(operator, "PUT", "/api/v1/rollout", body{"launch": "on"}).want(200)

	fixture.Exec(t, s.owner, "update organisations set suspended_at = now(), suspended_by = 'x', suspended_reason = 'unpaid bills' where id = $1", s.rival)
	if sus := s.order(foreign, "{}").problem(403, "organisation-suspended"); strings.Contains(string(sus.body), "unpaid") {
		t.Errorf("the reason of a suspension is for staff: %s", sus.body)
	}
	fixture.Exec(t, s.owner, "update organisations set suspended_at = null, resumed_reason = 'paid' where id = $1", s.rival)

	for range 3 {
		id := s.held(foreign, body{"machine": "DEAR"})
		s.do(foreign, "POST", "/api/v1/holds/"+id+"/cancel", nil).want(200)
	}
	cool := s.order(foreign, body{"machine": "DEAR"}).problem(429, "cool-down")
	if cool.header.Get("Retry-After") == "" || cool.header.Get("Retry-After") == "0" {
		t.Errorf("cool-down: %v", cool.header)
	}
	if until, err := time.Parse(time.RFC3339, cool.text("until")); err != nil || time.Until(until) < time.Hour {
		t.Errorf("cool-down: %s", cool.body)
	}
}

func TestOnBehalf(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 3)
	hold := s.order(sales, body{"org": "acme"}).want(201)
	if hold.text("org") != "acme" || hold.at("overdue") != false || !strings.HasPrefix(hold.text("created_by"), "token:") {
		t.Errorf("on behalf: %s", hold.body)
	}
	if s.do(customer, "GET", "/api/v1/holds/"+hold.text("id"), nil).want(200).has("created_by") {
		t.Error("customers see staff's fields")
	}
	before := s.state()
	for _, b := range []body{{}, {"org": ""}, {"org": "nobody"}, {"org": 5}, {"org": nil}} {
		if faults := s.order(sales, b).faults(422); faults["org"] == "" || len(faults) != 1 {
			t.Errorf("%v: %v", b, faults)
		}
	}
	for _, org := range []string{"acme", "rival"} {
		if faults := s.order(customer, body{"org": org}).faults(422); !strings.Contains(faults["org"], "unknown field") {
			t.Errorf("a customer naming %s: %v", org, faults)
		}
	}
	s.order(operator, body{"org": "acme"}).problem(403, "forbidden")
	if s.state() != before {
		t.Error("a refused order changed something")
	}
}
