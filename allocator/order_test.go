package allocator_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/allocator"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// bench is one database with an allocator that connects as the application does.
type bench struct {
	t     testing.TB
	owner *pgxpool.Pool
	app   *pgxpool.Pool
	alloc *allocator.Allocator
}

func setup(t testing.TB, conns int32, o allocator.Options) *bench {
	t.Helper()
	if o.Budget == 0 {
		o.Budget = 10 * time.Second // what is tested is who wins, not how busy the machine is
	}
	owner := pgtest.DB(t)
	b := &bench{t: t, owner: owner, app: fixture.App(t, owner, conns)}
	b.alloc = allocator.New(b.app, o)
	t.Cleanup(func() { b.alloc.Close(t.Context()) })
	fixture.NoDeadlock(t, owner)
	return b
}

func (b *bench) order(org uuid.UUID, key string, r allocator.Request) allocator.Result {
	b.t.Helper()
	res, err := b.alloc.Order(b.t.Context(), allocator.Order{OrgID: org, By: pg.By{Actor: "test"}, Key: key, Request: r})
	if err != nil {
		b.t.Errorf("order %s: %v", key, err)
	}
	return res
}

// parallel runs n orders at the same instant and counts their outcomes.
func (b *bench) parallel(n int, f func(i int) allocator.Result) (map[allocator.Outcome]int, []allocator.Result) {
	b.t.Helper()
	results := make([]allocator.Result, n)
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-gate
			results[i] = f(i)
		})
	}
	close(gate)
	wg.Wait()
	counts := map[allocator.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
	}
	return counts, results
}

func TestFirstOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 5, 50)
	fixture.Add(t, b.owner, fixture.Machine{Tag: "A1"}, fixture.Machine{Tag: "A2", RAM: 128})

	res := b.order(org, "k1", allocator.Request{})
	if res.Outcome != allocator.Held || res.Hold.AssetTag != "A1" {
		t.Fatalf("got %+v", res)
	}
	if left := res.Hold.SecondsLeft(); left != 900 {
		t.Errorf("seconds left: %d", left)
	}
	again := b.order(org, "k1", allocator.Request{})
	if again.Outcome != allocator.Replayed || again.Hold.ID != res.Hold.ID {
		t.Errorf("repeat: %+v", again)
	}
	if other := b.order(org, "k1", allocator.Request{MinRAMGB: 128}); other.Outcome != allocator.KeyReused {
		t.Errorf("same key, other request: %+v", other)
	}
	if second := b.order(org, "k2", allocator.Request{}); second.Outcome != allocator.Held || second.Hold.AssetTag != "A2" {
		t.Errorf("second order: %+v", second)
	}
	third := b.order(org, "k3", allocator.Request{})
	if third.Outcome != allocator.AllHeld || third.NextFreeAt == nil {
		t.Errorf("third order: %+v", third)
	}
	none := b.order(org, "k4", allocator.Request{MinRAMGB: 256})
	if none.Outcome != allocator.NoneLeft || none.Survey.Considered != 2 || none.Survey.Excluded != 2 {
		t.Errorf("fourth order: %+v", none)
	}
}

func TestEightOrdersThreeMachines(t *testing.T) {
	t.Parallel()
	b := setup(t, 8, allocator.Options{})
	orgs := fixture.Orgs(t, b.owner, "org", 8)
	fixture.Equal(t, b.owner, "m", 3)
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		counts, results := b.parallel(8, func(i int) allocator.Result {
			return b.order(orgs[i], fmt.Sprintf("r%d", round), allocator.Request{})
		})
		if counts[allocator.Held] != 3 || counts[allocator.SomeoneFaster]+counts[allocator.AllHeld] != 5 {
			t.Fatalf("round %d: %v", round, counts)
		}
		tags := map[string]bool{}
		for _, r := range results {
			if r.Hold != nil {
				tags[r.Hold.AssetTag] = true
			}
		}
		if len(tags) != 3 {
			t.Fatalf("round %d: machines %v", round, tags)
		}
		free(b)
	}
}

// free ends all holds and forgets what was granted, so that the next round starts afresh.
func free(b *bench) {
	b.t.Helper()
	fixture.Exec(b.t, b.owner, "update holds set state = 'cancelled' where state = 'held'")
	fixture.Exec(b.t, b.owner, "update holds set created_at = created_at - interval '2 days'")
}

func TestHundredOnHundred(t *testing.T) {
	t.Parallel()
	b := setup(t, 20, allocator.Options{Concurrency: 20})
	orgs := fixture.Orgs(t, b.owner, "org", 100)
	fixture.Equal(t, b.owner, "m", 100)
	counts, _ := b.parallel(100, func(i int) allocator.Result {
		return b.order(orgs[i], "k", allocator.Request{})
	})
	if counts[allocator.Held] != 100 {
		t.Fatalf("outcomes: %v", counts)
	}
}

