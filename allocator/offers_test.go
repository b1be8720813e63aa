package allocator

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ironhold/fleet"
)

func TestOffersAgainstReference(t *testing.T) {
	t.Parallel()
	type counts struct{ Free, Held, InService, Total, YouHold, YouRent int }
	onFleets(t, func(rt *rapid.T, a *Allocator, fl modelFleet) {
		q := OfferQuery{Org: fl.me, Request: drawRequest(rt, nil), Sort: rapid.SampledFrom(append(Sorts(), "")).Draw(rt, "sort")}
		offers, err := a.Offers(t.Context(), q)
		if err != nil {
			rt.Fatalf("offers: %v", err)
		}
		want := map[string]counts{}
		for i := range fl.machines {
			m := fl.machines[i]
			bare := m // the machine as if nobody had it: only its configuration may exclude it
			bare.status, bare.hold, bare.service, bare.past = fleet.Ready, "", false, nil
			if m.status == fleet.Retired || len(reasonsOf(&q.Request, &bare)) > 0 {
				continue
			}
			c := want[specKey(&m.spec)]
			c.Total++
			switch {
			case m.service:
				c.InService++
			case m.hold == "live":
				c.Held++
			case m.status == fleet.Ready:
				c.Free++
			}
			if m.mine && m.hold == "live" {
				c.YouHold++
			}
			if m.mine && m.service {
				c.YouRent++
			}
			want[specKey(&m.spec)] = c
		}
		got := map[string]counts{}
		for _, o := range offers.Items {
			key := specKey(&o.Class.Spec)
			if _, twice := got[key]; twice {
				rt.Fatalf("offered twice: %s", key)
			}
			got[key] = counts{o.Free, o.Held, o.InService, o.Total, o.YouHold, o.YouRent}
		}
		same(rt, "offers", got, want)
		sameAlone(t, rt, a, q, offers)
		sorted := slices.IsSortedFunc(offers.Items, func(x, y Offer) int {
			switch q.Sort {
			case "-price":
				return int(y.Class.PriceMonthMinor - x.Class.PriceMonthMinor)
			case "ram":
				return x.Class.RAMGB - y.Class.RAMGB
			case "-ram":
				return y.Class.RAMGB - x.Class.RAMGB
			case "cores":
				return x.Class.Cores - y.Class.Cores
			case "-cores":
				return y.Class.Cores - x.Class.Cores
			case "free":
				return x.Free - y.Free
			case "-free":
				return y.Free - x.Free
			case "site":
				return slices.Compare([]string{x.Class.SiteCode}, []string{y.Class.SiteCode})
			}
			return int(x.Class.PriceMonthMinor - y.Class.PriceMonthMinor)
		})
		if !sorted {
			rt.Fatalf("not sorted by %q", q.Sort)
		}
	})
}

// specKey names a configuration apart from what the database adds to it.
func specKey(s *fleet.Spec) string {
	c := *s
	c.Features = append([]string{}, s.Features...)
	slices.Sort(c.Features)
	c.Drives = nil
	return string(toJSON(c))
}

// sameAlone asks for each class alone: it stands as it stands in the list.
func sameAlone(t *testing.T, rt *rapid.T, a *Allocator, q OfferQuery, list Offers) {
	var ids []int
	for i := range list.Items {
		ids = append(ids, list.Items[i].Class.ID)
	}
	alone, err := a.ClassOffers(t.Context(), q.Org, append(ids, -1, 1<<30)...)
	if err != nil {
		rt.Fatalf("classes: %v", err)
	}
	if len(alone.Items) != len(ids) {
		rt.Fatalf("%d classes, want %d", len(alone.Items), len(ids))
	}
	for i, o := range alone.Items {
		if single := o.Tag != ""; single != (o.Total == 1) {
			rt.Fatalf("%d machines with the tag %q", o.Total, o.Tag)
		}
		if (o.NextFreeAt != nil) != (o.Held > 0) {
			rt.Fatalf("%d held, the next free at %v", o.Held, o.NextFreeAt)
		}
		o.Tag, o.NextFreeAt = "", nil
		same(rt, "a class alone", o, list.Items[i])
	}
}
