package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/allocator"
	"ironhold/cmd/ironhold-bench/bench"
	"ironhold/migrations/pgembed"
)

type measure struct {
	options
	server  *pgembed.Server
	fleet   *bench.Fleet
	pool    *pgxpool.Pool // of the application
	alloc   *allocator.Allocator
	url     string // of the application's login
	dir     string
	pgbench string
	plain   *pgxpool.Pool // instead of pgbench
	ratios  map[string]float64
	ordered func(done int) // tells how far scale is
}

// side collects the rounds of one contender at one number of clients.
type side struct {
	rates    []float64
	p50, p99 []float64 // milliseconds
}

func (s *side) add(r bench.Run) {
	s.rates = append(s.rates, r.Rate)
	s.p50 = append(s.p50, float64(r.P50.Microseconds())/1000)
	s.p99 = append(s.p99, float64(r.P99.Microseconds())/1000)
}

// all measures claims on both sides. It reports whether no order was refused.
func (m *measure) all(ctx context.Context) (*table, bool, error) {
	// Warm both sides; the first orders also tell what a hold looks like.
	if _, err := m.fleet.Orders(ctx, m.alloc, 4, 200); err != nil {
		return nil, false, err
	}
	if err := m.fleet.Sample(ctx); err != nil {
		return nil, false, err
	}
	if _, err := m.statement(ctx, 4, 200); err != nil {
		return nil, false, err
	}
	claims := make([]int, len(m.clients))
	for i, clients := range m.clients {
		if err := m.fleet.Clear(ctx); err != nil {
			return nil, false, err
		}
		probe := max(40, clients*10)
		began := time.Now()
		if _, err := m.fleet.Orders(ctx, m.alloc, clients, probe); err != nil {
			return nil, false, err
		}
		n := int(float64(probe) * m.round.Seconds() / time.Since(began).Seconds())
		n = min(max(n, clients*10, 100), m.machines*4/10) // the fleet does not run out
		claims[i] = n / clients * clients
	}
	ours, theirs := make([]side, len(m.clients)), make([]side, len(m.clients))
	asked, unwritten := 0, 0
	refused := map[string]int{}
	first := time.Now()
	for round := range m.rounds {
		// A loaded machine gets fewer rounds, not a longer run.
		if took := time.Since(first); round > 0 && time.Since(m.began)+took/time.Duration(round) > m.limit {
			fmt.Printf("no time for more than %d rounds\n", round)
			break
		}
		for i, clients := range m.clients {
			for k := range 2 {
				if err := m.fleet.Clear(ctx); err != nil {
					return nil, false, err
				}
				if (round+k)%2 == 0 { // each side begins as often as the other
					r, err := m.fleet.Orders(ctx, m.alloc, clients, claims[i])
					if err != nil {
						return nil, false, err
					}
					ours[i].add(r)
					asked += r.Asked
					for what, n := range r.Refused {
						refused[what] += n
					}
					continue
				}
				r, err := m.statement(ctx, clients, claims[i])
				if err != nil {
					return nil, false, err
				}
				theirs[i].add(r)
				unwritten += r.Asked - r.Claims
			}
		}
	}
	t := m.claims(ours, theirs, claims)
	total := 0
	for _, what := range slices.Sorted(maps.Keys(refused)) {
		total += refused[what]
	}
	t.note("orders refused while a machine was free: %d of %d %s", total, asked, list(refused))
	t.note("statements that wrote nothing (the machine was taken under way): %d; they do not count as claims", unwritten)
	return t, total == 0, nil
}

func (m *measure) statement(ctx context.Context, clients, n int) (bench.Run, error) {
	if m.plain != nil {
		return m.fleet.Statements(ctx, m.plain, clients, n)
	}
	return m.fleet.Pgbench(ctx, m.pgbench, m.url, m.dir, clients, n)
}

// claims is the table of both sides.
func (m *measure) claims(ours, theirs []side, claims []int) *table {
	mark := "pgbench"
	if m.plain != nil {
		mark = "statement*"
	}
	t := &table{title: fmt.Sprintf("Claims beside the cheapest correct statement, %d equal machines", m.machines),
		head: []string{"clients", "claims", "orders/s", "p50 ms", "p99 ms", mark + "/s", "p50 ms", "p99 ms", "ratio"}}
	for i, clients := range m.clients {
		a, _, _ := bench.Median(ours[i].rates)
		b, _, _ := bench.Median(theirs[i].rates)
		ratio := 0.0
		if b > 0 {
			ratio = a / b
		}
		if clients == 32 {
			m.ratios["claims"] = ratio
		}
		middle := func(v []float64) float64 { m, _, _ := bench.Median(v); return m }
		t.add(clients, claims[i], spreadOf(ours[i].rates), middle(ours[i].p50), middle(ours[i].p99),
			spreadOf(theirs[i].rates), middle(theirs[i].p50), middle(theirs[i].p99), fmt.Sprintf("%.0f %%", ratio*100))
	}
	t.note("medians over the rounds, in brackets the lowest and the highest; latencies of pgbench are of the statement alone")
	return t
}

func spread(median, low, high float64) string {
	return fmt.Sprintf("%.0f (%.0f-%.0f)", median, low, high)
}

func list(counts map[string]int) string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s %d", what, counts[what]))
	}
	if len(out) == 0 {
		return ""
	}
	return "(" + strings.Join(out, ", ") + ")"
}
