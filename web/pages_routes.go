package web

import (
	"net/http"
	"slices"

	"ironhold/accounts"
	"ironhold/static"
	"ironhold/web/problem"
)

// pageRoutes lists the pages.
func (s *server) pageRoutes() []route {
	get := func(pattern string, f accounts.Function, h handler) route {
		return route{method: http.MethodGet, pattern: pattern, function: f, handle: h, maxBody: maxForm}
	}
	post := func(pattern string, f accounts.Function, h handler) route {
		return route{method: http.MethodPost, pattern: pattern, function: f, handle: h, maxBody: maxForm}
	}
	public := func(rt route) route { rt.public = true; return rt }
	begins := func(rt route) route { rt.begins = true; return rt }
	passive := func(rt route) route { rt.passive = true; return rt }
	return slices.Concat([]route{
		public(get(static.Prefix+"*", "", s.serveStatic)),
		public(get("/", "", s.home)),
		public(get("/sign-in", "", func(w http.ResponseWriter, r *http.Request) error { return seeOther(w, r, "/") })),
		public(post("/sign-in", "", s.signIn)),
		public(post("/sign-out", "", s.signOut)),
		public(post("/preferences", "", s.setPreferences)),
		public(get("/help", "", s.help)),
		public(get("/help/api", "", s.apiReference)),
		public(get("/problems/{name}", "", s.explain)),
		passive(get("/events", signedIn, s.events)),

		get("/offers", accounts.SeeOffers, s.offers),
		get("/offers.csv", accounts.SeeOffers, s.offersFile),
		get("/offers/compare", accounts.SeeOffers, s.compare),
		get("/offers/{class}", accounts.SeeOffers, s.showOffer),
		get("/order", signedIn, s.orderForm),
		begins(post("/order", signedIn, s.placeOrder)),
		get("/order/match", signedIn, s.orderMatch),
		get("/order/result", signedIn, s.orderResult),
		get("/waiting", accounts.SeeOffers, s.waiting),
		post("/waiting", accounts.Order, s.wait),
		get("/waiting/{id}/stop", accounts.SeeOffers, s.backToWaiting),
		post("/waiting/{id}/stop", accounts.Order, s.stopWaiting),

		get("/holds", accounts.SeeHolds, s.listHolds),
		get("/holds/{id}", accounts.SeeHolds, s.showHold),
		passive(get("/holds/{id}/clock", accounts.SeeHolds, s.holdClock)),
		get("/holds/{id}/extend", accounts.SeeHolds, s.backToHold),
		get("/holds/{id}/cancel", accounts.SeeHolds, s.backToHold),
		get("/holds/{id}/substitute", accounts.SeeHolds, s.backToHold),
		post("/holds/{id}/extend", accounts.ExtendHold, s.extendHold),
		post("/holds/{id}/cancel", accounts.CancelHold, s.cancelHold),
		post("/holds/{id}/substitute", accounts.SubstituteHold, s.substituteHold),
		get("/holds/{id}/confirm", accounts.ConvertHold, s.confirmForm),
		post("/holds/{id}/confirm", accounts.ConvertHold, s.confirmHold),

		get("/services", accounts.SeeServices, s.listServices),
		get("/services/{id}", accounts.SeeServices, s.showService),
		get("/services/{id}/end", accounts.EndService, s.endServiceForm),
		post("/services/{id}/end", accounts.EndService, s.endService),

		get("/fleet", accounts.SeeFleet, s.fleetBoard),
		get("/fleet/machines/{tag}", accounts.SeeFleet, s.showMachine),
		get("/fleet/work", accounts.SeeFleet, s.workBoard),
		post("/fleet/work/{id}", accounts.FleetWrite, s.doWork),
		post("/fleet/machines/{tag}/status", accounts.FleetWrite, s.moveMachine),
		get("/org/rollout", accounts.SeeRollout, s.orgRollout),
		post("/org/rollout", accounts.RolloutOrg, s.setOrgRollout),
		get("/admin/rollout", accounts.RolloutLaunch, s.launch),
		post("/admin/rollout", accounts.RolloutLaunch, s.setLaunch),
	}, s.accountRoutes(get, post), s.factorRoutes(get, post), s.orgRoutes(get, post), s.webhookRoutes(get, post), s.deskRoutes(get, post), s.fleetRoutes(get, post), s.adminRoutes(get, post), s.devRoutes())
}

// maxForm is more than any form here holds.
const maxForm = 64 << 10

func (s *server) serveStatic(w http.ResponseWriter, r *http.Request) error {
	if !static.Handler(w, r) {
		return problem.NoSuch()
	}
	return nil
}
