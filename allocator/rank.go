package allocator

import (
	"cmp"
	"slices"

	"ironhold/fleet"
)

// ranked is a class that fits a request, with what the preference looks at.
type ranked struct {
	class *fleet.Class
	over  int64
	rank  int // equal for classes of equal price and over-fulfilment, 0 is best
}

// rankClasses lists the classes that fit, best first: the lower price, then the lesser
// over-fulfilment, so that big machines are kept for those who need them. What remains equal goes
// by lot.
func rankClasses(r *Request, classes []fleet.Class) []ranked {
	var out []ranked
	for i := range classes {
		if c := &classes[i]; fits(r, &c.Spec) {
			out = append(out, ranked{class: c, over: overFulfilment(r, &c.Spec)})
		}
	}
	slices.SortFunc(out, func(a, b ranked) int {
		return cmp.Or(
			cmp.Compare(a.class.PriceMonthMinor, b.class.PriceMonthMinor),
			cmp.Compare(a.over, b.over),
			cmp.Compare(a.class.ID, b.class.ID),
		)
	})
	for i := 1; i < len(out); i++ {
		out[i].rank = out[i-1].rank
		if out[i].class.PriceMonthMinor != out[i-1].class.PriceMonthMinor || out[i].over != out[i-1].over {
			out[i].rank++
		}
	}
	return out
}

// overFulfilment measures how much more a configuration has than was asked for, in points: a core
// weighs as much as 4 GB of memory, 400 GB of NVMe, 800 GB of SSD or 8 TB of disk.
func overFulfilment(r *Request, s *fleet.Spec) int64 {
	over := 8000*int64(s.Cores-r.MinCores) +
		2000*int64(s.RAMGB-r.MinRAMGB) +
		20*int64(s.NVMeGB-r.MinNVMeGB) +
		10*int64(s.SSDGB-r.MinSSDGB) +
		int64(s.HDDGB-r.MinHDDGB) +
		2*int64(s.NICMbps-r.MinNICMbps)
	if s.GPU != "" && !wants(r.GPU) {
		over += 200_000
	}
	if s.ECC && !wants(r.ECC) {
		over += 8000
	}
	return over
}

// decidingRule names what put the winner before the runner-up.
func decidingRule(winner, second ranked) string {
	switch {
	case winner.class.PriceMonthMinor != second.class.PriceMonthMinor:
		return "price"
	case winner.over != second.over:
		return "least_over_fulfilment"
	}
	return "lot"
}
