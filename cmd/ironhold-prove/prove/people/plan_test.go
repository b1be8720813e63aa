package people

import (
	"reflect"
	"testing"
)

var someFleet = Fleet{CPUs: []string{"a", "b"}, RAM: []int{1, 2}, Tags: []string{"m-1", "m-2"}}

// The same seed replays the same decisions; another seed or actor makes others.
func TestSeedDecides(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64, actor int) (plans []Plan) {
		p := NewPlanner(seed, actor, someFleet, 8)
		for range 500 {
			plans = append(plans, p.Next())
		}
		return plans
	}
	first := draw(7, 3)
	if !reflect.DeepEqual(first, draw(7, 3)) {
		t.Error("the same seed and actor decided otherwise")
	}
	if reflect.DeepEqual(first, draw(8, 3)) || reflect.DeepEqual(first, draw(7, 4)) {
		t.Error("seed or actor decide nothing")
	}
	keys, ends := map[string]bool{}, map[string]int{}
	for _, p := range first {
		keys[p.Key] = true
		ends[p.End]++
	}
	if len(keys) != len(first) {
		t.Errorf("%d keys for %d orders", len(keys), len(first))
	}
	for _, end := range []string{Confirms, Cancels, Forgets} {
		if ends[end] == 0 {
			t.Errorf("nobody %s", end)
		}
	}
}
