package views

import "context"

// SitesPage lists the places with machines.
type SitesPage struct{ Items []SiteRow }

// SiteRow is one place.
type SiteRow struct {
	Code, Name, Country, TimeZone string
	DeliveryHours                 int // 0: on request
}

func (r SiteRow) href() string { return "/fleet/sites/" + r.Code }

// Delivery is within what time a machine there is ready.
func (r SiteRow) Delivery(ctx context.Context) string { return deliveryText(ctx, r.DeliveryHours) }

// SitePage is one place with its form, which keeps what was typed.
type SitePage struct {
	SiteRow
	CanWrite                                   bool
	FormName, FormCountry, FormZone, FormHours string
	Zones                                      []string
	Faults                                     []Fault
	Events                                     []Event
}

// Dash stands for nothing.
func Dash(s string) string { return dash(s) }
