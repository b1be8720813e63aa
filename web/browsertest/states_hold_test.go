package browsertest

import (
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/migrations/pgtest/fixture"
)

// The hold, what comes after it, and failures.
func init() {
	states = append(states, []state{
		// The hold.
		{name: "hold", who: customer, outcome: "held", title: "held", show: func(v *visit) { v.order("min_ram_gb", "64", "ecc", "true") }},
		{name: "hold-extended", who: customer, outcome: "held", show: func(v *visit) {
			v.order("machine", "GOT-1")
			v.Follow(func() { v.Press("Extend") })
		}},
		{name: "hold-last-minute", who: customer, outcome: "held", show: func(v *visit) {
			id := v.own("GOT-1")
			v.leave(id, 110*time.Second)
			v.Go(path("/holds/", id))
			v.Wait("the warning", `document.querySelector("[data-warn]").checkVisibility()`)
		}},
		{name: "hold-over-on-screen", who: customer, outcome: "hold-expired", show: func(v *visit) {
			id := v.hold(v.acme, allocator.Request{MinRAMGB: 128})
			v.look(id, path("/holds/", id))
			v.Wait("the end on the screen", over)
		}},
		{name: "hold-expired", who: customer, outcome: "hold-expired", show: func(v *visit) {
			id := v.hold(v.acme, allocator.Request{MinRAMGB: 128})
			v.leave(id, -time.Minute)
			v.Go(path("/holds/", id))
		}},
		{name: "hold-given-back", who: customer, outcome: "hold-cancelled", show: func(v *visit) {
			v.order("machine", "GOT-1")
			v.Follow(func() { v.Press("Give it back") })
		}},
		{name: "hold-converted", who: customer, outcome: "hold-converted", show: func(v *visit) {
			id := v.own("GOT-1")
			v.convert(id)
			v.Go(path("/holds/", id))
		}},
		{name: "hold-withdrawn", who: customer, outcome: "machine-withdrawn", show: func(v *visit) {
			id := v.own("GOT-1")
			v.status("GOT-1", "maintenance")
			v.Go(path("/holds/", id))
		}},
		{name: "holds-empty", who: customer, title: "Holds", show: at("/holds")},
		{name: "holds", who: customer, title: "Holds", show: func(v *visit) { v.past(); v.Go("/holds") }},
		{name: "holds-nothing-expired", who: customer, title: "Holds", show: func(v *visit) { v.own("GOT-1"); v.Go("/holds?state=expired") }},

		// What changes while a page is open.
		{name: "offers-stock-changed", who: customer, title: "Servers", show: func(v *visit) {
			v.Go("/offers")
			v.listening()
			v.holdTag(v.rival, "GOT-1")
			v.Wait("the news", seen("changed"))
		}},
		{name: "hold-extended-elsewhere", who: customer, outcome: "held", show: func(v *visit) {
			id := v.own("GOT-1")
			v.Go(path("/holds/", id))
			v.listening()
			v.extend(id)
			v.Wait("the news", seen("note"))
		}},
		{name: "hold-given-back-elsewhere", who: customer, outcome: "hold-cancelled", show: func(v *visit) {
			id := v.own("GOT-1")
			v.Go(path("/holds/", id))
			v.listening()
			v.cancel(v.acme, id)
			v.Wait("the news", seen("note"))
		}},
		{name: "holds-live-off", who: customer, title: "Holds", show: func(v *visit) {
			v.own("GOT-1")
			v.Go("/holds")
			v.listening()
			v.hush()
			v.Wait("the words", seen("off"))
		}},
		{name: "holds-signed-out-elsewhere", who: customer, title: "Holds", show: func(v *visit) {
			v.own("GOT-1")
			v.Go("/holds")
			v.listening()
			fixture.Exec(v.t, v.Owner, "update sessions set expiry = clock_timestamp() where user_id = $1", v.user)
			v.Live.Touch()
			v.Wait("the words", seen("ended"))
		}},

		// The confirmation and every answer that it can have.
		{name: "confirm", who: customer, title: "Rent", show: func(v *visit) { v.Go(path("/holds/", v.own("GOT-1"), "/confirm")) }},
		{name: "confirm-over-on-screen", who: customer, outcome: "hold-expired", show: func(v *visit) {
			id := v.own("GOT-1")
			v.look(id, path("/holds/", id, "/confirm"))
			v.Wait("the end on the screen", over)
		}},
		{name: "confirm-expired", who: customer, outcome: "hold-expired", show: func(v *visit) {
			v.confirmAfter("GOT-1", func(id uuid.UUID) { v.leave(id, -time.Second) })
		}},
		{name: "confirm-given-back", who: customer, outcome: "hold-cancelled", show: func(v *visit) {
			v.confirmAfter("GOT-1", func(id uuid.UUID) { v.cancel(v.acme, id) })
		}},
		{name: "confirm-withdrawn", who: customer, outcome: "machine-withdrawn", show: func(v *visit) {
			v.confirmAfter("GOT-1", func(uuid.UUID) { v.status("GOT-1", "maintenance") })
		}},
		{name: "confirm-withdrawn-no-equal", who: customer, outcome: "machine-withdrawn", show: func(v *visit) {
			v.confirmAfter("OPO-1", func(uuid.UUID) { v.status("OPO-1", "maintenance") })
		}},
		{name: "cancel-converted", who: customer, outcome: "hold-converted", show: func(v *visit) {
			id := v.own("GOT-1")
			v.convert(id)
			v.Go("/help")
			v.Post(path("/holds/", id, "/cancel"))
		}},
		{name: "extend-used", who: customer, outcome: "extension-used", show: func(v *visit) {
			id := v.own("GOT-1")
			v.extend(id)
			v.Go("/")
			v.Post(path("/holds/", id, "/extend"), "key", uuid.NewString())
		}},
		{name: "extend-ceiling", who: customer, outcome: "ceiling-reached", show: func(v *visit) {
			first := v.own("GOT-1")
			v.extend(first)
			v.cancel(v.acme, first)
			v.Go("/")
			v.Post(path("/holds/", v.own("GOT-1"), "/extend"), "key", uuid.NewString())
		}},

		// The waiting list.
		{name: "waiting-empty", who: customer, title: "Waiting", show: at("/waiting")},
		{name: "waiting", who: customer, title: "Waiting", show: func(v *visit) {
			v.wait(v.acme, allocator.Request{MinRAMGB: 512, Sites: []string{"OPO1"}})
			v.holdTag(v.rival, "OPO-1")
			v.order("min_ram_gb", "256")
			v.Follow(func() { v.Press("Tell me") })
		}},
		{name: "waiting-told", who: customer, title: "Waiting", show: func(v *visit) { v.told(); v.Go("/waiting") }},
		{name: "holds-told", who: customer, title: "Holds", show: func(v *visit) { v.told(); v.own("LEJ-1"); v.Go("/holds") }},
		{name: "waiting-full", who: customer, outcome: "waiting-list-full", show: func(v *visit) {
			for i := range 20 {
				v.wait(v.acme, allocator.Request{MinRAMGB: 1000 + i})
			}
			v.order("min_ram_gb", "512")
			v.Follow(func() { v.Press("Tell me") })
		}},
		{name: "german-waiting", who: customer, show: func(v *visit) { v.german(); v.told(); v.Go("/waiting") }},

		// The service.
		{name: "service-fresh", who: customer, outcome: "service", show: func(v *visit) {
			v.Go(path("/holds/", v.own("GOT-1"), "/confirm"))
			v.Follow(func() { v.Click(`form[action$="/confirm"] button`) })
		}},
		{name: "service", who: customer, outcome: "service", show: func(v *visit) { v.Go(path("/services/", v.rent(v.acme, "OPO-1"))) }},
		{name: "service-end", who: customer, title: "End", show: func(v *visit) { v.Go(path("/services/", v.rent(v.acme, "OPO-1"), "/end")) }},
		{name: "service-ended", who: customer, outcome: "service-ended", show: func(v *visit) {
			v.Go(path("/services/", v.rent(v.acme, "OPO-1"), "/end"))
			v.Fill("reason", "The project is finished")
			v.Follow(func() { v.Click(`form[action$="/end"] button`) })
		}},
		{name: "services-empty", who: customer, title: "Services", show: at("/services")},
		{name: "services", who: customer, title: "Services", show: func(v *visit) {
			v.rent(v.acme, "OPO-1")
			v.rent(v.acme, "GOT-1")
			v.end(v.rent(v.acme, "LEJ-1"))
			v.Go("/services")
		}},

		// Failures.
		{name: "not-found", who: customer, outcome: "not-found", show: func(v *visit) { v.Go(path("/holds/", v.holdTag(v.rival, "GOT-1"))) }},
		{name: "forbidden", who: customer, outcome: "forbidden", show: at("/admin/rollout")},
		{name: "method-not-allowed", who: customer, show: func(v *visit) { v.Go("/"); v.Post("/help") }},
		{name: "internal", who: customer, outcome: "internal", show: func(v *visit) {
			fixture.Exec(v.t, v.Owner, "alter table services rename to services_lost")
			v.Go("/services")
		}},
		{name: "database-away", who: customer, outcome: "busy", show: func(v *visit) {
			v.Go("/")
			v.away()
			v.Go("/holds")
			v.allow("/events") // the stream of news is away too
		}},
		{name: "offers-from-memory", who: customer, show: func(v *visit) {
			v.Go("/offers")
			v.away()
			v.allow("/events")
			v.Go("/offers")
			v.Says("cannot be read at the moment")
		}},
	}...)
}
