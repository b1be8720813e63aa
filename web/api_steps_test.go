package web

import (
	"strings"
	"sync"
	"testing"

	"ironhold/migrations/pgtest/fixture"
)

func TestHoldLife(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 6)
	id := s.held(customer, body{"machine": "A-1"})
	path := "/api/v1/holds/" + id
	first := s.do(customer, "GET", path, nil).want(200)

	extended := s.do(customer, "POST", path+"/extend", nil, "Idempotency-Key", "e1").want(200)
	if extended.at("extended_at") == nil || extended.text("expires_at") <= first.text("expires_at") || extended.number("seconds_left") < 1700 {
		t.Errorf("extended: %s", extended.body)
	}
	again := s.do(customer, "POST", path+"/extend", "{}", "Idempotency-Key", "e1").want(200)
	if again.text("expires_at") != extended.text("expires_at") {
		t.Errorf("a repeat moved the deadline: %s", again.body)
	}
	s.do(customer, "POST", path+"/extend", nil, "Idempotency-Key", "e2").problem(409, "extension-used")
	s.do(customer, "POST", path+"/extend", nil).problem(409, "extension-used")
	s.do(customer, "POST", path+"/extend", nil, "Idempotency-Key", "a b").problem(422, "invalid")

	fixture.Exec(t, s.owner, "update machines set price_month_minor = 999999 where asset_tag = 'A-1'")
	sold := s.do(customer, "POST", path+"/convert", nil).want(201)
	if sold.header.Get("Location") != "/api/v1/services/"+sold.text("id") || sold.text("hold") != id || sold.text("state") != "active" ||
		sold.number("price_month.amount_minor") != 4000 || sold.text("machine.asset_tag") != "A-1" {
		t.Errorf("service: %v %s", sold.header, sold.body)
	}
	if same := s.do(customer, "POST", path+"/convert", "{}").want(200); same.text("id") != sold.text("id") {
		t.Errorf("converted again: %s", same.body)
	}
	conv := s.do(customer, "POST", path+"/cancel", nil).problem(409, "hold-converted")
	if conv.text("service") != sold.text("id") || conv.text("state") != "converted" {
		t.Errorf("converted: %s", conv.body)
	}
	s.do(customer, "POST", path+"/extend", nil).problem(409, "hold-converted")
	if got := s.do(customer, "GET", path, nil).want(200); got.text("state") != "converted" || got.text("service") != sold.text("id") {
		t.Errorf("the hold now: %s", got.body)
	}

	end := s.do(customer, "POST", "/api/v1/services/"+sold.text("id")+"/end", body{"reason": "done"}).want(200)
	if end.text("state") != "ended" || end.at("ended_at") == nil || end.text("end_reason") != "done" {
		t.Errorf("ended: %s", end.body)
	}
	if again := s.do(customer, "POST", "/api/v1/services/"+sold.text("id")+"/end", body{"reason": "other"}).want(200); again.text("ended_at") != end.text("ended_at") || again.text("end_reason") != "done" {
		t.Errorf("ended again: %s", again.body)
	}
	if m := s.do(operator, "GET", "/api/v1/machines/A-1", nil).want(200); m.text("status") != "cleaning" || m.at("occupant") != nil {
		t.Errorf("the machine after its service: %s", m.body)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 6)
	id := s.held(customer, body{})
	gone := s.do(operator, "POST", "/api/v1/holds/"+id+"/cancel", body{"reason": "asked by phone\nby Jo"}).want(200)
	if gone.text("state") != "cancelled" || gone.text("close_reason") != "asked by phone\nby Jo" || gone.number("seconds_left") != 0 {
		t.Errorf("cancelled: %s", gone.body)
	}
	if same := s.do(customer, "POST", "/api/v1/holds/"+id+"/cancel", body{"reason": "again"}).want(200); same.text("close_reason") != gone.text("close_reason") || same.text("closed_at") != gone.text("closed_at") {
		t.Errorf("cancelled again: %s", same.body)
	}
	if p := s.do(customer, "POST", "/api/v1/holds/"+id+"/convert", nil).problem(409, "hold-cancelled"); p.text("state") != "cancelled" {
		t.Errorf("convert: %s", p.body)
	}
	s.do(customer, "POST", "/api/v1/holds/"+id+"/extend", nil).problem(409, "hold-cancelled")

	id = s.held(customer, body{})
	before := s.state()
	for _, b := range []string{`{"reason":5}`, `{"reason":null}`, `{"reason":"x","reason":"y"}`, `{"why":"x"}`, `{"reason":"` + strings.Repeat("x", 501) + `"}`, `[]`, `"x"`} {
		s.do(customer, "POST", "/api/v1/holds/"+id+"/cancel", b).problem(422, "invalid")
	}
	for _, b := range []string{`{`, `{"reason":"x"} x`, `reason=x`} {
		s.do(customer, "POST", "/api/v1/holds/"+id+"/cancel", b).problem(400, "invalid")
	}
	if s.state() != before {
		t.Error("a refused cancel changed something")
	}
}

