package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Order is what an order may ask for; what is zero is left out.
type Order struct {
	Org                string   `json:"org,omitempty"`
	Sites              []string `json:"sites,omitempty"`
	Vendors            []string `json:"vendors,omitempty"`
	CPU                string   `json:"cpu,omitempty"`
	MinCores           *int64   `json:"min_cores,omitempty"`
	MinThreads         *int64   `json:"min_threads,omitempty"`
	MinRAMGB           *int64   `json:"min_ram_gb,omitempty"`
	MinNVMeGB          *int64   `json:"min_nvme_gb,omitempty"`
	MinSSDGB           *int64   `json:"min_ssd_gb,omitempty"`
	MinHDDGB           *int64   `json:"min_hdd_gb,omitempty"`
	MinNICMbps         *int64   `json:"min_nic_mbps,omitempty"`
	ECC                *bool    `json:"ecc,omitempty"`
	GPU                *bool    `json:"gpu,omitempty"`
	Features           []string `json:"features,omitempty"`
	MaxPriceMonthMinor *int64   `json:"max_price_month_minor,omitempty"`
	Currency           string   `json:"currency,omitempty"`
	Machine            string   `json:"machine,omitempty"`
}

// Money is an amount in minor units.
type Money struct {
	AmountMinor int64  `json:"amount_minor"`
	Currency    string `json:"currency"`
}

// Machine is what a hold or service is of.
type Machine struct {
	AssetTag string `json:"asset_tag"`
	Site     string `json:"site"`
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	RAMGB    int    `json:"ram_gb"`
}

// Hold is a hold; Raw is the whole document.
type Hold struct {
	ID          string    `json:"id"`
	State       string    `json:"state"`
	Org         string    `json:"org"`
	Machine     Machine   `json:"machine"`
	PriceMonth  Money     `json:"price_month"`
	ExpiresAt   time.Time `json:"expires_at"`
	SecondsLeft int       `json:"seconds_left"`
	Service     string    `json:"service"`

	Raw json.RawMessage `json:"-"`
}

// Service is a service; Raw is the whole document.
type Service struct {
	ID         string     `json:"id"`
	State      string     `json:"state"`
	Org        string     `json:"org"`
	Machine    Machine    `json:"machine"`
	PriceMonth Money      `json:"price_month"`
	StartedAt  time.Time  `json:"started_at"`
	EndedAt    *time.Time `json:"ended_at"`
	EndReason  string     `json:"end_reason"`
	EndAt      *time.Time `json:"end_at"`
	OS         string     `json:"os"`

	Provisioning *Provisioning `json:"provisioning"`

	Raw json.RawMessage `json:"-"`
}

// Provisioning is what is done to the machine of a service.
type Provisioning struct {
	Kind    string `json:"kind"`
	State   string `json:"state"`
	Step    string `json:"step"`
	Percent *int   `json:"percent"`
}

// Setup is what is installed on a machine; what is zero is left out.
type Setup struct {
	OS      string   `json:"os,omitempty"`
	SSHKeys []string `json:"ssh_keys,omitempty"`
}

// UnmarshalJSON keeps the document, too.
func (h *Hold) UnmarshalJSON(b []byte) error {
	type plain Hold
	h.Raw = append(json.RawMessage(nil), b...)
	return json.Unmarshal(b, (*plain)(h))
}

// UnmarshalJSON keeps the document, too.
func (s *Service) UnmarshalJSON(b []byte) error {
	type plain Service
	s.Raw = append(json.RawMessage(nil), b...)
	return json.Unmarshal(b, (*plain)(s))
}

// Hold orders a machine. The same key and order give the same hold.
func (c *Client) Hold(ctx context.Context, o Order, key string) (h Hold, err error) {
	return h, c.call(ctx, request{method: http.MethodPost, path: "holds", body: o, key: key}, &h)
}

// GetHold reads a hold.
func (c *Client) GetHold(ctx context.Context, id string) (h Hold, err error) {
	return h, c.call(ctx, request{method: http.MethodGet, path: "holds/" + segment(id)}, &h)
}

// Extend puts the deadline off.
func (c *Client) Extend(ctx context.Context, id, key string) (h Hold, err error) {
	return h, c.call(ctx, request{method: http.MethodPost, path: "holds/" + segment(id) + "/extend", key: key}, &h)
}

// Cancel gives the machine back.
func (c *Client) Cancel(ctx context.Context, id, reason string) (h Hold, err error) {
	return h, c.call(ctx, request{method: http.MethodPost, path: "holds/" + segment(id) + "/cancel", body: because(reason)}, &h)
}

// Confirm makes the hold a service.
func (c *Client) Confirm(ctx context.Context, id string, setup Setup) (s Service, err error) {
	return s, c.call(ctx, request{method: http.MethodPost, path: "holds/" + segment(id) + "/convert", body: setup}, &s)
}

// GetService reads a service.
func (c *Client) GetService(ctx context.Context, id string) (s Service, err error) {
	return s, c.call(ctx, request{method: http.MethodGet, path: "services/" + segment(id)}, &s)
}

// End ends a service, at once or at a time in RFC 3339.
func (c *Client) End(ctx context.Context, id, reason, at string) (s Service, err error) {
	body := map[string]string{}
	if reason != "" {
		body["reason"] = reason
	}
	if at != "" {
		body["at"] = at
	}
	return s, c.call(ctx, request{method: http.MethodPost, path: "services/" + segment(id) + "/end", body: body}, &s)
}

// Keep withdraws a planned end.
func (c *Client) Keep(ctx context.Context, id string) (s Service, err error) {
	return s, c.call(ctx, request{method: http.MethodPost, path: "services/" + segment(id) + "/keep"}, &s)
}

// Holds lists at most so many, newest first; state "" for all.
func (c *Client) Holds(ctx context.Context, state string, most int) ([]Hold, error) {
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	return list[Hold](ctx, c, "holds", q, most)
}

// Services lists at most so many, newest first.
func (c *Client) Services(ctx context.Context, most int) ([]Service, error) {
	return list[Service](ctx, c, "services", url.Values{}, most)
}

// pageLimit is the longest page that the API gives.
const pageLimit = 500

// list walks the pages.
func list[T any](ctx context.Context, c *Client, path string, q url.Values, most int) ([]T, error) {
	all := []T{}
	q.Set("limit", strconv.Itoa(min(most, pageLimit)))
	for {
		var page struct {
			Items []T     `json:"items"`
			Next  *string `json:"next_cursor"`
		}
		if err := c.call(ctx, request{method: http.MethodGet, path: path, query: q}, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if len(all) >= most || page.Next == nil {
			return all[:min(most, len(all))], nil
		}
		q.Set("cursor", *page.Next)
	}
}

func because(reason string) any {
	if reason == "" {
		return nil
	}
	return map[string]string{"reason": reason}
}
