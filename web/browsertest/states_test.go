package browsertest

import (
	"net/url"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// state is one page in one state. Every page that people see has its states here: they are looked
// at by axe, at every width and in both colours, and drawn by make screenshots.
type state struct {
	name    string
	who     string // who looks at it; "" for nobody
	options Options
	outcome string // data-outcome of the main element
	title   string // part of the page's title
	sample  bool   // on the large sample fleet instead of the small one
	show    func(v *visit)
}

// at shows an address.
func at(path string) func(v *visit) { return func(v *visit) { v.Go(path) } }

var states = []state{
	// Before the sign-in.
	{name: "sign-in", title: "Sign in", show: at("/")},
	{name: "sign-in-asked", title: "Sign in", show: at("/holds")},
	{name: "sign-in-wrong", title: "Error", show: func(v *visit) { v.signInWith(customer, "not the password") }},
	{name: "sign-in-empty", title: "Error", show: func(v *visit) { v.Post("/sign-in", "email", "", "password", "") }},
	{name: "help", title: "Help", show: at("/help")},
	{name: "problem-explained", title: "faster", show: at("/problems/someone-was-faster")},
	{name: "not-found-stranger", outcome: "not-found", show: at("/nothing/here")},

	// Where a customer arrives and looks around.
	{name: "home-empty", who: customer, title: "Home", show: at("/")},
	{name: "home", who: customer, title: "Home", show: func(v *visit) {
		v.own("GOT-1")
		v.own("LEJ-1")
		v.rent(v.acme, "OPO-1")
		v.Go("/")
	}},
	{name: "home-off", who: customer, title: "Home", show: func(v *visit) { v.off(); v.Go("/") }},
	{name: "account", who: customer, title: "account", show: at("/account")},
	{name: "offers", who: customer, sample: true, title: "Servers", show: at("/offers")},
	{name: "offers-filtered", who: customer, sample: true, title: "Servers", show: at("/offers?min_ram_gb=64&site=LEJ1&sort=-price")},
	{name: "offers-yours", who: customer, title: "Servers", show: func(v *visit) {
		v.own("GOT-1")
		v.rent(v.acme, "LEJ-1")
		for _, tag := range []string{"LEJ-2", "LEJ-3", "OPO-1"} {
			v.holdTag(v.rival, tag)
		}
		v.rent(v.rival, "OPO-2")
		v.Go("/offers")
	}},
	{name: "offers-nothing-fits", who: customer, title: "Servers", show: at("/offers?min_ram_gb=1024&max_price=50")},
	{name: "offers-no-fleet", who: customer, title: "Servers", show: func(v *visit) {
		fixture.Exec(v.t, v.Owner, "update machines set status = 'maintenance' where status = 'ready'")
		v.Go("/offers")
	}},
	{name: "offers-wrong-filter", who: customer, title: "Error", show: at("/offers?min_cores=many&max_price=cheap")},
	{name: "offers-ticked", who: customer, title: "Servers", show: func(v *visit) {
		v.Go("/offers?class=" + v.class("GOT-1") + "&class=" + v.class("OPO-1"))
	}},
	{name: "offer", who: customer, title: "EPYC 7402P", show: func(v *visit) { v.own("GOT-1"); v.Go("/offers/" + v.class("GOT-1")) }},
	{name: "offer-single", who: customer, title: "EPYC 9354P", show: func(v *visit) { v.Go("/offers/" + v.class("OPO-1")) }},
	{name: "offer-held", who: customer, title: "EPYC 9354P", show: func(v *visit) {
		v.holdTag(v.rival, "OPO-1")
		v.Go("/offers/" + v.class("OPO-1"))
	}},
	{name: "offer-off", who: customer, title: "EPYC 7402P", show: func(v *visit) { v.off(); v.Go("/offers/" + v.class("GOT-1")) }},
	{name: "compare", who: customer, title: "Compare", show: func(v *visit) {
		v.own("LEJ-1")
		v.compare("LEJ-1", "GOT-1", "OPO-1")
	}},
	{name: "compare-four", who: customer, title: "Compare", show: func(v *visit) {
		v.holdTag(v.rival, "OPO-2")
		v.compare("OPO-2", "LEJ-1", "GOT-1", "OPO-1")
	}},
	{name: "compare-empty", who: customer, title: "Compare", show: at("/offers/compare")},
	{name: "german-compare", who: customer, show: func(v *visit) { v.german(); v.compare("LEJ-1", "GOT-1") }},
	{name: "offers-off", who: customer, title: "Servers", show: func(v *visit) { v.off(); v.Go("/offers") }},

	// The order.
	{name: "order", who: customer, sample: true, title: "need", show: at("/order")},
	{name: "order-match", who: customer, sample: true, title: "need", show: at("/order?step=match&min_ram_gb=64&ecc=true")},
	{name: "order-match-none", who: customer, title: "need", show: at("/order?step=match&min_ram_gb=256&max_price=200")},
	{name: "order-match-held", who: customer, title: "need", show: func(v *visit) {
		v.holdTag(v.rival, "OPO-1")
		v.Go("/order?step=match&min_ram_gb=256")
	}},
	{name: "order-wrong", who: customer, title: "Error", show: at("/order?step=review&min_ram_gb=lots&max_price=-3&min_cores=9999999&machine=NO-SUCH")},
	{name: "order-off", who: customer, title: "need", show: func(v *visit) { v.off(); v.Go("/order") }},
	{name: "review", who: customer, title: "Review", show: func(v *visit) { v.review("min_ram_gb", "64", "site", "LEJ1", "ecc", "true") }},
	{name: "review-exact", who: customer, title: "Review", show: func(v *visit) { v.review("machine", "OPO-1") }},
	{name: "review-none", who: customer, title: "Review", show: func(v *visit) { v.review("min_ram_gb", "256", "max_price", "200") }},

	// Every outcome of an order.
	{name: "refused-invalid", who: customer, outcome: "invalid", title: "Error", show: func(v *visit) {
		v.Post("/order", "key", uuid.NewString(), "machine", "NO-SUCH", "colour", "red")
	}},
	{name: "refused-key-missing", who: customer, outcome: "key-missing", show: func(v *visit) { v.Post("/order", "min_ram_gb", "64") }},
	{name: "refused-key-reused", who: customer, outcome: "key-reused", show: func(v *visit) {
		key := uuid.NewString()
		v.Post("/order", "key", key, "min_ram_gb", "64")
		v.Post("/order", "key", key, "min_ram_gb", "128")
	}},
	{name: "refused-not-rolled-out", who: customer, outcome: "not-rolled-out", show: func(v *visit) {
		v.review("min_ram_gb", "64")
		v.off()
		v.Follow(func() { v.Click(submitOrder) })
	}},
	{name: "refused-not-rolled-out-admin", who: orgAdmin, outcome: "not-rolled-out", show: func(v *visit) {
		v.review("min_ram_gb", "64")
		v.off()
		v.Follow(func() { v.Click(submitOrder) })
	}},
	{name: "refused-suspended", who: customer, outcome: "organisation-suspended", show: func(v *visit) {
		v.review("min_ram_gb", "64")
		if _, err := v.Accounts.Suspend(v.t.Context(), by, "acme", "Invoice 4711 is open"); err != nil {
			v.t.Fatal(err)
		}
		v.Follow(func() { v.Click(submitOrder) })
	}},
	{name: "refused-yours-held", who: customer, outcome: "already-yours", show: func(v *visit) { v.own("GOT-1"); v.order("machine", "GOT-1") }},
	{name: "refused-yours-rented", who: customer, outcome: "already-yours", show: func(v *visit) {
		v.rent(v.acme, "GOT-1")
		v.order("machine", "GOT-1")
	}},
	{name: "refused-limit-holds", who: customer, outcome: "limit-reached", show: func(v *visit) {
		v.limits(1, 50)
		v.own("GOT-1")
		v.order("min_ram_gb", "64")
	}},
	{name: "refused-limit-machines", who: customer, outcome: "limit-reached", show: func(v *visit) {
		v.limits(5, 2)
		v.rent(v.acme, "GOT-1")
		v.own("GOT-2")
		v.order("min_ram_gb", "64")
	}},
	{name: "refused-cool-down", who: customer, outcome: "cool-down", show: func(v *visit) {
		v.worn("OPO-1")
		v.order("machine", "OPO-1")
	}},
	{name: "refused-faster", who: customer, outcome: "someone-was-faster", show: func(v *visit) {
		v.review("machine", "OPO-1")
		v.Follow(func() { v.contend("OPO-1", func() { v.Click(submitOrder) }, nil) })
	}},
	{name: "refused-try-again", who: customer, options: Options{Budget: time.Nanosecond}, outcome: "try-again-shortly", show: func(v *visit) {
		v.order("min_ram_gb", "64", "site", "GOT1")
	}},
	{name: "refused-all-held", who: customer, outcome: "all-held", show: func(v *visit) {
		v.holdTag(v.rival, "OPO-1")
		v.order("min_ram_gb", "256")
	}},
	{name: "refused-none-left", who: customer, outcome: "none-left", show: func(v *visit) { v.order("min_ram_gb", "256", "max_price", "200") }},
	{name: "refused-busy", who: customer, options: Options{LockTimeout: 100 * time.Millisecond}, outcome: "busy", show: func(v *visit) {
		v.review("min_ram_gb", "64")
		tx, err := v.Owner.Begin(v.t.Context())
		if err != nil {
			v.t.Fatal(err)
		}
		defer tx.Rollback(v.t.Context()) //nolint:errcheck // ends the wait
		if _, err := tx.Exec(v.t.Context(), "select from org_limits where org_id = $1 for no key update", v.acme); err != nil {
			v.t.Fatal(err)
		}
		v.Follow(func() { v.Click(submitOrder) })
	}},
	{name: "refused-checking", who: customer, outcome: "checking", show: func(v *visit) {
		v.hang()
		v.order("min_ram_gb", "64")
	}},
	{name: "refused-too-many", who: customer, options: Options{OrderRate: 1}, outcome: "too-many-requests", show: func(v *visit) {
		v.order("min_ram_gb", "64")
		v.order("min_ram_gb", "64")
	}},

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
}

// over is true when a page says by itself that the deadline has passed.
const over = `(e => e && e.checkVisibility())(document.querySelector('[data-phase="over"]'))`

func (v *visit) german() { v.Language("de-DE,de") }

func (v *visit) off() {
	v.t.Helper()
	if _, err := v.Accounts.SetRollout(v.t.Context(), by, v.acme, "off"); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visit) limits(maxHolds, maxMachines int) {
	v.t.Helper()
	if _, err := v.Accounts.SetLimits(v.t.Context(), by, "acme", maxHolds, maxMachines); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visit) signInWith(email, word string) {
	v.t.Helper()
	v.Go("/")
	v.Fill("email", email)
	v.Fill("password", word)
	v.Follow(func() { v.Click(`form[action="/sign-in"] button`) })
}

func (v *visit) convert(id uuid.UUID) {
	v.t.Helper()
	if _, _, err := v.Holds.Convert(v.t.Context(), by, holds.Scope{OrgID: v.acme}, id); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visit) extend(id uuid.UUID) {
	v.t.Helper()
	if _, err := v.Holds.Extend(v.t.Context(), by, holds.Scope{OrgID: v.acme}, id, uuid.NewString()); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visit) end(id uuid.UUID) {
	v.t.Helper()
	if _, err := v.Holds.EndService(v.t.Context(), by, holds.Scope{OrgID: v.acme}, id, "No longer needed"); err != nil {
		v.t.Fatal(err)
	}
}

// worn uses up the time that the visitor's organisation may hold a machine.
func (v *visit) worn(tag string) {
	v.t.Helper()
	first := v.own(tag)
	v.extend(first)
	v.cancel(v.acme, first)
	v.cancel(v.acme, v.own(tag))
}

// confirmAfter holds, lets something happen, and confirms.
func (v *visit) confirmAfter(tag string, happens func(id uuid.UUID)) {
	v.t.Helper()
	id := v.own(tag)
	v.Go("/help") // the confirmation would hear of it
	happens(id)
	v.Post(path("/holds/", id, "/confirm"))
}

// class is the number of the group that a machine belongs to.
func (v *visit) class(tag string) string {
	v.t.Helper()
	return fixture.Get[string](v.t, v.Owner, "select class_id::text from machines where asset_tag = $1", tag)
}

func (v *visit) compare(tags ...string) {
	v.t.Helper()
	q := url.Values{}
	for _, tag := range tags {
		q.Add("class", v.class(tag))
	}
	v.Go("/offers/compare?" + q.Encode())
}

func (v *visit) wait(org uuid.UUID, r allocator.Request) {
	v.t.Helper()
	if _, faults, err := v.Allocator.Wait(v.t.Context(), pg.By{Actor: "user:" + v.user.String()}, org, r, nil); err != nil || len(faults) > 0 {
		v.t.Fatal(faults, err)
	}
}

// told lets two machines that the visitor waited for come free, one of them taken again since, and
// leaves a third wish open.
func (v *visit) told() {
	v.t.Helper()
	first, second := v.holdTag(v.rival, "OPO-1"), v.holdTag(v.rival, "OPO-2")
	v.wait(v.acme, allocator.Request{MinRAMGB: 256})
	v.wait(v.acme, allocator.Request{Machine: "OPO-2"})
	v.wait(v.acme, allocator.Request{MinRAMGB: 512, Sites: []string{"OPO1"}})
	v.cancel(v.rival, first)
	v.cancel(v.rival, second)
	if n, err := v.Allocator.MatchWaiting(v.t.Context()); err != nil || n != 2 {
		v.t.Fatalf("told %d, %v", n, err)
	}
	v.holdTag(v.rival, "OPO-2")
}

// past gives both organisations holds of every kind.
func (v *visit) past() {
	v.t.Helper()
	org := v.acme
	cancelled := v.holdTag(org, "GOT-1")
	v.cancel(org, cancelled)
	v.leave(v.holdTag(org, "GOT-2"), -time.Minute)
	v.rent(org, "OPO-1")
	v.holdTag(org, "LEJ-1")
	withdrawn := v.holdTag(org, "LEJ-2")
	_ = withdrawn
	v.status("LEJ-2", "maintenance")
	v.holdTag(v.rival, "LEJ-3")
}

// attempts makes refusals of several kinds.
func (v *visit) attempts() {
	v.t.Helper()
	price := int64(20_000)
	for _, r := range []allocator.Request{{MinRAMGB: 256, MaxPriceMonthMinor: &price}, {CPU: "Xeon"}, {Sites: []string{"LEJ1"}, MinCores: 24}} {
		if _, err := v.Allocator.Order(v.t.Context(), allocator.Order{OrgID: v.acme, By: by, Key: uuid.NewString(), Request: r}); err != nil {
			v.t.Fatal(err)
		}
	}
}

// attempt waits until an attempt of this outcome is on record.
func (v *visit) attempt(outcome string) string {
	v.t.Helper()
	var id string
	v.until("the record of an attempt", func() (bool, error) {
		err := v.Owner.QueryRow(v.t.Context(), "select coalesce(max(id::text), '') from allocation_attempts where outcome = $1", outcome).Scan(&id)
		return id != "", err
	})
	return id
}
