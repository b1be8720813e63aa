package desk

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"ironhold/allocator"
)

// Line is one line of the demand report: how many refused orders named this.
type Line struct {
	What   string // the API's name of the constraint, or "site"
	Value  string // as in a request
	Orders int
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
	sites, constraints := map[string]int{}, map[Line]int{}
	for _, x := range refused {
		r.Orders += x.Orders
		if len(x.Request.Sites) == 0 {
			sites[""] += x.Orders
		}
		for _, s := range x.Request.Sites {
			sites[s] += x.Orders
		}
		for _, l := range constraintsOf(x.Request) {
			constraints[l] += x.Orders
		}
	}
	for s, n := range sites {
		r.Sites = append(r.Sites, Line{What: "site", Value: s, Orders: n})
	}
	for l, n := range constraints {
		l.Orders = n
		r.Constraints = append(r.Constraints, l)
	}
	r.Sites, r.Constraints = top(r.Sites), top(r.Constraints)
	r.Requests = refused[:min(len(refused), maxLines)]
	return r, nil
}

func top(list []Line) []Line {
	slices.SortFunc(list, func(a, b Line) int {
		switch {
		case a.Orders != b.Orders:
			return b.Orders - a.Orders
		case a.What != b.What:
			return slices.Compare([]string{a.What}, []string{b.What})
		}
		return slices.Compare([]string{a.Value}, []string{b.Value})
	})
	return list[:min(len(list), maxLines)]
}

func constraintsOf(r allocator.Request) (out []Line) {
	for name, n := range map[string]int{
		"min_cores": r.MinCores, "min_threads": r.MinThreads, "min_ram_gb": r.MinRAMGB, "min_nvme_gb": r.MinNVMeGB,
		"min_ssd_gb": r.MinSSDGB, "min_hdd_gb": r.MinHDDGB, "min_nic_mbps": r.MinNICMbps,
	} {
		if n > 0 {
			out = append(out, Line{What: name, Value: strconv.Itoa(n)})
		}
	}
	for _, v := range r.Vendors {
		out = append(out, Line{What: "vendors", Value: v})
	}
	for _, f := range r.Features {
		out = append(out, Line{What: "features", Value: f})
	}
	if r.CPU != "" {
		out = append(out, Line{What: "cpu", Value: r.CPU})
	}
	if r.ECC != nil && *r.ECC {
		out = append(out, Line{What: "ecc", Value: "true"})
	}
	if r.GPU != nil && *r.GPU {
		out = append(out, Line{What: "gpu", Value: "true"})
	}
	if p := r.MaxPriceMonthMinor; p != nil {
		out = append(out, Line{What: "max_price_month_minor", Value: fmt.Sprint(*p)})
	}
	return out
}
