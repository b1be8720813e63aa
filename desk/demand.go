package desk

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"ironhold/allocator"
)

// Line is one line of the demand report: how many refused orders named this.
type Line struct {
	What   string // the API's name of the constraint, or "site"
	Value  string // as in a request
	Orders int

	Request allocator.Request // with this constraint alone; empty for sites
}

// Report adds up the refused orders of DemandWindow. An order counts once in each line that it
// names, so lines do not add up to the total.
type Report struct {
	Orders      int
	Requests    []allocator.Demand // the most frequent first
	Sites       []Line             // "" for those that name none
	Constraints []Line
}

// maxLines bounds the lines and requests of a report.
const maxLines = 50

// Demand is the report.
func (d *Desk) Demand(ctx context.Context) (Report, error) {
	refused, err := d.allocator.Refused(ctx, DemandWindow)
	if err != nil {
		return Report{}, err
	}
	var r Report
	sites, constraints := map[string]int{}, map[[2]string]*Line{}
	for _, x := range refused {
		r.Orders += x.Orders
		if len(x.Request.Sites) == 0 {
			sites[""] += x.Orders
		}
		for _, s := range x.Request.Sites {
			sites[s] += x.Orders
		}
		for _, c := range constraintsOf(x.Request) {
			key := [2]string{c.what, c.value}
			if constraints[key] == nil {
				constraints[key] = &Line{What: c.what, Value: c.value, Request: c.request}
			}
			constraints[key].Orders += x.Orders
		}
	}
	for s, n := range sites {
		r.Sites = append(r.Sites, Line{What: "site", Value: s, Orders: n})
	}
	for _, l := range constraints {
		r.Constraints = append(r.Constraints, *l)
	}
	r.Sites, r.Constraints = top(r.Sites), top(r.Constraints)
	r.Requests = refused[:min(len(refused), maxLines)]
	return r, nil
}

func top(list []Line) []Line {
	slices.SortFunc(list, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b.Orders, a.Orders), cmp.Compare(a.What, b.What), cmp.Compare(a.Value, b.Value))
	})
	return list[:min(len(list), maxLines)]
}

// constraint is one constraint of a request, as a key and as a request of its own.
type constraint struct {
	what, value string
	request     allocator.Request
}

func constraintsOf(r allocator.Request) (out []constraint) {
	add := func(what, value string, only allocator.Request) { out = append(out, constraint{what, value, only}) }
	for _, n := range []struct {
		what string
		n    int
		only allocator.Request
	}{
		{"min_cores", r.MinCores, allocator.Request{MinCores: r.MinCores}}, {"min_threads", r.MinThreads, allocator.Request{MinThreads: r.MinThreads}},
		{"min_ram_gb", r.MinRAMGB, allocator.Request{MinRAMGB: r.MinRAMGB}}, {"min_nvme_gb", r.MinNVMeGB, allocator.Request{MinNVMeGB: r.MinNVMeGB}},
		{"min_ssd_gb", r.MinSSDGB, allocator.Request{MinSSDGB: r.MinSSDGB}}, {"min_hdd_gb", r.MinHDDGB, allocator.Request{MinHDDGB: r.MinHDDGB}},
		{"min_nic_mbps", r.MinNICMbps, allocator.Request{MinNICMbps: r.MinNICMbps}},
	} {
		if n.n > 0 {
			add(n.what, strconv.Itoa(n.n), n.only)
		}
	}
	for _, v := range r.Vendors {
		add("vendors", v, allocator.Request{Vendors: []string{v}})
	}
	for _, f := range r.Features {
		add("features", f, allocator.Request{Features: []string{f}})
	}
	if r.CPU != "" {
		add("cpu", r.CPU, allocator.Request{CPU: r.CPU})
	}
	if r.Machine != "" {
		add("machine", r.Machine, allocator.Request{Machine: r.Machine})
	}
	if r.ECC != nil && *r.ECC {
		add("ecc", "true", allocator.Request{ECC: r.ECC})
	}
	if r.GPU != nil && *r.GPU {
		add("gpu", "true", allocator.Request{GPU: r.GPU})
	}
	if p := r.MaxPriceMonthMinor; p != nil {
		add("max_price_month_minor", strconv.FormatInt(*p, 10)+r.Currency, allocator.Request{MaxPriceMonthMinor: p, Currency: r.Currency})
	}
	return out
}
