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

// ranking lists the classes that fit, best first: the lower price, then the lesser
// over-fulfilment, so that big machines are kept for those who need them. What remains equal goes
// by lot. It is worked out as far as somebody asks, price by price: most orders are served by the
// first, and an auction fleet has nearly as many classes as machines.
type ranking struct {
	request *Request
	cat     *catalogue
	rest    []int32 // identifiers of the classes that were not looked at yet, by price
	done    []ranked
}

func rankClasses(r *Request, cat *catalogue) *ranking {
	return &ranking{request: r, cat: cat, rest: cat.byPrice}
}

// upTo works the list out until it has n classes or all, and returns how many of these there are.
// Classes of equal price are always listed together.
func (k *ranking) upTo(n int) int {
	var c fleet.Class
	for len(k.done) < n && len(k.rest) > 0 {
		price, currency, from := k.cat.classes[k.rest[0]].price, k.cat.currency(k.rest[0]), len(k.done)
		for len(k.rest) > 0 && k.cat.classes[k.rest[0]].price == price && k.cat.currency(k.rest[0]) == currency {
			id := int(k.rest[0])
			k.rest = k.rest[1:]
			if !k.cat.classes[id].less(k.request) && k.cat.fill(id, &c) && fits(k.request, &c.Spec) {
				k.done = append(k.done, ranked{class: k.cat.class(id), over: overFulfilment(k.request, &c.Spec)})
			}
		}
		group := k.done[from:]
		slices.SortFunc(group, func(a, b ranked) int {
			return cmp.Or(cmp.Compare(a.over, b.over), cmp.Compare(a.class.ID, b.class.ID))
		})
		for i := range group {
			switch {
			case i > 0 && group[i].over == group[i-1].over:
				group[i].rank = group[i-1].rank
			case from+i > 0:
				group[i].rank = k.done[from+i-1].rank + 1
			}
		}
	}
	return min(n, len(k.done))
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
	case winner.class.Currency != second.class.Currency:
		return "currency" // nothing says which price is the lower: by the code's letters
	case winner.class.PriceMonthMinor != second.class.PriceMonthMinor:
		return "price"
	case winner.over != second.over:
		return "least_over_fulfilment"
	}
	return "lot"
}
