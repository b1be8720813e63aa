package allocator_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"ironhold/allocator"
	"ironhold/migrations/pgtest/fixture"
)

// TestFiftyOrdersInALargeFleet lets 50 organisations order at once among 20,000 machines: none
// waits for a lock, and none takes much longer than the others.
func TestFiftyOrdersInALargeFleet(t *testing.T) { // case 39
	t.Parallel()
	b := setup(t, 20, allocator.Options{Concurrency: 50})
	orgs := fixture.Orgs(t, b.owner, "org", 50)
	fixture.Equal(t, b.owner, "m", 20_000)
	fixture.Exec(t, b.owner, "analyze")
	b.parallel(20, func(i int) allocator.Result { return b.order(orgs[i], "warm", allocator.Request{}) })
	var stop sync.WaitGroup
	done := make(chan struct{})
	waits := 0
	stop.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
			waits += fixture.Get[int](t, b.owner, `select count(*) from pg_stat_activity
 where datname = current_database() and wait_event_type = 'Lock' and wait_event in ('tuple', 'transactionid')`)
		}
	})
	var took [50]time.Duration
	counts, _ := b.parallel(50, func(i int) allocator.Result {
		began := time.Now()
		defer func() { took[i] = time.Since(began) }()
		return b.order(orgs[i], "k", allocator.Request{MinRAMGB: 32})
	})
	close(done)
	stop.Wait()
	if counts[allocator.Held] != 50 {
		t.Errorf("outcomes: %v", counts)
	}
	if waits > 0 {
		t.Errorf("orders of different organisations were seen waiting for each other %d times", waits)
	}
	slices.Sort(took[:])
	// On a machine that does other work too, a few milliseconds say nothing.
	if median, longest := max(took[25], 20*time.Millisecond), took[49]; longest > 10*median {
		t.Errorf("the longest took %s, the median %s", longest, took[25])
	}
}
