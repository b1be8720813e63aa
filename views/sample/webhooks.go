package sample

import "ironhold/views"

// webhooks are the pages about where an organisation is told.
func webhooks() []Page {
	const url = "https://hooks.nordlys.example/a/rather/long/path/of/an/address/with/a/token/Zk3vG0yq5hR7tB2nX9pL4sW8mC1dJ6fA0uE5oK7iQxY"
	on := views.WebhookRow{ID: id, URL: url, Description: text, Holds: true, Services: true, Open: 2, Failed: 1, LastAt: atp(-3)}
	off, gone := on, on
	off.Disabled, off.Services, off.LastOK = "admin", false, true
	gone.Disabled, gone.Holds, gone.LastAt = "gone", false, nil
	deliveries := []views.DeliveryRow{
		{ID: id, Event: "hold.held", State: "waiting", CreatedAt: at(-1)},
		{ID: id, Event: "hold.extended", State: "queued", CreatedAt: at(-1)},
		{ID: id, Event: "service.started", State: "queued", Attempts: 3, CreatedAt: at(-9), AttemptedAt: atp(-2), NextAt: atp(3), Reason: "timeout"},
		{ID: id, Event: "service", State: "delivered", Attempts: 1, CreatedAt: at(-20), AttemptedAt: atp(-20), Status: 204},
		{ID: id, Event: "test", State: "failed", Attempts: 11, CreatedAt: at(-9000), AttemptedAt: atp(-20), Status: 503},
		{ID: id, Event: "hold.expired", State: "dropped", CreatedAt: at(-9000)},
	}
	full := views.WebhookPage{WebhookRow: on, CreatedAt: at(-9000), By: text, RotatedAt: atp(-60), OldUntil: atp(1380), Deliveries: deliveries, Pager: views.Pager{First: "/org/webhooks/x", Next: "/org/webhooks/x?after=y", Sizes: sizes}}
	wrong, ended := full, views.WebhookPage{WebhookRow: gone, CreatedAt: at(-9000), DisabledAt: atp(-5)}
	wrong.WebhookRow, wrong.Faults = off, []views.Fault{{Field: "own_password", Message: "x"}}
	pages := []Page{
		{"webhooks", views.Webhooks(views.WebhooksPage{Items: []views.WebhookRow{on, off, gone}})},
		{"webhooks-full", views.Webhooks(views.WebhooksPage{Items: []views.WebhookRow{on}, Full: true})},
		{"webhooks-none", views.Webhooks(views.WebhooksPage{})},
		{"webhooknew", views.WebhookForm(views.WebhookFormPage{Holds: true})},
		{"webhooknew-wrong", views.WebhookForm(views.WebhookFormPage{URL: text, Description: text, Faults: []views.Fault{
			{Field: "url", Message: "x"}, {Field: "description", Message: "y"}, {Field: "events", Message: "z"}, {Field: "own_password", Message: "x"},
		}})},
		{"webhook", views.Webhook(full)},
		{"webhook-wrong", views.Webhook(wrong)},
		{"webhook-gone", views.Webhook(ended)},
	}
	for _, reason := range []string{"", "url", "scheme", "credentials", "fragment", "address", "name", "tls", "timeout", "connection"} {
		d := deliveries[2]
		d.Reason = reason
		pages = append(pages, Page{"delivery-" + reason, views.WebhookDelivery(views.DeliveryPage{
			DeliveryRow: d, WebhookID: id, URL: url, MessageID: id, Body: `"specversion":"1.0"`, Answer: text, TookMS: 10_000, Off: reason == "url",
		})})
	}
	for _, d := range deliveries {
		pages = append(pages, Page{"delivery-" + d.State, views.WebhookDelivery(views.DeliveryPage{DeliveryRow: d, WebhookID: id, URL: url, MessageID: id})})
	}
	return pages
}
