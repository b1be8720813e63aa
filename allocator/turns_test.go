package allocator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// TestOthersDoNotWait: orders of one organisation that wait for its row do not take the places of
// all others.
func TestOthersDoNotWait(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	a := New(fixture.App(t, owner, 10), Options{Concurrency: 8})
	t.Cleanup(func() { a.Close(context.Background()) })
	busy, other := fixture.Org(t, owner, "busy", 100, 100), fixture.Org(t, owner, "other", 100, 100)
	fixture.Equal(t, owner, "m", 40)
	order(t, a, other, "warm", Request{})
	tx, err := owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "select 1 from org_limits where org_id = $1 for update", busy); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	outcomes := make([]Outcome, 20)
	for i := range outcomes {
		wg.Go(func() {
			res, err := a.Order(context.Background(), Order{OrgID: busy, Key: fmt.Sprint("k", i)})
			if err != nil {
				t.Error(err)
			}
			outcomes[i] = res.Outcome
		})
	}
	time.Sleep(200 * time.Millisecond) // they are waiting now, for at most the lock timeout of 2 s
	began := time.Now()
	if res := order(t, a, other, "k", Request{}); res.Outcome != Held {
		t.Errorf("%+v", res)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("the other organisation waited %s", took)
	}
	_ = tx.Rollback(t.Context())
	wg.Wait()
	for i, o := range outcomes {
		if o != Held {
			t.Errorf("order %d: %s", i, o)
		}
	}
}

// TestTurns: never more than there are places, and nothing is left behind, given up ones included.
func TestTurns(t *testing.T) {
	t.Parallel()
	turns := newTurns(8)
	orgs := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	var (
		mu      sync.Mutex
		running = map[uuid.UUID]int{}
		total   int
		wg      sync.WaitGroup
	)
	for i := range 600 {
		wg.Go(func() {
			org := orgs[i%len(orgs)]
			ctx, cancel := context.WithCancel(context.Background())
			if i%7 == 0 {
				time.AfterFunc(time.Duration(i)*time.Microsecond, cancel)
			}
			defer cancel()
			release, err := turns.take(ctx, org)
			if err != nil {
				return
			}
			mu.Lock()
			running[org]++
			total++
			if running[org] > 2 || total > 8 {
				t.Errorf("%d of one organisation, %d in all", running[org], total)
			}
			mu.Unlock()
			time.Sleep(200 * time.Microsecond)
			mu.Lock()
			running[org]--
			total--
			mu.Unlock()
			release()
		})
	}
	wg.Wait()
	if len(turns.orgs) != 0 || len(turns.all) != 0 {
		t.Errorf("%d organisations and %d places are left", len(turns.orgs), len(turns.all))
	}
}
