package browsertest

import (
	"time"

	"github.com/google/uuid"

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
	{name: "help-api", title: "Interface for programs", show: at("/help/api")},
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
}
