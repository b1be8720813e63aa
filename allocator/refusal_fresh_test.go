package allocator_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"ironhold/allocator"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// No order that is sent after a release was committed is refused, and none that is sent after a
// hold was committed is told of a free machine, however many others are being refused then.
func TestNoRefusalAfterARelease(t *testing.T) {
	t.Parallel()
	b := setup(t, 12, allocator.Options{})
	fixture.Add(t, b.owner, fixture.Machine{Tag: "ONE", RAM: 64})
	book := holds.New(b.app, holds.DefaultPolicy())
	ctx, stop := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for i, org := range fixture.Orgs(t, b.owner, "crowd", 8) {
		crowd.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if res := b.order(org, fmt.Sprintf("crowd-%d-%d", i, n), allocator.Request{MinRAMGB: 128}); res.Outcome != allocator.NoneLeft {
					t.Errorf("the crowd: %s, want none_left", res.Outcome)
				}
			}
		})
	}
	defer crowd.Wait()
	defer stop()
	late := fixture.Org(t, b.owner, "late", 5, 5)
	for round, org := range fixture.Orgs(t, b.owner, "holder", 60) {
		key := fmt.Sprintf("round-%d", round)
		res := b.order(org, key, allocator.Request{})
		if res.Outcome != allocator.Held {
			t.Fatalf("round %d: %s; the machine had been given back before the order was sent", round, res.Outcome)
		}
		if no := b.order(late, key, allocator.Request{}); no.Outcome != allocator.AllHeld {
			t.Fatalf("round %d: %s, want all_held", round, no.Outcome)
		}
		if _, err := book.Cancel(t.Context(), pg.By{Actor: "test"}, holds.Scope{OrgID: org}, res.Hold.ID, "given back"); err != nil {
			t.Fatal(err)
		}
	}
}
