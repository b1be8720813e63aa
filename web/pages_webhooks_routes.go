package web

import (
	"context"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/web/request"
)

// webhookRoutes are the pages about where the organisation is told.
func (s *server) webhookRoutes(get, post router) []route {
	const f = accounts.ManageWebhooks
	change := func(verb, notice string, away bool, f func(ctx context.Context, org, id uuid.UUID) error) []route {
		return []route{
			get("/org/webhooks/{id}/"+verb, accounts.ManageWebhooks, s.backToWebhook),
			post("/org/webhooks/{id}/"+verb, accounts.ManageWebhooks, s.changeWebhook(notice, away, f)),
		}
	}
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
	routes = append(routes, change("test", "webhook.saved_test", false, func(ctx context.Context, org, id uuid.UUID) error {
		return s.Webhooks.Test(ctx, request.By(ctx), org, id)
	})...)
	routes = append(routes, change("disable", "webhook.saved_disabled", false, func(ctx context.Context, org, id uuid.UUID) error {
		return s.Webhooks.Disable(ctx, request.By(ctx), org, id)
	})...)
	routes = append(routes, change("enable", "webhook.saved_enabled", false, func(ctx context.Context, org, id uuid.UUID) error {
		return s.Webhooks.Enable(ctx, request.By(ctx), org, id)
	})...)
	return append(routes, change("remove", "webhook.saved_removed", true, func(ctx context.Context, org, id uuid.UUID) error {
		return s.Webhooks.Remove(ctx, request.By(ctx), org, id)
	})...)
}
