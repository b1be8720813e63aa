package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/allocator"
	"ironhold/migrations/pg"
)

// Request is what every client asks for.
var Request = allocator.Request{MinRAMGB: 32, MinCores: 8}

// Orders sends n orders through the allocator with so many clients.
func (f *Fleet) Orders(ctx context.Context, a *allocator.Allocator, clients, n int) (Run, error) {
	var mu sync.Mutex
	refused := map[string]int{}
	ends, held, err := inParallel(clients, n, func(client, i int) (bool, error) {
		orgs := f.orgsOf(client, clients)
		res, err := a.Order(ctx, allocator.Order{OrgID: orgs[i%len(orgs)], By: pg.By{Actor: "bench"}, Key: uuid.NewString(), Request: Request})
		if err == nil && res.Outcome != allocator.Held {
			mu.Lock()
			refused[string(res.Outcome)]++
			mu.Unlock()
		}
		return res.Outcome == allocator.Held, err
	})
	r := rated(ends, held)
	r.Refused = refused
	return r, err
}

// Statements sends n statements over pool, the login's sessions of which act as the engine, with
// so many clients. It stands in for pgbench where there is none.
func (f *Fleet) Statements(ctx context.Context, pool *pgxpool.Pool, clients, n int) (Run, error) {
	sql := f.Statement("$1::int", "$2::uuid")
	ends, held, err := inParallel(clients, n, func(client, i int) (bool, error) {
		orgs := f.orgsOf(client, clients)
		tag, err := pool.Exec(ctx, sql, drawLot(), orgs[i%len(orgs)])
		return tag.RowsAffected() == 1, err
	})
	return rated(ends, held), err
}

// inParallel calls f n times from so many goroutines. The first error ends all.
func inParallel(clients, n int, f func(client, i int) (bool, error)) ([]finished, int, error) {
	var (
		wg     sync.WaitGroup
		all    = make([][]finished, clients)
		held   atomic.Int64
		failed atomic.Pointer[error]
		gate   = make(chan struct{})
		began  time.Time
	)
	for c := range clients {
		wg.Go(func() {
			<-gate
			for i := range n / clients {
				start := time.Now()
				ok, err := f(c, i)
				if err != nil {
					err = fmt.Errorf("client %d: %w", c, err)
					failed.CompareAndSwap(nil, &err)
				}
				if failed.Load() != nil {
					return
				}
				if ok {
					held.Add(1)
				}
				now := time.Now()
				all[c] = append(all[c], finished{at: now.Sub(began), took: now.Sub(start)})
			}
		})
	}
	began = time.Now()
	close(gate)
	wg.Wait()
	var ends []finished
	for _, list := range all {
		ends = append(ends, list...)
	}
	if err := failed.Load(); err != nil {
		return ends, int(held.Load()), *err
	}
	return ends, int(held.Load()), nil
}
