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
)

type measure struct {
	options
	fleet   *bench.Fleet
	alloc   *allocator.Allocator
	url     string // of the application's login
	dir     string
	pgbench string
	plain   *pgxpool.Pool // instead of pgbench
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

// all measures and prints the table. It reports whether no order was refused.
func (m *measure) all(ctx context.Context) (bool, error) {
	// Warm both sides; the first orders also tell what a hold looks like.
	if _, err := m.fleet.Orders(ctx, m.alloc, 4, 200); err != nil {
		return false, err
	}
	if err := m.fleet.Sample(ctx); err != nil {
		return false, err
	}
	if _, err := m.statement(ctx, 4, 200); err != nil {
		return false, err
	}
	claims := make([]int, len(m.clients))
	for i, clients := range m.clients {
		if err := m.fleet.Clear(ctx); err != nil {
			return false, err
		}
		probe := max(40, clients*10)
		began := time.Now()
		if _, err := m.fleet.Orders(ctx, m.alloc, clients, probe); err != nil {
			return false, err
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
					return false, err
				}
				if (round+k)%2 == 0 { // each side begins as often as the other
					r, err := m.fleet.Orders(ctx, m.alloc, clients, claims[i])
					if err != nil {
						return false, err
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
					return false, err
				}
				theirs[i].add(r)
				unwritten += r.Asked - r.Claims
			}
		}
	}
	m.print(ours, theirs, claims)
	total := 0
	for _, what := range slices.Sorted(maps.Keys(refused)) {
		total += refused[what]
	}
	fmt.Printf("orders refused while a machine was free: %d of %d %s\n", total, asked, list(refused))
	fmt.Printf("statements that wrote nothing (the machine was taken under way): %d; they do not count as claims\n", unwritten)
	return total == 0, nil
}

func (m *measure) statement(ctx context.Context, clients, n int) (bench.Run, error) {
	if m.plain != nil {
		return m.fleet.Statements(ctx, m.plain, clients, n)
	}
	return m.fleet.Pgbench(ctx, m.pgbench, m.url, m.dir, clients, n)
}

func (m *measure) print(ours, theirs []side, claims []int) {
	mark := "pgbench"
	if m.plain != nil {
		mark = "statement*"
	}
	fmt.Printf("\n%7s %7s  %22s  %9s %9s  %22s  %9s %9s  %6s\n", "clients", "claims", "orders/s", "p50 ms", "p99 ms",
		mark+"/s", "p50 ms", "p99 ms", "ratio")
	for i, clients := range m.clients {
		a, alow, ahigh := bench.Median(ours[i].rates)
		b, blow, bhigh := bench.Median(theirs[i].rates)
		ratio := 0.0
		if b > 0 {
			ratio = a / b
		}
		a50, _, _ := bench.Median(ours[i].p50)
		a99, _, _ := bench.Median(ours[i].p99)
		b50, _, _ := bench.Median(theirs[i].p50)
		b99, _, _ := bench.Median(theirs[i].p99)
		fmt.Printf("%7d %7d  %22s  %9.2f %9.2f  %22s  %9.2f %9.2f  %5.0f%%\n", clients, claims[i], spread(a, alow, ahigh), a50, a99,
			spread(b, blow, bhigh), b50, b99, ratio*100)
	}
	fmt.Println("\nmedians over the rounds, in brackets the lowest and the highest; latencies of pgbench are of the statement alone")
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
