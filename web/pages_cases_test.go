package web

import (
	"strings"
	"testing"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// Staff see who holds what, since when, until when and from which order: in the lists, on the hold's page
// and on the machine's.
func TestStaffSeeWhoHoldsWhat(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 2)
	ada, sam, olga := s.person("Ada", accounts.Customer, "acme"), s.person("Sam", accounts.Sales, ""), s.person("Olga", accounts.Operator, "")
	held := ada.order("machine=EQ-1")
	id := strings.TrimPrefix(held, "/holds/")
	attempt := "/desk/attempts/" + fixture.Get[string](t, s.owner, "select attempt_id::text from holds where id = $1", id)
	until := fixture.Get[string](t, s.owner, "select to_char(expires_at at time zone 'UTC', 'HH24:MI') from holds where id = $1", id)
	since := fixture.Get[string](t, s.owner, "select to_char(created_at at time zone 'UTC', 'HH24:MI') from holds where id = $1", id)
	for name, b := range map[string]*browser{"sales": sam, "operator": olga} {
		for _, path := range []string{"/holds", "/desk/holds", held, "/fleet/machines/EQ-1"} {
			p := b.get(path).want(200).says("acme").says(until).says(since)
			if !strings.Contains(p.raw, `href="`+attempt+`"`) {
				t.Errorf("%s as %s does not lead to the order", path, name)
			}
		}
		b.get(attempt).want(200).says("Ada").says("EQ-1")
	}
	for _, path := range []string{"/holds", held} {
		if strings.Contains(ada.get(path).want(200).raw, "/desk/") {
			t.Errorf("%s leads a customer to the desk", path)
		}
	}
	ada.post(held + "/confirm").want(303)
	if p := sam.get("/fleet/machines/EQ-1").says("acme"); !strings.Contains(p.raw, attempt) {
		t.Error("the rented machine does not lead to its order")
	}
}

// The sweep stands still for an hour: staff see the hold as overdue, the holder as expired, the machine
// counts as free, and the next order has it.
func TestTheSweepStandsStill(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 1)
	ada, rob := s.person("Ada", accounts.Customer, "acme"), s.person("Rob", accounts.Customer, "rival")
	sam, olga := s.person("Sam", accounts.Sales, ""), s.person("Olga", accounts.Operator, "")
	held := ada.order("machine=EQ-1")
	fixture.Exec(t, s.owner, `update holds set created_at = clock_timestamp() - interval '75 minutes', expires_at = clock_timestamp() - interval '60 minutes'
		where id = $1::uuid`, strings.TrimPrefix(held, "/holds/"))
	for _, path := range []string{"/holds", held, "/desk/holds"} {
		sam.get(path).want(200).says("Overdue")
	}
	olga.get("/fleet/machines/EQ-1").want(200).says("Overdue")
	ada.get(held).outcome(200, "hold-expired")
	ada.post(held+"/confirm").outcome(410, "hold-expired")
	ada.get("/holds").want(200).says("Expired")
	board := s.do(operator, "GET", "/api/v1/machines/EQ-1", nil).want(200)
	if board.at("occupant.overdue") != true {
		t.Error("the interface for programs does not say overdue")
	}
	taken := rob.order("machine=EQ-1")
	rob.get(taken).outcome(200, "held")
	sam.get(held).want(200).says("Expired")
	if p := sam.get(held); strings.Contains(textOf(p.doc), "Overdue") {
		t.Error("what was freed is still called overdue")
	}
}

// The administrator switches ordering off while holds are open: they are finished, given back or expire,
// and no new one begins.
func TestSwitchedOffWhileHoldsAreOpen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 4)
	ada, bea, sam := s.person("Ada", accounts.Customer, "acme"), s.person("Bea", accounts.OrgAdmin, "acme"), s.person("Sam", accounts.Sales, "")
	finish, back, lapse := ada.order("machine=EQ-1"), ada.order("machine=EQ-2"), ada.order("machine=EQ-3")
	review := ada.review("machine=EQ-4")
	bea.follow(bea.submit(bea.get("/org/rollout"), "/org/rollout", "setting", "off")).want(200).says("Off").says("by Bea")
	ada.submit(review, "/order").outcome(403, "not-rolled-out")
	sam.post("/order", "key", "k-1", "machine", "EQ-4", "org", "acme").outcome(403, "not-rolled-out")
	ada.get(finish).outcome(200, "held")
	ada.follow(ada.submit(ada.get(finish+"/confirm"), "/confirm")).want(200)
	ada.follow(ada.submit(ada.get(back), "/cancel")).want(200)
	fixture.Exec(t, s.owner, `update holds set created_at = clock_timestamp() - interval '16 minutes', expires_at = clock_timestamp() - interval '1 minute'
		where id = $1::uuid`, strings.TrimPrefix(lapse, "/holds/"))
	if n, err := s.server.Holds.Sweep(t.Context()); err != nil || n != 1 {
		t.Errorf("swept %d, %v", n, err)
	}
	got := fixture.Get[string](t, s.owner, "select string_agg(h.state, ' ' order by m.asset_tag) from holds h join machines m on m.id = h.machine_id")
	if got != "converted cancelled expired" {
		t.Errorf("the holds are %s", got)
	}
	bea.follow(bea.submit(bea.get("/org/rollout"), "/org/rollout", "setting", "on")).want(200)
	ada.order("machine=EQ-4")
}
