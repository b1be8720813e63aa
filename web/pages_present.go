package web

import (
	"encoding/json"
	"strconv"
	"strings"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/views"
)

func serverOf(spec fleet.Spec, tag string, c choices) views.Server {
	s := views.Server{
		Tag: tag, Site: spec.SiteCode, SiteName: c.siteName(spec.SiteCode), DeliveryHours: c.delivery(spec.SiteCode), Vendor: spec.Vendor, Model: spec.Model,
		CPU: spec.CPU, CPUCount: spec.CPUCount, Cores: spec.Cores, Threads: spec.Threads, RAMGB: spec.RAMGB, ECC: spec.ECC,
		NVMeGB: spec.NVMeGB, SSDGB: spec.SSDGB, HDDGB: spec.HDDGB, GPU: spec.GPU, NICMbps: spec.NICMbps, Features: spec.Features,
		Price: views.Money{Minor: spec.PriceMonthMinor, Currency: spec.Currency},
		Setup: views.Money{Minor: spec.SetupMinor, Currency: spec.Currency},
	}
	for _, d := range spec.Drives {
		s.Drives = append(s.Drives, views.Drive{Kind: d.Kind, GB: d.GB})
	}
	return s
}

func offerOf(o allocator.Offer, c choices) views.Offer {
	out := views.Offer{
		ID: strconv.Itoa(o.Class.ID), Server: serverOf(o.Class.Spec, o.Tag, c), Free: o.Free, Held: o.Held, InService: o.InService,
		Total: o.Total, YouHold: o.YouHold, YouRent: o.YouRent,
	}
	for _, id := range o.YourHolds {
		out.Holds = append(out.Holds, id.String())
	}
	for _, id := range o.YourServices {
		out.Services = append(out.Services, id.String())
	}
	return out
}

// offerFor is the offer with the way to order it, for those who may.
func offerFor(o allocator.Offer, c choices, actor accounts.Actor) views.Offer {
	out := offerOf(o, c)
	if mayOrder(actor) {
		out.OrderURL = orderURL(requestFor(o.Class.Spec), "", "review")
	}
	return out
}

// requestFor asks for machines of a class: constraints that its machines fulfil and, by the
// preference for price and least over-fulfilment, get first.
func requestFor(spec fleet.Spec) allocator.Request {
	r := allocator.Request{
		Sites: []string{spec.SiteCode}, CPU: spec.CPU, MinCores: spec.Cores, MinThreads: spec.Threads, MinRAMGB: spec.RAMGB,
		MinNVMeGB: spec.NVMeGB, MinSSDGB: spec.SSDGB, MinHDDGB: spec.HDDGB, MinNICMbps: spec.NICMbps,
		Features: spec.Features, MaxPriceMonthMinor: &spec.PriceMonthMinor, Currency: spec.Currency,
	}
	if spec.Vendor != "" {
		r.Vendors = []string{spec.Vendor}
	}
	if spec.ECC {
		r.ECC = new(true)
	}
	if spec.GPU != "" {
		r.GPU = new(true)
	}
	return r
}

func askOf(r allocator.Request) views.Ask {
	a := views.Ask{
		Sites: r.Sites, Vendors: r.Vendors, Features: r.Features, CPU: r.CPU, MinCores: r.MinCores, MinThreads: r.MinThreads,
		MinRAMGB: r.MinRAMGB, MinNVMeGB: r.MinNVMeGB, MinSSD: r.MinSSDGB, MinHDD: r.MinHDDGB, MinNICMbps: r.MinNICMbps,
		ECC: r.ECC != nil && *r.ECC, GPU: r.GPU != nil && *r.GPU, Machine: r.Machine,
	}
	if p := r.MaxPriceMonthMinor; p != nil {
		a.MaxPrice = &views.Money{Minor: *p, Currency: r.Currency}
	}
	return a
}

// requestOf reads a request that was stored; one that cannot be read asks for nothing.
func requestOf(raw json.RawMessage) allocator.Request {
	var r allocator.Request
	_ = json.Unmarshal(raw, &r)
	return r
}

func reasonsOf(list []allocator.Count) []views.Reason {
	out := make([]views.Reason, 0, len(list))
	for _, c := range list {
		out = append(out, views.Reason{Code: string(c.Code), Count: c.Count})
	}
	return out
}

// nearMissesOf turns each relaxed constraint into the order with it. Without links for staff who
// only look.
func nearMissesOf(list []allocator.NearMiss, r allocator.Request, org string, links bool) []views.NearMiss {
	var out []views.NearMiss
	for _, n := range list {
		relaxed, shown, ok := relax(r, n)
		if !ok {
			continue
		}
		if links {
			shown.Href = orderURL(relaxed, org, "review")
		}
		out = append(out, shown)
	}
	return out
}

// relax applies a near miss to a request. Values may have been through JSON.
func relax(r allocator.Request, n allocator.NearMiss) (allocator.Request, views.NearMiss, bool) {
	shown := views.NearMiss{Code: string(n.Code), Gains: n.Gains}
	texts, number := textsOf(n.Value), numberOf(n.Value)
	for _, f := range numbers {
		if f.name == n.Relax {
			*f.value(&r) = int(number)
			shown.Num = int(number)
			return r, shown, true
		}
	}
	switch n.Relax {
	case "sites":
		shown.Words = added(r.Sites, texts)
		r.Sites = texts
	case "vendors":
		shown.Words = added(r.Vendors, texts)
		r.Vendors = texts
	case "features":
		shown.Words = texts
		r.Features = texts
	case "cpu":
		r.CPU, _ = n.Value.(string)
		if r.CPU != "" {
			shown.Words = []string{r.CPU}
		}
	case "machine":
		r.Machine = ""
	case "ecc":
		r.ECC = nil
	case "gpu":
		r.GPU = nil
	case "max_price_month_minor":
		if n.Value == nil { // what is priced in another currency
			r.MaxPriceMonthMinor, r.Currency = nil, ""
			break
		}
		r.MaxPriceMonthMinor = &number
		shown.Price = &views.Money{Minor: number, Currency: r.Currency}
	default:
		return r, shown, false
	}
	return r, shown, true
}

// added are the values that the new list has beyond the old one.
func added(before, after []string) []string {
	var out []string
	for _, a := range after {
		known := false
		for _, b := range before {
			known = known || strings.EqualFold(a, b)
		}
		if !known {
			out = append(out, a)
		}
	}
	return out
}

func textsOf(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

func numberOf(v any) int64 {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int64:
		return v
	case float64: // whole numbers below 2^53, from JSON
		return int64(v)
	}
	return 0
}

func decisionOf(h holds.Hold) *views.Decision {
	var d allocator.Decision
	if json.Unmarshal(h.Decision, &d) != nil || d.Rule == "" {
		return nil
	}
	out := &views.Decision{Rule: d.Rule, Rank: d.Rank, Eligible: d.Eligible, Skipped: d.Skipped, Lost: d.Lost, Changed: d.Changed, Version: d.Version}
	if d.RunnerUp != nil {
		out.RunnerUp = d.RunnerUp.AssetTag
		out.RunnerUpPrice = &views.Money{Minor: d.RunnerUp.PriceMonthMinor, Currency: h.Currency}
	}
	return out
}

func matchOf(sv allocator.Survey, r allocator.Request, org string) views.Match {
	return views.Match{
		Eligible: sv.Eligible, Considered: sv.Considered, AsOf: sv.AsOf, Reasons: reasonsOf(sv.Reasons),
		NearMisses: nearMissesOf(sv.NearMisses, r, org, true), NextFreeAt: sv.NextFreeAt,
	}
}
