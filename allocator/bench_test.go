package allocator_test

import (
	"context"
	"fmt"
	"testing"

	"ironhold/allocator"
	claims "ironhold/cmd/ironhold-bench/bench"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// BenchmarkClaims compares orders with the cheapest single statement that writes the same rows, in
// one run on one database. The test server gives up durability: the ratio is harder on the
// allocator than that of make bench-quick.
func BenchmarkClaims(b *testing.B) {
	owner := pgtest.DB(b)
	ctx := context.Background()
	const machines = 10_000
	f, err := claims.Fill(ctx, owner, machines, 64)
	if err != nil {
		b.Fatal(err)
	}
	a := allocator.New(fixture.App(b, owner, 12), allocator.Options{})
	b.Cleanup(func() { a.Close(ctx) })
	plain, err := pg.Connect(ctx, pgtest.LoginURL(b, owner.Config().ConnString()), pg.PoolOptions{Name: "plain", MaxConns: 40, Role: "ironhold_engine"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(plain.Close)
	if _, err := f.Orders(ctx, a, 1, 10); err != nil {
		b.Fatal(err)
	}
	if err := f.Sample(ctx); err != nil {
		b.Fatal(err)
	}
	for _, clients := range []int{1, 8, 32} {
		for _, side := range []struct {
			name string
			run  func(n int) (claims.Run, error)
		}{
			{"order", func(n int) (claims.Run, error) { return f.Orders(ctx, a, clients, n) }},
			{"statement", func(n int) (claims.Run, error) { return f.Statements(ctx, plain, clients, n) }},
		} {
			b.Run(fmt.Sprintf("clients=%d/%s", clients, side.name), func(b *testing.B) {
				b.ReportAllocs()
				for left := b.N; left > 0; {
					b.StopTimer()
					if err := f.Clear(ctx); err != nil {
						b.Fatal(err)
					}
					n := min(left, machines/3)
					left -= n
					n = (n + clients - 1) / clients * clients
					b.StartTimer()
					r, err := side.run(n)
					if err != nil || side.name == "order" && r.Claims != n {
						b.Fatalf("%+v, %v", r, err)
					}
				}
			})
		}
	}
}
