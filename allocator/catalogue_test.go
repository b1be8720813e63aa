package allocator

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ironhold/fleet"
)

// drawClasses draws classes in the order of their identifiers, with gaps between these.
func drawClasses(t *rapid.T) []fleet.Class {
	out := make([]fleet.Class, rapid.IntRange(0, 60).Draw(t, "classes"))
	id := 0
	for i := range out {
		id += rapid.IntRange(1, 3).Draw(t, "gap")
		out[i] = fleet.Class{ID: id, Spec: fleet.Spec{PriceMonthMinor: rapid.Int64Range(0, 5).Draw(t, "price"),
			Cores: rapid.IntRange(1, 3).Draw(t, "cores"), RAMGB: rapid.SampledFrom([]int{4, 8}).Draw(t, "ram"), SiteCode: rapid.SampledFrom([]string{"A", "B"}).Draw(t, "site"),
			Vendor: "v", Model: "m", CPU: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "cpu"), CPUCount: 2, Threads: 4, ECC: rapid.Bool().Draw(t, "ecc"),
			NVMeGB: 1, SSDGB: 100_000_000, HDDGB: 3, GPU: "g", NICMbps: 100_000_000, SetupMinor: 100_000_000_000, Currency: "EUR",
			Drives:   rapid.SampledFrom([][]fleet.Drive{nil, {{Kind: "nvme", GB: 1}}, {{Kind: "hdd", GB: 1}, {Kind: "hdd", GB: 2}}}).Draw(t, "drives"),
			Features: rapid.SampledFrom([][]string{nil, {"ipmi"}, {"ipmi", "raid"}}).Draw(t, "features")}}
	}
	return out
}

// TestCatalogueGrows: added to piece by piece, a catalogue is as if it had been read at once.
func TestCatalogueGrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		classes := drawClasses(rt)
		c := &catalogue{version: -1}
		for from := 0; from < len(classes); {
			to := rapid.IntRange(from, len(classes)).Draw(rt, "to")
			before := slices.Clone(c.byPrice)
			next := c.with(int64(to), slices.Clone(classes[from:to]))
			if !slices.Equal(before, c.byPrice) {
				rt.Fatal("an older version changed")
			}
			if rapid.Bool().Draw(rt, "twice") { // two grow from one version, and neither sees the other's
				next = c.with(int64(to), slices.Clone(classes[from:to]))
			}
			c, from = next, to
		}
		byID := map[int]fleet.Class{}
		for _, x := range classes {
			byID[x.ID] = x
		}
		for id := -1; id < len(c.classes)+2; id++ {
			x, there := byID[id]
			if got := c.class(id); (got != nil) != there || there && !reflect.DeepEqual(*got, x) {
				rt.Fatalf("class %d: %+v, want %+v", id, got, x)
			}
		}
		slices.SortFunc(classes, func(a, b fleet.Class) int {
			return cmp.Or(cmp.Compare(a.PriceMonthMinor, b.PriceMonthMinor), cmp.Compare(a.ID, b.ID))
		})
		if !slices.EqualFunc(c.byPrice, classes, func(a int32, b fleet.Class) bool { return int(a) == b.ID }) {
			rt.Fatalf("not by price: %v", c.byPrice)
		}
	})
}

// TestRankingStepByStep: asked for step by step, the list is the one that sorting everything gives.
func TestRankingStepByStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := Request{MinCores: rapid.IntRange(0, 3).Draw(rt, "min cores")}
		c := (&catalogue{}).with(1, drawClasses(rt))
		var want []*fleet.Class
		for _, id := range c.byPrice {
			if x := c.class(int(id)); fits(&r, &x.Spec) {
				want = append(want, x)
			}
		}
		over := func(x *fleet.Class) int64 { return overFulfilment(&r, &x.Spec) }
		slices.SortFunc(want, func(a, b *fleet.Class) int {
			return cmp.Or(cmp.Compare(a.PriceMonthMinor, b.PriceMonthMinor), cmp.Compare(over(a), over(b)), cmp.Compare(a.ID, b.ID))
		})
		k := rankClasses(&r, c)
		for n := 0; n <= len(want); n += rapid.IntRange(1, 9).Draw(rt, "step") {
			if got := k.upTo(n); got != n {
				rt.Fatalf("up to %d: %d", n, got)
			}
		}
		if got := k.upTo(len(want) + 1); got != len(want) {
			rt.Fatalf("%d classes, want %d", got, len(want))
		}
		rank := 0
		for i, x := range want {
			if i > 0 && (x.PriceMonthMinor != want[i-1].PriceMonthMinor || over(x) != over(want[i-1])) {
				rank++
			}
			if d := k.done[i]; d.class.ID != x.ID || d.over != over(x) || d.rank != rank {
				rt.Fatalf("at %d: %+v, want class %d, rank %d", i, d, x.ID, rank)
			}
		}
	})
}

// BenchmarkFirstClasses is what ranking costs an order on an auction fleet, where nearly every
// machine is a class of its own.
func BenchmarkFirstClasses(b *testing.B) {
	classes := make([]fleet.Class, 100_000)
	for i := range classes {
		classes[i] = fleet.Class{ID: i + 1, Spec: fleet.Spec{PriceMonthMinor: int64(3000 + i%997), Cores: 4 + i%60, RAMGB: 64}}
	}
	c := (&catalogue{}).with(1, classes)
	for b.Loop() {
		rankClasses(&Request{MinCores: 8}, c).upTo(firstChunk)
	}
}
