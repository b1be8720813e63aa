//go:build linux

// Package prove attacks the promise that each machine is given exactly once: it runs the real
// program and lets many people buy while things break, then judges every answer.
//
//	world ---> mixed load + faults -> rush for 100 -> last machines -> deadlines ---> resolve -> judge
//	(people, fault)                                                      each key     (judge)
//
// The seed decides what people and saboteurs do, not how the machine interleaves it: the same seed
// gives the same decisions, and what happened is in the log of requests.
package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ironhold/cmd/ironhold-prove/prove/fault"
	"ironhold/cmd/ironhold-prove/prove/judge"
	"ironhold/cmd/ironhold-prove/prove/people"
	"ironhold/cmd/ironhold-prove/prove/record"
	"ironhold/cmd/ironhold-prove/prove/world"
	"ironhold/holds/invariants"
)

// Options are how much is tried.
type Options struct {
	Seed       uint64
	Actors     int // at once in the mixed load
	Orders     int // of the mixed load, at least
	Machines   int // of the mixed load
	Buyers     int // of the rush
	ForSale    int // machines of the rush
	Rounds     int // of the last machine
	Contenders int // in each
	Deadlines  int // conversions near their deadline
	Attempts   int // to send one of them in time, on a busy machine
	Parallel   int // requests at once in the rush and near deadlines
	Faults     fault.Plan
	OwnDisk    bool
	LogFile    string // "" for one among the temporary files
	Progress   func(text string)
}

// Full is the proof that is published.
func Full() Options {
	return Options{Actors: 48, Orders: 20_000, Machines: 1200, Buyers: 10_000, ForSale: 100, Rounds: 1000, Contenders: 32,
		Deadlines: 2000, Attempts: 10, Parallel: 96, OwnDisk: true, Faults: fault.Plan{
			KillPostgres: 20, KillProcess: 12, TermProcess: 8, PausePostgres: 5, PauseProcess: 5, Cut: 8, Delay: 6, LoseCommit: 12,
			ExhaustPool: 4, FullDisk: 3, WrongClock: 4, HoldRows: 4, PauseLeast: 3 * time.Second, PauseMost: 10 * time.Second, Quiet: 1500 * time.Millisecond,
		}}
}

// Short is the part that every test run can afford.
func Short() Options {
	return Options{Actors: 12, Orders: 250, Machines: 60, Buyers: 60, ForSale: 5, Rounds: 4, Contenders: 8, Deadlines: 16, Attempts: 2, Parallel: 16,
		Faults: fault.Plan{
			KillPostgres: 1, KillProcess: 1, TermProcess: 1, PausePostgres: 1, Cut: 1, LoseCommit: 1, ExhaustPool: 1, HoldRows: 1,
			PauseLeast: 300 * time.Millisecond, PauseMost: 800 * time.Millisecond, Quiet: 200 * time.Millisecond,
		}}
}

// Report is what came out.
type Report struct {
	Seed       uint64
	Took       time.Duration
	Phases     []Phase
	Faults     map[string]int
	LeftOut    map[string]string
	Verdict    judge.Verdict
	Requests   int
	Hygiene    []HoldTime // of connections
	Locks      []HoldTime
	Violations []string // of everything
	LogFile    string
}

// Phase is one part of the run.
type Phase struct {
	Name string
	Took time.Duration
	Text string
}

// run is a proof on its way.
type run struct {
	Options
	world  *world.World
	town   *people.Town
	report *Report
	low    time.Duration // the database's clock minus ours lies between these
	high   time.Duration
	// when is the phases that the processes have been there for.
	when               string
	connections, locks hygiene
	// resolved are the orders whose open answer was followed up.
	resolved map[string]bool
}

func (r *run) say(format string, args ...any) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf(format, args...))
	}
}

func (r *run) wrong(format string, args ...any) {
	r.report.Violations = append(r.report.Violations, fmt.Sprintf(format, args...))
}

// Run carries out the proof. The error says that it could not be carried out; violations are in
// the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	began := time.Now()
	report := &Report{Seed: o.Seed, LogFile: o.LogFile}
	if report.LogFile == "" {
		report.LogFile = filepath.Join(os.TempDir(), "ironhold-prove-"+strconv.FormatUint(o.Seed, 10)+".jsonl")
	}
	file, err := os.Create(report.LogFile)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // flushed below
	r := &run{Options: o, report: report, low: -time.Hour, high: time.Hour, resolved: map[string]bool{}}
	r.say("building, starting PostgreSQL")
	w, err := world.New(ctx, world.Options{Orgs: 64, WrongClock: o.Faults.WrongClock > 0, OwnDisk: o.OwnDisk, DiskMB: 3000})
	if err != nil {
		return nil, err
	}
	r.world = w
	err = r.all(ctx, file)
	report.Took = time.Since(began)
	if err != nil || len(report.Violations) > 0 {
		r.keepLogs()
	}
	return report, errors.Join(err, w.Close())
}