func TestOverdue(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 6)
	id := s.held(customer, body{"machine": "A-3"})
	s.makeOverdue(id)

	mine := s.do(customer, "GET", "/api/v1/holds/"+id, nil).want(200)
	if mine.text("state") != "expired" || mine.has("overdue") || mine.number("seconds_left") != 0 {
		t.Errorf("a customer sees %s", mine.body)
	}
	theirs := s.do(operator, "GET", "/api/v1/holds/"+id, nil).want(200)
	if theirs.text("state") != "expired" || theirs.at("overdue") != true {
		t.Errorf("staff see %s", theirs.body)
	}
	for state, want := range map[string]int{"held": 0, "expired": 1, "cancelled": 0} {
		if n := s.do(customer, "GET", "/api/v1/holds?state="+state, nil).want(200).number("items.#"); n != want {
			t.Errorf("%d holds are %s, want %d", n, state, want)
		}
	}
	for _, step := range []string{"extend", "cancel", "convert"} {
		p := s.do(customer, "POST", "/api/v1/holds/"+id+"/"+step, nil).problem(410, "hold-expired")
		if p.text("expires_at") != mine.text("expires_at") {
			t.Errorf("%s: %s", step, p.body)
		}
	}
	// The machine is free for others, and who got it does not learn of whom.
	freed := s.order(foreign, body{"machine": "A-3"}).want(201)
	if strings.Contains(string(freed.body), id) || strings.Contains(string(freed.body), "acme") {
		t.Errorf("another organisation's hold is named: %s", freed.body)
	}
	if seen := s.do(sales, "GET", "/api/v1/holds/"+freed.text("id"), nil).want(200); seen.text("decision.freed_overdue_hold") != id {
		t.Errorf("staff see %s", seen.body)
	}
	if after := s.do(operator, "GET", "/api/v1/holds/"+id, nil).want(200); after.at("overdue") != false || after.text("state") != "expired" {
		t.Errorf("after: %s", after.body)
	}
}

// makeOverdue moves a hold into the past, as time would.
func (s *site) makeOverdue(id string) {
	s.t.Helper()
	tx, err := s.owner.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, sql := range []string{
		"set local session_replication_role = replica",
		"update holds set created_at = created_at - interval '1 hour', expires_at = expires_at - interval '1 hour' where id = '" + id + "'",
	} {
		if _, err := tx.Exec(s.t.Context(), sql); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := tx.Commit(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

func TestWithdrawnAndSubstitute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 2)
	id := s.held(customer, body{"machine": "A-1"})
	path := "/api/v1/holds/" + id
	s.do(customer, "POST", path+"/substitute", nil).problem(409, "not-withdrawn")
	s.do(operator, "POST", "/api/v1/machines/A-1/status", body{"status": "maintenance", "reason": "fan"}).want(200)

	seen := s.do(customer, "GET", path, nil).want(200)
	if seen.at("withdrawn") != true || seen.text("state") != "held" {
		t.Errorf("withdrawn: %s", seen.body)
	}
	if p := s.do(customer, "POST", path+"/convert", nil).problem(409, "machine-withdrawn"); p.at("substitute_available") != true {
		t.Errorf("withdrawn: %s", p.body)
	}
	other := s.held(foreign, body{"machine": "A-2"})
	if p := s.do(customer, "POST", path+"/substitute", nil).problem(409, "no-substitute"); p.at("substitute_available") != false {
		t.Errorf("no substitute: %s", p.body)
	}
	if p := s.do(customer, "POST", path+"/convert", nil).problem(409, "machine-withdrawn"); p.at("substitute_available") != false {
		t.Errorf("withdrawn: %s", p.body)
	}
	s.do(foreign, "POST", "/api/v1/holds/"+other+"/cancel", nil).want(200)
	sub := s.do(customer, "POST", path+"/substitute", nil).want(201)
	if sub.text("machine.asset_tag") != "A-2" || sub.text("expires_at") != seen.text("expires_at") || sub.text("substitute_of") != id ||
		sub.header.Get("Location") != "/api/v1/holds/"+sub.text("id") {
		t.Errorf("substitute: %v %s", sub.header, sub.body)
	}
	s.do(customer, "POST", "/api/v1/holds/"+sub.text("id")+"/convert", nil).want(201)
}

func TestConvertThreeTimesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 1)
	id := s.held(customer, body{})
	statuses, ids := make([]int, 3), make([]string, 3)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			a := s.do(customer, "POST", "/api/v1/holds/"+id+"/convert", nil)
			statuses[i], ids[i] = a.status, a.text("id")
		})
	}
	wg.Wait()
	if statuses[0]+statuses[1]+statuses[2] != 201+200+200 || ids[0] != ids[1] || ids[1] != ids[2] {
		t.Errorf("%v %v", statuses, ids)
	}
}
