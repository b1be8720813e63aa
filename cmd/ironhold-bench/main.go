// Command ironhold-bench measures on a PostgreSQL of its own with durable settings: claims through the
// allocator beside the cheapest correct single statement, refusals beside /healthz, and with -what
// more. Its short form takes under two minutes; the numbers are good for their ratios only. Exit code
// 1 when an order was refused while a machine was free, or a ratio is below the one asked for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/allocator"
	"ironhold/cmd/ironhold-bench/bench"
	"ironhold/migrations"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgembed"
)

// everything that can be measured, in the order in which it is.
var everything = []string{"claims", "http", "no", "rush", "one", "alternatives", "kill", "fairness", "scale"}

const (
	login    = "ironhold_app"
	template = "bench_template"
)

type options struct {
	machines, orgs, rounds, conns, concurrency int
	clients                                    []int
	round                                      time.Duration // about how long the allocator's side of a round takes
	limit                                      time.Duration // no round begins that would end later
	began                                      time.Time
	profile                                    string // a file for Go's profile
	what                                       []string
	sizes                                      []int
	markdown                                   string  // a file for the tables
	atLeast                                    float64 // the share of the wanted ratios below which the run fails
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := options{clients: []int{1, 8, 32}, sizes: []int{10_000, 100_000}, what: []string{"claims", "no"}, began: time.Now()}
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
	flag.StringVar(&o.markdown, "markdown", "", "write the tables to this file as Markdown")
	flag.Float64Var(&o.atLeast, "at-least", 0, "fail when claims at 32 clients, or the no, reach less than this share of their budgets")
	flag.Func("what", "what to measure, comma-separated: "+strings.Join(everything, ", ")+" or all (default claims,no)", func(s string) error {
		if o.what = strings.Split(s, ","); s == "all" {
			o.what = everything
		}
		for _, w := range o.what {
			if !slices.Contains(everything, w) {
				return fmt.Errorf("%q is none of %s", w, strings.Join(everything, ", "))
			}
		}
		return nil
	})
	flag.Func("sizes", "fleets of scale, comma-separated (default 10000,100000)", func(s string) error {
		o.sizes = nil
		for word := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 100 || n > 2_000_000 {
				return fmt.Errorf("%q is no size from 100 to 2000000", word)
			}
			o.sizes = append(o.sizes, n)
		}
		return nil
	})
	prey := flag.String("victim", "", "refuse orders on this database until killed; the bench calls itself so")
	preyOrg := flag.String("victim-org", "", "for this organisation")
	flag.Parse()
	measured := func(ctx context.Context) (bool, error) { return run(ctx, o) }
	switch {
	case *prey != "":
		measured = func(ctx context.Context) (bool, error) {
			org, err := uuid.Parse(*preyOrg)
			if err != nil {
				return false, err
			}
			return false, victim(ctx, *prey, org)
		}
	case *pages != "":
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
	if err := migrations.EnsureLogin(ctx, server.OwnerURL(), login, server.Password(login)); err != nil {
		return false, err
	}
	m := &measure{options: o, server: server, dir: dir, ratios: map[string]float64{}}
	if err := m.copyable(ctx); err != nil {
		return false, err
	}
	st, err := m.stage(ctx, "bench_fleet")
	if err != nil {
		return false, err
	}
	defer st.close()
	if m.fleet, err = bench.Fill(ctx, st.owner, o.machines, o.orgs); err != nil {
		return false, err
	}
	m.url, m.pool = server.URL(login, "bench_fleet"), st.pool
	var counted trips
	if o.profile != "" {
		if m.pool, err = pg.Connect(ctx, m.url, pg.PoolOptions{Name: "bench", MaxConns: int32(o.conns), Tracer: &counted}); err != nil { //nolint:gosec // a small number
			return false, err
		}
		defer m.pool.Close()
	}
	m.alloc = allocator.New(m.pool, allocator.Options{Concurrency: o.concurrency})
	defer m.alloc.Close(context.WithoutCancel(ctx))
	if m.pgbench, err = bench.FindPgbench(bin.Dir); errors.Is(err, bench.ErrNoPgbench) {
		fmt.Println("pgbench is not there: the same statement is measured from Go instead (marked with *)")
		if m.plain, err = pg.Connect(ctx, m.url, pg.PoolOptions{Name: "statement", MaxConns: 40, Role: "ironhold_engine"}); err != nil {
			return false, err
		}
		defer m.plain.Close()
	}
	fmt.Printf("PostgreSQL %s, fsync and synchronous_commit on; %d equal machines, %d organisations, %d rounds\n",
		bin.Version, o.machines, o.orgs, o.rounds)
	if o.profile != "" {
		return true, m.tell(ctx, o.profile, &counted)
	}
	return m.everything(ctx)
}

// copyable makes the migrated database the template of the others.
func (m *measure) copyable(ctx context.Context) error {
	admin, err := pgxpool.New(ctx, m.server.URL(pgembed.Owner, "postgres"))
	if err != nil {
		return err
	}
	defer admin.Close()
	_, err = admin.Exec(ctx, fmt.Sprintf("alter database %s rename to %s", pgembed.Database, template))
	return err
}

// budgets are the ratios that are asked for: claims at 32 clients beside the statement, and refusals
// beside /healthz.
var budgets = map[string]float64{"claims": 0.60, "no": 1.0 / 3}

// everything measures what was asked for, prints and writes the tables, and reports whether every
// answer was right and no ratio below what was asked for.
func (m *measure) everything(ctx context.Context) (bool, error) {
	ok := true
	var tables []*table
	for _, what := range everything {
		if !slices.Contains(m.what, what) {
			continue
		}
		var t *table
		var err error
		fine := true
		switch what {
		case "claims":
			t, fine, err = m.all(ctx)
		case "http":
			t, fine, err = m.http(ctx)
		case "no":
			t, fine, err = m.noOn(ctx, soldOut)
		case "rush":
			t, err = m.rush(ctx, 10_000, 100)
		case "one":
			t, err = m.one(ctx)
		case "kill":
			t, err = m.kill(ctx)
		case "alternatives":
			t, err = m.alternatives(ctx)
		case "fairness":
			t, err = m.fairness(ctx)
		case "scale":
			t, fine, err = m.scale(ctx, m.sizes)
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", what, err)
		}
		t.print()
		ok = ok && fine
		tables = append(tables, t)
	}
	if m.markdown != "" {
		if err := write(m.markdown, tables); err != nil {
			return false, err
		}
	}
	for what, ratio := range m.ratios {
		if least := budgets[what] * m.atLeast; ratio < least {
			fmt.Printf("%s: %.0f %% is below %.0f %%\n", what, ratio*100, least*100)
			ok = false
		}
	}
	return ok, nil
}
