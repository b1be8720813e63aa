package views

import (
	"context"
	"time"

	"ironhold/views/i18n"
)

// WebhooksPage lists where the organisation is told of what happens.
type WebhooksPage struct {
	Items []WebhookRow
	Full  bool // no more may be added
}

// WebhookRow is one receiver.
type WebhookRow struct {
	ID, URL, Description string
	Holds, Services      bool
	Disabled             string // "", "admin" or "gone"
	Open, Failed         int    // deliveries still tried, and given up lately
	LastAt               *time.Time
	LastOK               bool
}

// WebhookFormPage asks where to send.
type WebhookFormPage struct {
	URL, Description string
	Holds, Services  bool
	Faults           []Fault
}

// WebhookPage is one receiver with what was sent to it.
type WebhookPage struct {
	WebhookRow
	CreatedAt  time.Time
	By         string
	RotatedAt  *time.Time
	OldUntil   *time.Time // until then the secret before signs too
	DisabledAt *time.Time
	Deliveries []DeliveryRow
	Pager
	Faults []Fault
}

// DeliveryRow is one message to one receiver.
type DeliveryRow struct {
	ID, Event   string // the event as "hold.expired"
	State       string // waiting, queued, delivered, failed or dropped
	Attempts    int
	CreatedAt   time.Time
	AttemptedAt *time.Time
	NextAt      *time.Time
	Status      int    // 0 when there was no answer
	Reason      string // why there was none
}

// DeliveryPage is one message with the last answer.
type DeliveryPage struct {
	DeliveryRow
	WebhookID, URL string
	MessageID      string
	Body           string
	Answer         string
	TookMS         int
	Off            bool // the receiver is disabled: nothing can be sent
}

// shown is the state as people see it: one that was tried waits for the next attempt.
func (d DeliveryRow) shown() string {
	if d.State == "waiting" || d.State == "queued" && d.Attempts == 0 {
		return "waiting"
	}
	if d.State == "queued" {
		return "again"
	}
	return d.State
}

func deliveryBadge(shown string) (tone, icn string) {
	switch shown {
	case "delivered":
		return "ok", "check"
	case "failed":
		return "none", "cross"
	case "dropped":
		return "none", "off"
	case "again":
		return "few", "retry"
	}
	return "few", "hourglass"
}

// deliveryAnswer says what the other side said, in short.
func deliveryAnswer(ctx context.Context, d DeliveryRow) string {
	switch {
	case d.Reason != "":
		return t(ctx, "webhook.reason."+d.Reason)
	case d.Status != 0:
		return t(ctx, "webhook.status", "status", i18n.Plain(d.Status))
	}
	return "–"
}

func webhookEvents(ctx context.Context, m WebhookFormPage) []Choice {
	return []Choice{
		{Name: "holds", Value: "on", Label: t(ctx, "webhook.holds"), Chosen: m.Holds},
		{Name: "services", Value: "on", Label: t(ctx, "webhook.services"), Chosen: m.Services},
	}
}

func webhookWants(ctx context.Context, r WebhookRow) string {
	switch {
	case r.Holds && r.Services:
		return t(ctx, "webhook.both")
	case r.Holds:
		return t(ctx, "webhook.holds")
	}
	return t(ctx, "webhook.services")
}
