package bench_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ironhold/allocator"
	"ironhold/cmd/ironhold-bench/bench"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgembed"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// TestSidesWriteTheSame: both sides of the comparison leave the same kinds of rows, and as many.
func TestSidesWriteTheSame(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	ctx := t.Context()
	f, err := bench.Fill(ctx, owner, 300, 8)
	if err != nil {
		t.Fatal(err)
	}
	a := allocator.New(fixture.App(t, owner, 8), allocator.Options{})
	t.Cleanup(func() { a.Close(context.Background()) })
	url := pgtest.LoginURL(t, owner.Config().ConnString())
	pool, err := pg.Connect(ctx, url, pg.PoolOptions{Name: "statement", MaxConns: 8, Role: "ironhold_engine"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	const written = `
select concat_ws(' ', count(*), count(distinct h.machine_id), count(distinct h.org_id), count(e.*), count(t.*),
         count(*) filter (where octet_length(h.request::text) > 10 and h.expires_at > now() and length(t.walk::text) > 50))
  from holds h left join hold_events e on e.hold_id = h.id left join allocation_attempts t on t.hold_id = h.id and t.id = h.attempt_id
 where h.state = 'held'`
	check := func(side string, r bench.Run, err error) {
		t.Helper()
		if err != nil || r.Claims != 80 || r.Asked != 80 || r.Rate <= 0 || r.P50 <= 0 || r.P99 < r.P50 || len(r.Refused) > 0 {
			t.Fatalf("%s: %+v, %v", side, r, err)
		}
		if got := fixture.Get[string](t, owner, written); got != "80 80 8 80 80 80" {
			t.Errorf("%s: %s", side, got)
		}
		if err := f.Clear(ctx); err != nil {
			t.Fatal(err)
		}
		if n, err := f.Held(ctx); n != 0 || err != nil {
			t.Errorf("%d holds after clearing, %v", n, err)
		}
	}
	r, err := f.Orders(ctx, a, 8, 80)
	if err := f.Sample(ctx); err != nil {
		t.Fatal(err)
	}
	check("orders", r, err)
	r, err = f.Statements(ctx, pool, 1, 80) // one client, so that none is taken under way
	check("statements", r, err)

	bin, err := pgembed.FindBinaries()
	if err != nil {
		t.Fatal(err)
	}
	program, err := bench.FindPgbench(bin.Dir)
	if errors.Is(err, bench.ErrNoPgbench) {
		return // some builds lack it; the program measures from Go then
	}
	r, err = f.Pgbench(ctx, program, url, t.TempDir(), 1, 80) // one client, so that nothing is lost
	check("pgbench", r, err)
	if s := f.Statement("LOT", "ORG"); strings.Contains(strings.ReplaceAll(s, "::", ""), ":") {
		t.Error("pgbench would take this for a variable: " + s)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	if m, low, high := bench.Median([]float64{3, 1, 2}); m != 2 || low != 1 || high != 3 {
		t.Error(m, low, high)
	}
	if m, _, _ := bench.Median(nil); m != 0 {
		t.Error(m)
	}
}

func TestNoPgbench(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := bench.FindPgbench(t.TempDir()); !errors.Is(err, bench.ErrNoPgbench) {
		t.Error(err)
	}
}