func TestAllPreferTheSameMachine(t *testing.T) {
	t.Parallel()
	b := setup(t, 20, allocator.Options{Concurrency: 20})
	orgs := fixture.Orgs(t, b.owner, "org", 30)
	for i := range 30 { // every one has another price: all orders rank them alike
		fixture.Add(t, b.owner, fixture.Machine{Tag: fmt.Sprintf("m%d", i), Price: int64(1000 + i)})
	}
	counts, _ := b.parallel(30, func(i int) allocator.Result {
		return b.order(orgs[i], "k", allocator.Request{})
	})
	if counts[allocator.Held] != 30 {
		t.Fatalf("outcomes: %v", counts)
	}
}

func TestOneKeyManyRequests(t *testing.T) {
	t.Parallel()
	b := setup(t, 8, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 5, 50)
	fixture.Equal(t, b.owner, "m", 4)
	for round := range 50 {
		counts, results := b.parallel(5, func(int) allocator.Result {
			return b.order(org, fmt.Sprintf("r%d", round), allocator.Request{})
		})
		if counts[allocator.Held] != 1 || counts[allocator.Replayed] != 4 {
			t.Fatalf("round %d: %v", round, counts)
		}
		for _, r := range results {
			if r.Hold.ID != results[0].Hold.ID {
				t.Fatalf("round %d: two holds for one key", round)
			}
		}
		free(b)
	}
}

func TestTenOrdersAtCapThree(t *testing.T) {
	t.Parallel()
	b := setup(t, 10, allocator.Options{Concurrency: 10})
	org := fixture.Org(t, b.owner, "acme", 3, 50)
	fixture.Equal(t, b.owner, "m", 20)
	counts, _ := b.parallel(10, func(i int) allocator.Result {
		return b.order(org, fmt.Sprintf("k%d", i), allocator.Request{})
	})
	if counts[allocator.Held] != 3 || counts[allocator.LimitReached] != 7 {
		t.Fatalf("outcomes: %v", counts)
	}
}

func TestThirtyTwoClientsTenThousandMachines(t *testing.T) {
	t.Parallel()
	b := setup(t, 16, allocator.Options{Concurrency: 16})
	orgs := fixture.Orgs(t, b.owner, "org", 32)
	fixture.Equal(t, b.owner, "m", 10_000)
	fixture.Exec(t, b.owner, "analyze")
	const each = 20
	counts, _ := b.parallel(32, func(i int) (res allocator.Result) {
		for k := range each {
			if res = b.order(orgs[i], fmt.Sprintf("k%d", k), allocator.Request{MinRAMGB: 32}); res.Outcome != allocator.Held {
				return res
			}
		}
		return res
	})
	if counts[allocator.Held] != 32 {
		t.Fatalf("outcomes: %v", counts)
	}
}

func TestTwoOrganisationsOneMachine(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	orgs := fixture.Orgs(t, b.owner, "org", 2)
	fixture.Equal(t, b.owner, "m", 1)
	began := make([]time.Time, 2)
	for round := range 200 {
		counts, results := b.parallel(2, func(i int) allocator.Result {
			began[i] = time.Now() // the server's clock is this machine's
			return b.order(orgs[i], fmt.Sprintf("r%d", round), allocator.Request{})
		})
		if counts[allocator.Held] != 1 {
			t.Fatalf("round %d: %v", round, counts)
		}
		won, lost := 0, 1
		if results[1].Outcome == allocator.Held {
			won, lost = 1, 0
		}
		// On a busy machine the second may only begin when the first has its hold: nobody raced it.
		late := results[lost].Outcome == allocator.AllHeld && began[lost].Add(time.Millisecond).After(results[won].Hold.CreatedAt)
		if results[lost].Outcome != allocator.SomeoneFaster && !late {
			t.Fatalf("round %d: %v", round, counts)
		}
		free(b)
	}
}

func TestCoolDown(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 5, 50)
	fixture.Equal(t, b.owner, "m", 1)
	for i := range 30 {
		res := b.order(org, fmt.Sprintf("k%d", i), allocator.Request{})
		if i < 3 {
			if res.Outcome != allocator.Held {
				t.Fatalf("hold %d: %+v", i, res)
			}
			fixture.Exec(t, b.owner, "update holds set state = 'cancelled' where state = 'held'")
			continue
		}
		if res.Outcome != allocator.CoolDown || res.Until == nil || time.Until(*res.Until) < 23*time.Hour {
			t.Fatalf("hold %d: %+v", i, res)
		}
	}
}
