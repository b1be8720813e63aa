package allocator

import (
	"slices"
	"strings"

	"ironhold/fleet"
)

// A filter says whether a configuration fails a request for one reason. Filters are pure and see
// nothing but the request and the configuration.
type filter struct {
	reason Reason
	fails  func(r *Request, s *fleet.Spec) bool
}

// filters are asked in this order; every one is asked, so that all reasons are known.
var filters = [...]filter{
	{WrongSite, func(r *Request, s *fleet.Spec) bool { return len(r.Sites) > 0 && !containsFold(r.Sites, s.SiteCode) }},
	{WrongVendor, func(r *Request, s *fleet.Spec) bool { return len(r.Vendors) > 0 && !containsFold(r.Vendors, s.Vendor) }},
	{WrongCPU, func(r *Request, s *fleet.Spec) bool { return r.CPU != "" && !cpuMatches(r.CPU, s.CPU) }},
	{TooFewCores, func(r *Request, s *fleet.Spec) bool { return s.Cores < r.MinCores }},
	{TooFewThreads, func(r *Request, s *fleet.Spec) bool { return s.Threads < r.MinThreads }},
	{TooLittleRAM, func(r *Request, s *fleet.Spec) bool { return s.RAMGB < r.MinRAMGB }},
	{TooLittleNVMe, func(r *Request, s *fleet.Spec) bool { return s.NVMeGB < r.MinNVMeGB }},
	{TooLittleSSD, func(r *Request, s *fleet.Spec) bool { return s.SSDGB < r.MinSSDGB }},
	{TooLittleHDD, func(r *Request, s *fleet.Spec) bool { return s.HDDGB < r.MinHDDGB }},
	{TooSlowNetwork, func(r *Request, s *fleet.Spec) bool { return s.NICMbps < r.MinNICMbps }},
	{NoECC, func(r *Request, s *fleet.Spec) bool { return wants(r.ECC) && !s.ECC }},
	{NoGPU, func(r *Request, s *fleet.Spec) bool { return wants(r.GPU) && s.GPU == "" }},
	{MissingFeature, func(r *Request, s *fleet.Spec) bool { return len(missing(r, s)) > 0 }},
	{OverBudget, func(r *Request, s *fleet.Spec) bool {
		return r.MaxPriceMonthMinor != nil && (otherCurrency(r, s) || s.PriceMonthMinor > *r.MaxPriceMonthMinor)
	}},
}

// specReasons lists everything about a configuration that excludes it; empty means that it would do.
func specReasons(r *Request, s *fleet.Spec) []Reason {
	var out []Reason
	for _, f := range filters {
		if f.fails(r, s) {
			out = append(out, f.reason)
		}
	}
	return out
}

// fits is specReasons for those who only need to know whether there are none.
func fits(r *Request, s *fleet.Spec) bool {
	for i := range filters {
		if filters[i].fails(r, s) {
			return false
		}
	}
	return true
}

// occupancy is what the database knows of a machine beside its configuration, for one organisation.
type occupancy struct {
	Status      fleet.Status
	Held        bool // live
	InService   bool
	CoolingDown bool // this organisation has held it for as long as it may
}

// stateReasons lists what excludes a machine apart from its configuration. A machine in service is
// not called "not ready" on top of that.
func stateReasons(o occupancy) []Reason {
	var out []Reason
	if o.Status != fleet.Ready && !(o.InService && o.Status == fleet.InService) {
		out = append(out, NotReady)
	}
	if o.Held {
		out = append(out, HeldByAnother)
	}
	if o.InService {
		out = append(out, InService)
	}
	if o.CoolingDown {
		out = append(out, CoolingDown)
	}
	return out
}

// otherCurrency reports whether the price cannot be compared with the limit: amounts of two currencies
// are never compared.
func otherCurrency(r *Request, s *fleet.Spec) bool {
	return r.Currency != "" && r.Currency != s.Currency
}

func wants(b *bool) bool { return b != nil && *b }

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, s) })
}

func cpuMatches(want, cpu string) bool {
	return strings.Contains(strings.ToLower(cpu), strings.ToLower(want))
}

// missing lists the features that the request asks for and the configuration lacks, as requested.
func missing(r *Request, s *fleet.Spec) []string {
	var out []string
	for _, f := range r.Features {
		if !containsFold(s.Features, f) {
			out = append(out, f)
		}
	}
	return out
}
