package web

import (
	"strings"
	"testing"
	"time"

	"ironhold/migrations/pgtest/fixture"
)

func TestMachines(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 3)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "odd;tag~2f", Site: "HEL1"}, fixture.Machine{Tag: "NEW", Status: "intake"})
	id := s.held(customer, body{"machine": "A-1"})
	m := s.do(sales, "GET", "/api/v1/machines/A-1", nil).want(200)
	if m.text("occupant.kind") != "hold" || m.text("occupant.id") != id || m.text("occupant.org") != "acme" || m.at("occupant.overdue") != false ||
		m.number("history.#") != 1 || m.text("history.0.event") != "added" || m.text("status") != "ready" {
		t.Errorf("machine: %s", m.body)
	}
	if odd := s.do(sales, "GET", "/api/v1/machines/odd%3Btag%7E2f", nil).want(200); odd.text("asset_tag") != "odd;tag~2f" {
		t.Errorf("odd tag: %s", odd.body)
	}
	for query, n := range map[string]int{"": 5, "?status=intake": 1, "?site=HEL1": 1, "?q=a-": 3, "?q=%25": 0, "?q=~": 1, "?q=nothing": 0, "?site=nowhere": 0} {
		if got := s.do(sales, "GET", "/api/v1/machines"+query, nil).want(200).number("items.#"); got != n {
			t.Errorf("%s: %d machines, want %d", query, got, n)
		}
	}
	for _, tag := range []string{"nothing", "%00", "%20", strings.Repeat("x", 65), "\u00e9", "'"} {
		s.do(operator, "GET", "/api/v1/machines/"+tag, nil).problem(404, "not-found")
		s.do(operator, "POST", "/api/v1/machines/"+tag+"/wiped", nil).problem(404, "not-found")
	}

	status := func(tag string, b any) answer { return s.do(operator, "POST", "/api/v1/machines/"+tag+"/status", b) }
	status("nothing", body{"status": "ready", "reason": "x"}).problem(404, "not-found")
	before := s.state()
	for _, c := range []struct {
		b      any
		fields []string
	}{
		{body{}, []string{"status", "reason"}}, {body{"status": "ready"}, []string{"reason"}},
		{body{"status": "sold", "reason": "x"}, []string{"status"}}, {body{"status": "sold", "reason": "", "x": 1}, []string{"status", "reason", "x"}},
		{body{"status": 5, "reason": nil}, []string{"status", "reason"}}, {body{"status": "ready", "reason": strings.Repeat("x", 501)}, []string{"reason"}},
	} {
		faults := status("NEW", c.b).faults(422)
		for _, f := range c.fields {
			if faults[f] == "" {
				t.Errorf("%v: %v", c.b, faults)
			}
		}
		if len(faults) != len(c.fields) {
			t.Errorf("%v: %v", c.b, faults)
		}
	}
	move := status("NEW", body{"status": "cleaning", "reason": "x"}).problem(409, "illegal-move")
	if move.text("from") != "intake" || move.number("legal.#") != 2 {
		t.Errorf("illegal move: %s", move.body)
	}
	status("A-1", body{"status": "retired", "reason": "x"}).problem(409, "illegal-move")
	if s.state() != before {
		t.Error("a refused move changed something")
	}
	if now := status("NEW", body{"status": "ready", "reason": "tested"}).want(200); now.text("status") != "ready" || now.text("status_reason") != "tested" ||
		now.text("history.0.reason") != "tested" || !strings.HasPrefix(now.text("history.0.actor"), "token:") || now.text("history.0.request_id") != now.header.Get("X-Request-Id") {
		t.Errorf("moved: %s", now.body)
	}
	sold := s.do(customer, "POST", "/api/v1/holds/"+id+"/convert", nil).want(201).text("id")
	s.do(operator, "POST", "/api/v1/machines/A-1/wiped", nil).problem(409, "illegal-move")
	s.do(customer, "POST", "/api/v1/services/"+sold+"/end", nil).want(200)
	status("A-1", body{"status": "ready", "reason": "skip the wipe"}).problem(409, "illegal-move")
	if now := s.do(operator, "POST", "/api/v1/machines/A-1/wiped", nil).want(200); now.text("status") != "ready" || now.at("wiped_at") == nil {
		t.Errorf("wiped: %s", now.body)
	}
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 1)
	won := s.order(customer, "{}").want(201)
	lost := s.order(foreign, "{}").problem(409, "all-held")
	time.Sleep(1100 * time.Millisecond)
	all := s.do(sales, "GET", "/api/v1/attempts", nil).want(200)
	if all.number("items.#") != 2 || all.text("items.0.id") != lost.text("attempt") || all.text("items.0.outcome") != "all_held" || all.text("items.1.outcome") != "held" {
		t.Errorf("attempts: %s", all.body)
	}
	for query, n := range map[string]int{
		"outcome=held": 1, "outcome=all_held": 1, "outcome=all-held": 1, "outcome=busy": 0, "from=2020-01-01T00:00:00Z": 2,
		"to=2020-01-01T00:00:00Z": 0, "from=2020-01-01T00:00:00%2B02:00": 2, "from=2020-01-01T00:00:00+02:00": 2,
	} {
		if got := s.do(operator, "GET", "/api/v1/attempts?"+query, nil).want(200).number("items.#"); got != n {
			t.Errorf("%s: %d, want %d", query, got, n)
		}
	}
	one := s.do(operator, "GET", "/api/v1/attempts/"+won.text("attempt"), nil).want(200)
	if one.text("hold") != won.text("id") || one.text("walk.0.result") != "won" || one.text("walk.0.asset_tag") != "A-1" || one.text("org") != "acme" || one.at("faster") == nil {
		t.Errorf("attempt: %s", one.body)
	}
	for _, id := range []string{"1", "0190aaaa-0000-7000-8000-000000000000"} {
		s.do(operator, "GET", "/api/v1/attempts/"+id, nil).problem(404, "not-found")
	}
}

