package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/cmd/ironhold-bench/bench"
)

// trips counts what the allocator's connections send: a statement or a batch is one round trip.
type trips struct{ n atomic.Int64 }

func (t *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.n.Add(1)
	return ctx
}
func (*trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (t *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	t.n.Add(1)
	return ctx
}
func (*trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// tell says where the time of an order goes: processor time of both sides of the socket, round
// trips, and the server's statements, those inside triggers included. It needs
// pg_stat_statements. The Go profile is written to file.
func (m *measure) tell(ctx context.Context, file string, counted *trips) error {
	if _, err := m.fleet.Owner.Exec(ctx, "create extension if not exists pg_stat_statements"); err != nil {
		return err
	}
	clients := m.clients[len(m.clients)-1]
	n := m.machines * 3 / 10 / clients * clients
	if _, err := m.fleet.Orders(ctx, m.alloc, clients, clients*10); err != nil { // every connection has its plans
		return err
	}
	if err := m.fleet.Sample(ctx); err != nil {
		return err
	}
	out, err := os.Create(file) //nolint:gosec // the developer's own
	if err != nil {
		return err
	}
	fmt.Printf("\n%d claims with %d clients; microseconds of processor time per claim:\n", n, clients)
	err = m.metered(ctx, "orders", n, func() (bench.Run, error) {
		counted.n.Store(0)
		if err := pprof.StartCPUProfile(out); err != nil {
			return bench.Run{}, err
		}
		defer pprof.StopCPUProfile()
		return m.fleet.Orders(ctx, m.alloc, clients, n)
	})
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	fmt.Printf("round trips per order: %.2f; Go's profile is in %s\n", float64(counted.n.Load())/float64(n), file)
	if err := m.statements(ctx, n); err != nil {
		return err
	}
	err = m.metered(ctx, "statement", n, func() (bench.Run, error) { return m.statement(ctx, clients, n) })
	if err != nil {
		return err
	}
	return m.statements(ctx, n)
}

// metered clears, runs and prints the processor time that both sides of the socket took.
func (m *measure) metered(ctx context.Context, what string, n int, f func() (bench.Run, error)) error {
	if err := m.fleet.Clear(ctx); err != nil {
		return err
	}
	if _, err := m.fleet.Owner.Exec(ctx, "select pg_stat_statements_reset()"); err != nil {
		return err
	}
	postmaster, err := m.postmaster(ctx)
	if err != nil {
		return err
	}
	server, client, began := serverTime(postmaster), ownTime(), time.Now()
	if _, err := f(); err != nil {
		return err
	}
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	fmt.Printf("%-10s server %6.0f, client %6.0f, wall clock %6.0f\n", what,
		per(serverTime(postmaster)-server), per(ownTime()-client), per(time.Since(began)))
	return nil
}

func (m *measure) statements(ctx context.Context, n int) error {
	rows, err := m.fleet.Owner.Query(ctx, `
select toplevel, calls, total_exec_time * 1000, rows, shared_blks_hit, regexp_replace(query, '\s+', ' ', 'g')
  from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
 order by total_exec_time desc limit 32`)
	if err != nil {
		return err
	}
	fmt.Printf("%8s %8s %8s %8s  statement (* inside another; times include what is inside)\n", "calls", "us/call", "us/claim", "pages")
	var (
		top                bool
		calls, count, hits int64
		total              float64
		sql                string
	)
	_, err = pgx.ForEachRow(rows, []any{&top, &calls, &total, &count, &hits, &sql}, func() error {
		inside := " "
		if !top {
			inside = "*"
		}
		fmt.Printf("%8.2f %8.1f %8.1f %8.1f %s%.150s\n", float64(calls)/float64(n), total/float64(calls), total/float64(n),
			float64(hits)/float64(calls), inside, strings.TrimSpace(sql))
		return nil
	})
	return err
}

func (m *measure) postmaster(ctx context.Context) (int, error) {
	var path string
	if err := m.fleet.Owner.QueryRow(ctx, "select current_setting('data_directory')").Scan(&path); err != nil {
		return 0, err
	}
	b, err := os.ReadFile(filepath.Join(path, "postmaster.pid")) //nolint:gosec // the server told it
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strconv.Atoi(line)
}

// serverTime is the processor time of the postmaster's children, the ended ones included; 0 where
// /proc does not tell.
func serverTime(postmaster int) time.Duration {
	var ticks int64
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is ours
	for _, file := range stats {
		b, err := os.ReadFile(file) //nolint:gosec // as above
		if err != nil {
			continue
		}
		_, rest, ok := strings.Cut(string(b), ") ") // the name may hold spaces
		fields := strings.Fields(rest)
		if !ok || len(fields) < 15 {
			continue
		}
		at := func(i int) int64 { n, _ := strconv.ParseInt(fields[i], 10, 64); return n }
		switch {
		case filepath.Base(filepath.Dir(file)) == strconv.Itoa(postmaster):
			ticks += at(13) + at(14) // cutime, cstime: of children that have ended
		case at(1) == int64(postmaster):
			ticks += at(11) + at(12)
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 on Linux
}

// ownTime is the processor time of this process and of the children it has waited for.
func ownTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
