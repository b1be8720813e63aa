package web

import "ironhold/accounts"

// webhookRoutes are the pages about where the organisation is told.
func (s *server) webhookRoutes(get, post router) []route {
	const f = accounts.ManageWebhooks
	routes := []route{
		get("/org/webhooks", f, s.webhooks),
		post("/org/webhooks", f, s.addWebhook),
		get("/org/webhooks/new", f, s.webhookForm),
		get("/org/webhooks/{id}", f, s.webhook),
		get("/org/webhooks/{id}/rotate", f, s.backToWebhook),
		post("/org/webhooks/{id}/rotate", f, s.rotateWebhook),
		get("/org/webhooks/{id}/deliveries/{delivery}", f, s.webhookDelivery),
		get("/org/webhooks/{id}/deliveries/{delivery}/retry", f, s.backToDelivery),
		post("/org/webhooks/{id}/deliveries/{delivery}/retry", f, s.retryDelivery),
	}
	for _, c := range []struct {
		verb, notice string
		away         bool // the receiver has no page afterwards
		change       webhookChange
	}{
		{"test", "webhook.saved_test", false, s.Webhooks.Test},
		{"disable", "webhook.saved_disabled", false, s.Webhooks.Disable},
		{"enable", "webhook.saved_enabled", false, s.Webhooks.Enable},
		{"remove", "webhook.saved_removed", true, s.Webhooks.Remove},
	} {
		at := "/org/webhooks/{id}/" + c.verb
		routes = append(routes, get(at, f, s.backToWebhook), post(at, f, s.changeWebhook(c.notice, c.away, c.change)))
	}
	return routes
}
