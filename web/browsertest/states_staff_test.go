package browsertest

import (
	"time"

	"ironhold/allocator"
	"ironhold/migrations/pgtest/fixture"
)

// Staff and administrators, and German words, which are longer.
func init() {
	states = append(states, []state{
		// Staff and administrators.
		{name: "desk", who: sales, title: "Desk", show: func(v *visit) { v.past(); v.attempts(); v.Go("/desk") }},
		{name: "desk-empty", who: sales, title: "Desk", show: at("/desk")},
		{name: "attempt", who: sales, show: func(v *visit) { v.attempts(); v.Go("/desk/attempts/" + v.attempt("none_left")) }},
		{name: "attempt-held", who: sales, show: func(v *visit) {
			v.hold(v.rival, allocator.Request{MinRAMGB: 64})
			v.Go("/desk/attempts/" + v.attempt("held"))
		}},
		{name: "desk-hold-overdue", who: sales, show: func(v *visit) {
			id := v.holdTag(v.rival, "GOT-1")
			v.leave(id, -time.Minute)
			v.Go(path("/holds/", id))
		}},
		{name: "desk-order", who: sales, title: "need", show: at("/order")},
		{name: "desk-order-no-org", who: sales, title: "Error", show: func(v *visit) { v.review("min_ram_gb", "64") }},
		{name: "fleet", who: operator, sample: true, title: "Fleet", show: at("/fleet")},
		{name: "machine-held", who: operator, show: func(v *visit) { v.holdTag(v.rival, "GOT-1"); v.Go("/fleet/machines/GOT-1") }},
		{name: "machine-maintenance", who: operator, show: at("/fleet/machines/OPO-3")},
		{name: "machine-in-service", who: operator, show: func(v *visit) { v.rent(v.rival, "GOT-1"); v.Go("/fleet/machines/GOT-1") }},
		{name: "machine-unwiped", who: operator, show: func(v *visit) {
			v.end(v.rent(v.acme, "GOT-1"))
			v.Go("/fleet/machines/GOT-1")
		}},
		{name: "machine-history", who: operator, show: func(v *visit) {
			fixture.Exec(v.t, v.Owner, `insert into machine_events (at, machine_id, event, reason, actor, after)
				select now() - i * interval '1 day', (select id from machines where asset_tag = 'GOT-1'), 'changed', 'Price list ' || i, 'test', '{}' from generate_series(1, 60) i`)
			v.Go("/fleet/machines/GOT-1?page=1")
		}},
		{name: "fleet-sum-wrong", who: operator, title: "Fleet", show: func(v *visit) {
			fixture.TwoOccupants(v.t, v.Owner, "GOT-1")
			v.Go("/fleet")
			v.Says("The parts do not add up to the total")
		}},
		{name: "fleet-alarm", who: operator, title: "Fleet", show: func(v *visit) {
			fixture.Exec(v.t, v.Owner, "insert into invariant_states (name, violations, example) values ('one_occupant', 1, 'machine GOT-1: hold and service')")
			v.Go("/fleet")
		}},
		{name: "org-rollout", who: orgAdmin, show: at("/org/rollout")},
		{name: "org-rollout-off", who: orgAdmin, show: func(v *visit) { v.off(); v.Go("/org/rollout") }},
		{name: "launch", who: operator, show: at("/admin/rollout")},
		{name: "launch-share", who: operator, show: func(v *visit) {
			if _, err := v.Rollout.SetLaunch(v.t.Context(), by, "25%"); err != nil {
				v.t.Fatal(err)
			}
			v.Go("/admin/rollout")
		}},

		// German words are longer.
		{name: "german-hold", who: customer, outcome: "held", show: func(v *visit) { v.german(); v.order("min_ram_gb", "64") }},
		{name: "german-none-left", who: customer, outcome: "none-left", show: func(v *visit) { v.german(); v.order("min_ram_gb", "256", "max_price", "200") }},
		{name: "german-offers", who: customer, sample: true, show: func(v *visit) { v.german(); v.Go("/offers") }},
		{name: "german-order", who: customer, sample: true, show: func(v *visit) { v.german(); v.Go("/order?step=match&min_ram_gb=64") }},
	}...)
}
