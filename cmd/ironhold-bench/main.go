// Command ironhold-bench measures claims per second through the allocator beside the cheapest
// correct single statement, on a PostgreSQL of its own with durable settings. One run, under two
// minutes; the numbers are good for their ratio only. Exit code 1 when an order was refused while
// a machine was free.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/allocator"
	"ironhold/cmd/ironhold-bench/bench"
	"ironhold/migrations"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgembed"
)

type options struct {
	machines, orgs, rounds, conns, concurrency int
	clients                                    []int
	round                                      time.Duration // about how long the allocator's side of a round takes
	limit                                      time.Duration // no round begins that would end later
	began                                      time.Time
	profile                                    string // a file for Go's profile
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := options{clients: []int{1, 8, 32}, began: time.Now()}
	flag.IntVar(&o.machines, "machines", 10_000, "equal machines in the fleet")
	flag.IntVar(&o.orgs, "orgs", 64, "organisations")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each number of clients")
	flag.IntVar(&o.conns, "conns", 12, "the allocator's connections")
	flag.IntVar(&o.concurrency, "concurrency", 0, "orders that run at once (default the allocator's)")
	flag.DurationVar(&o.round, "round", 1200*time.Millisecond, "about how long one side of a round takes")
	flag.StringVar(&o.profile, "profile", "", "tell where an order's time goes instead, and write Go's profile to this file")
	flag.DurationVar(&o.limit, "limit", 105*time.Second, "how long the whole run may take")
	flag.Func("clients", "numbers of clients, comma-separated (default 1,8,32)", func(s string) error {
		o.clients = nil
		for word := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 || n > o.orgs {
				return fmt.Errorf("%q is no number of clients from 1 to %d", word, o.orgs)
			}
			o.clients = append(o.clients, n)
		}
		return nil
	})
	pages := flag.String("pages", "", "look at the pages of the portal with sample data at this `URL` instead: 50 people, a minute")
	flag.Parse()
	measured := func(ctx context.Context) (bool, error) { return run(ctx, o) }
	if *pages != "" {
		measured = func(ctx context.Context) (bool, error) { return lookAtPages(ctx, *pages) }
	}
	ok, err := measured(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ironhold-bench:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "ironhold-bench-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The account that runs PostgreSQL has to come through to its folder.
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // nothing but folders of its own is in it
		return false, err
	}
	bin, err := pgembed.FindBinaries()
	if err != nil {
		return false, err
	}
	settings := map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "autovacuum": "off"}
	if o.profile != "" {
		settings["shared_preload_libraries"] = "pg_stat_statements"
		settings["pg_stat_statements.track"] = "all"
	}
	server, err := pgembed.Start(ctx, pgembed.Options{Dir: filepath.Join(dir, "data"), Settings: settings})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	if err := migrations.Up(ctx, server.OwnerURL()); err != nil {
		return false, err
	}
	const login = "ironhold_app"
	if err := migrations.EnsureLogin(ctx, server.OwnerURL(), login, server.Password(login)); err != nil {
		return false, err
	}
	owner, err := pgxpool.New(ctx, server.OwnerURL())
	if err != nil {
		return false, err
	}
	defer owner.Close()
	fleet, err := bench.Fill(ctx, owner, o.machines, o.orgs)
	if err != nil {
		return false, err
	}
	url := server.URL(login, pgembed.Database)
	pooling := pg.PoolOptions{Name: "bench", MaxConns: int32(o.conns)} //nolint:gosec // a small number
	var counted trips
	if o.profile != "" {
		pooling.Tracer = &counted
	}
	pool, err := pg.Connect(ctx, url, pooling)
	if err != nil {
		return false, err
	}
	defer pool.Close()
	a := allocator.New(pool, allocator.Options{Concurrency: o.concurrency})
	defer a.Close(context.WithoutCancel(ctx))

	m := measure{options: o, fleet: fleet, alloc: a, url: url, dir: dir}
	if m.pgbench, err = bench.FindPgbench(bin.Dir); errors.Is(err, bench.ErrNoPgbench) {
		fmt.Println("pgbench is not there: the same statement is measured from Go instead (marked with *)")
		if m.plain, err = pg.Connect(ctx, url, pg.PoolOptions{Name: "statement", MaxConns: 40, Role: "ironhold_engine"}); err != nil {
			return false, err
		}
		defer m.plain.Close()
	}
	fmt.Printf("PostgreSQL %s, fsync and synchronous_commit on; %d equal machines, %d organisations, %d rounds\n",
		bin.Version, o.machines, o.orgs, o.rounds)
	if o.profile != "" {
		return true, m.tell(ctx, o.profile, &counted)
	}
	return m.all(ctx)
}
