package api

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"ironhold/allocator"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// offer is one sellable group: machines that are alike for a buyer, at one site.
type offer struct {
	ID int `json:"id"` // of the group
	spec

	PriceMonth   money  `json:"price_month"`
	Setup        money  `json:"setup"`
	Free         int    `json:"free"`
	Availability string `json:"availability"` // available, limited, none_left
	YouHold      int    `json:"you_hold"`
	YouRent      int    `json:"you_rent"`

	DeliveryHours *int `json:"delivery_hours"` // null: on request

	Held      *int `json:"held,omitzero"`       // staff
	InService *int `json:"in_service,omitzero"` // staff
	Total     *int `json:"total,omitzero"`      // staff
}

type offerList struct {
	list[offer]

	AsOf time.Time `json:"as_of"`
}

// limitedBelow is from how few free machines on an offer says so.
const limitedBelow = 4

func offerOf(o *allocator.Offer, forStaff bool) offer {
	out := offer{
		ID: o.Class.ID, spec: specOf(&o.Class.Spec), Free: o.Free, Availability: "available",
		PriceMonth: money{o.Class.PriceMonthMinor, o.Class.Currency}, Setup: money{o.Class.SetupMinor, o.Class.Currency},
		YouHold: o.YouHold, YouRent: o.YouRent,
	}
	switch {
	case o.Free == 0:
		out.Availability = "none_left"
	case o.Free < limitedBelow:
		out.Availability = "limited"
	}
	if forStaff {
		out.Held, out.InService, out.Total = &o.Held, &o.InService, &o.Total
	}
	return out
}

// sorts are the orders of offers.
var sorts = []string{"price", "-price", "ram", "-ram", "cores", "-cores", "free", "-free", "site"}

func (a *API) offers(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	q := query(r)
	req := allocator.Request{
		Sites: q.texts("site"), Vendors: q.texts("vendor"), CPU: q.text("cpu"),
		MinCores: q.size("min_cores"), MinThreads: q.size("min_threads"), MinRAMGB: q.size("min_ram_gb"),
		MinNVMeGB: q.size("min_nvme_gb"), MinSSDGB: q.size("min_ssd_gb"), MinHDDGB: q.size("min_hdd_gb"),
		MinNICMbps: q.size("min_nic_mbps"), Features: q.texts("feature"), GPU: q.flag("gpu"), ECC: q.flag("ecc"),
	}
	if n := q.whole("max_price_minor"); len(q.values["max_price_minor"]) > 0 && q.values.Get("max_price_minor") != "" {
		req.MaxPriceMonthMinor = &n
	}
	req.Currency = q.text("currency")
	sort := q.oneOf("sort", sorts...)
	limit, after := q.limit(), q.cursor(cursorOffers)
	faults, err := a.Allocator.Check(ctx, req)
	if err != nil {
		return err
	}
	for _, f := range faults {
		q.fault(parameterOf(f.Field), f.Message)
	}
	if err := q.done(); err != nil {
		return err
	}
	all, err := a.Allocator.Offers(ctx, allocator.OfferQuery{Org: request.Actor(ctx).OrgID, Request: req, Sort: sort})
	if err != nil {
		return err
	}
	rows, next, err := offersPage(all.Items, limit, after)
	if err != nil {
		return err
	}
	sites, err := a.Fleet.Sites(ctx)
	if err != nil {
		return err
	}
	delivery := map[string]*int{}
	for _, s := range sites {
		delivery[s.Code] = s.DeliveryHours
	}
	out := offerList{list[offer]{Items: make([]offer, len(rows)), NextCursor: next}, all.AsOf.UTC()}
	for i := range rows {
		out.Items[i] = offerOf(&rows[i], staff(ctx))
		out.Items[i].DeliveryHours = delivery[rows[i].Class.SiteCode]
	}
	return write(w, http.StatusOK, out)
}

// offersPage cuts the page after the group that the cursor names. Groups come and go with the
// machines in them: when the named one is gone, the page starts over at the place where it was.
func offersPage(all []allocator.Offer, limit int, after string) ([]allocator.Offer, *string, error) {
	start := 0
	if after != "" {
		var id, place int
		if _, err := fmt.Sscanf(after, "%d %d", &id, &place); err != nil {
			return nil, nil, problem.Faulty(allocator.Fault{Field: "cursor", Message: "is not a next_cursor of this list"})
		}
		start = min(max(place, 0), len(all))
		if i := slices.IndexFunc(all, func(o allocator.Offer) bool { return o.Class.ID == id }); i >= 0 {
			start = i + 1
		}
	}
	rows := all[start:]
	if len(rows) <= limit {
		return rows, nil, nil
	}
	rows = rows[:limit]
	last := strconv.Itoa(rows[limit-1].Class.ID) + " " + strconv.Itoa(start+limit)
	return rows, encodeCursor(cursorOffers, last), nil
}

// parameterOf is the query parameter of a field of an order request.
func parameterOf(field string) string {
	switch field {
	case "sites":
		return "site"
	case "vendors":
		return "vendor"
	case "features":
		return "feature"
	case "max_price_month_minor":
		return "max_price_minor"
	}
	return field
}