func TestRollout(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	get := s.do(orgAdmin, "GET", "/api/v1/orgs/acme/rollout", nil).want(200)
	if get.text("setting") != "inherit" || get.text("launch") != "on" || get.at("effective") != true || get.text("reason") != "launch_on" {
		t.Errorf("rollout: %s", get.body)
	}
	put := s.do(orgAdmin, "PUT", "/api/v1/orgs/acme/rollout", body{"setting": "off"}).want(200)
	if put.at("effective") != false || put.text("reason") != "org_off" || put.text("who_can_change") != "org-admin" || put.at("changed_at") == nil {
		t.Errorf("rollout: %s", put.body)
	}
	before := s.state()
	for _, b := range []any{body{}, body{"setting": "perhaps"}, body{"setting": nil}, body{"setting": true}, body{"setting": "on", "launch": "on"}, `{"setting":"on","setting":"off"}`} {
		s.do(orgAdmin, "PUT", "/api/v1/orgs/acme/rollout", b).problem(422, "invalid")
	}
	for _, b := range []any{body{}, body{"launch": "maybe"}, body{"launch": "101%"}, body{"launch": "5"}, body{"launch": 5}} {
		s.do(operator, "PUT", "/api/v1/rollout", b).problem(422, "invalid")
	}
	if s.state() != before {
		t.Error("a refused change changed something")
	}
	for _, launch := range []string{"off", "opt-in", "25%", "on"} {
		if l := s.do(operator, "PUT", "/api/v1/rollout", body{"launch": launch}).want(200); l.text("launch") != launch {
			t.Errorf("launch: %s", l.body)
		}
	}
	s.do(operator, "PUT", "/api/v1/orgs/rival/rollout", body{"setting": "on"}).want(200)
}

// A hold that is live when the module is switched off can be finished or given back.
func TestRolloutOffKeepsHolds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 4)
	one, two := s.held(customer, "{}"), s.held(customer, "{}")
	s.do(operator, "PUT", "/api/v1/rollout", body{"launch": "off"}).want(200)
	s.order(customer, "{}").problem(403, "not-rolled-out")
	s.order(sales, body{"org": "acme"}).problem(403, "not-rolled-out")
	s.do(customer, "POST", "/api/v1/holds/"+one+"/extend", nil).want(200)
	s.do(customer, "POST", "/api/v1/holds/"+one+"/convert", nil).want(201)
	s.do(customer, "POST", "/api/v1/holds/"+two+"/cancel", nil).want(200)
}

func TestInvariantsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 2)
	s.held(customer, "{}")
	a := s.do(operator, "GET", "/api/v1/invariants", nil).want(200)
	if a.at("ok") != true || a.number("invariants.#") == 0 {
		t.Errorf("invariants: %s", a.body)
	}
}