func (r *run) all(ctx context.Context, file io.Writer) error {
	log := record.New(file)
	r.town = &people.Town{Log: log, Client: people.NewClient(log)}
	for _, p := range r.world.Processes {
		r.town.Bases, r.town.Names = append(r.town.Bases, p.URL), append(r.town.Names, p.Name)
	}
	for _, o := range r.world.Orgs {
		r.town.Tokens, r.town.Slugs = append(r.town.Tokens, o.Token), append(r.town.Slugs, o.Slug)
	}
	saboteur, err := r.phases(ctx)
	if err != nil {
		return errors.Join(err, log.Flush())
	}
	if err := r.clock(ctx); err != nil {
		return err
	}
	r.measure(ctx)
	r.report.Faults, r.report.LeftOut = saboteur.Counts()
	r.report.Requests, r.report.Hygiene, r.report.Locks = log.Len(), r.connections.table(), r.locks.table()
	r.say("judging %d requests", log.Len())
	if err := log.Flush(); err != nil {
		return err
	}
	return r.judge(ctx, saboteur)
}

// clock learns how far the database's clock is from ours.
func (r *run) clock(ctx context.Context) error {
	conn, err := r.world.Postgres.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is lost with it
	for range 20 {
		var now time.Time
		sent := time.Now()
		if err := conn.QueryRow(ctx, "select clock_timestamp()").Scan(&now); err != nil {
			return err
		}
		r.low, r.high = max(r.low, now.Sub(time.Now())), min(r.high, now.Sub(sent))
	}
	return nil
}

// judge looks at answers, database, invariants and logs.
func (r *run) judge(ctx context.Context, s *fault.Saboteur) error {
	if err := r.world.StopAll(); err != nil {
		r.wrong("%v", err)
	}
	conn, err := r.world.Postgres.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is lost with it
	slack := max(r.high-r.low, 0)/2 + 2*time.Millisecond
	r.report.Verdict, err = judge.Judge(ctx, conn, judge.Case{Entries: r.town.Log.Entries(), Stopped: s.Stopped(), Offset: (r.low + r.high) / 2, Slack: slack})
	if err != nil {
		return err
	}
	r.report.Violations = append(r.report.Violations, r.report.Verdict.Violations...)
	// Housekeeping first, as the sweep of any process would: nothing depends on it.
	if _, err := r.world.Run(ctx, "sweep"); err != nil {
		return err
	}
	results, err := invariants.New(conn).Check(ctx)
	if err != nil {
		return err
	}
	for _, v := range invariants.Violated(results) {
		r.wrong("invariant %s: %d, such as %s", v.Name, v.Violations, strings.Join(v.Examples, "; "))
	}
	r.report.Verdict.Counts["invariants that hold"] = len(results) - len(invariants.Violated(results))
	for _, line := range r.world.Postgres.Deadlocks() {
		r.wrong("the server reported a deadlock: %s", line)
	}
	for _, line := range r.world.Faults() {
		r.wrong("a process reported a fault: %s", line)
	}
	return nil
}

// keepLogs saves what helps to understand a failed run.
func (r *run) keepLogs() {
	to := strings.TrimSuffix(r.report.LogFile, ".jsonl")
	for _, p := range r.world.Processes {
		if b, err := os.ReadFile(p.LogFile()); err == nil {
			_ = os.WriteFile(to+"-"+p.Name+".log", b, 0o600)
		}
	}
	if b, err := os.ReadFile(r.world.Postgres.LogFile()); err == nil {
		_ = os.WriteFile(to+"-postgres.log", b, 0o600)
	}
}

// Scaled is a part of the figures; each fault that happens at all happens at least once.
func (o Options) Scaled(by float64) Options {
	if by == 1 {
		return o
	}
	for _, n := range []*int{&o.Orders, &o.Machines, &o.Buyers, &o.ForSale, &o.Rounds, &o.Deadlines,
		&o.Faults.KillPostgres, &o.Faults.KillProcess, &o.Faults.TermProcess, &o.Faults.PausePostgres, &o.Faults.PauseProcess,
		&o.Faults.Cut, &o.Faults.Delay, &o.Faults.LoseCommit, &o.Faults.ExhaustPool, &o.Faults.FullDisk, &o.Faults.WrongClock, &o.Faults.HoldRows} {
		if *n > 0 {
			*n = max(1, int(float64(*n)*by))
		}
	}
	return o
}
