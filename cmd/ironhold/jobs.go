package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/holds/watch"
	"ironhold/migrations"
	"ironhold/migrations/pg"
	"ironhold/notify"
	"ironhold/provision"
)

// softStop is how long running jobs may go on after a stop before their contexts end.
const softStop = 3 * time.Second

// newRiver makes the client of all workers on the background pool. Every process that works jobs
// has every worker and every schedule: a client that rescues a job of an unknown kind discards it,
// and schedules live in the memory of whichever process leads.
func newRiver(db *pgxpool.Pool, s settings, book *holds.Book, a *allocator.Allocator, mail *notify.Mailer, works *provision.Works, changed func(), traces []rivertype.Middleware, log *slog.Logger) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	holds.AddWorkers(workers, book, log)
	allocator.AddWorkers(workers, a, log)
	watch.AddWorkers(workers, watch.New(db, checker(db, s), fleet.New(db).OnChange(changed), log))
	provision.AddWorkers(workers, works)
	notify.AddWorkers(workers, db, s.outbound(), mail, changed, log)
	river.AddWorker(workers, &partitionsWorker{db: db, log: log})
	river.AddWorker(workers, &retentionWorker{db: db, log: log, attempts: s.KeepAttempts, history: s.KeepHistory})
	river.AddWorker(workers, &uploadsWorker{fleet: fleet.New(db), log: log})
	river.AddWorker(workers, &sessionsWorker{store: accounts.NewSessionStore(db), log: log})
	schedules := append(holds.PeriodicJobs(s.SweepInterval), allocator.PeriodicJobs()...)
	schedules = append(schedules, watch.PeriodicJobs()...)
	schedules = append(schedules, notify.PeriodicJobs()...)
	schedules = append(schedules, provision.PeriodicJobs()...)
	schedules = append(schedules,
		periodic(24*time.Hour, partitionsArgs{}), periodic(6*time.Hour, retentionArgs{}), periodic(time.Hour, sessionsArgs{}), periodic(uploadsEvery, uploadsArgs{}))
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{
		Schema:       migrations.RiverSchema,
		Logger:       log.With("part", "river"),
		Workers:      workers,
		Middleware:   append(traces, namingJobs()),
		PeriodicJobs: schedules,
		Queues: map[string]river.QueueConfig{
			river.QueueDefault: {MaxWorkers: max(1, s.PoolBackground-2)},
			// These wait for others, without a connection.
			notify.Queue:     {MaxWorkers: notify.QueueWorkers},
			notify.MailQueue: {MaxWorkers: notify.MailQueueWorkers},
			provision.Queue:  {MaxWorkers: provision.QueueWorkers},
		},
		// Without it, the end of Start's context would cut running jobs off.
		SoftStopTimeout: softStop,
		// A sweep that was killed with its process is given up after this, not after an hour.
		RescueStuckJobsAfter: 15 * time.Minute,
		// The login owns no index.
		ReindexerSchedule: river.NeverSchedule(),
	})
	if err != nil {
		return nil, fmt.Errorf("workers: %w", err)
	}
	return client, nil
}

// riverCurrent reports whether River's tables are those of this build; they are migrated last.
func riverCurrent(ctx context.Context, url string) (bool, error) {
	db, err := pg.Connect(ctx, url, pg.PoolOptions{Name: "schema check", Role: migrations.RoleEngine})
	if err != nil {
		return false, err
	}
	defer db.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(db), &rivermigrate.Config{Schema: migrations.RiverSchema})
	if err != nil {
		return false, err
	}
	result, err := migrator.Validate(ctx, nil)
	switch pg.Code(err) {
	case "42P01", "3F000", codeNotPermitted: // in the middle of a first migration
		return false, nil
	}
	return err == nil && result.OK, err
}

// periodic runs at each start too, so that restarts more frequent than the interval do not put it
// off for ever. Completed jobs do not count as duplicates, unlike River's default, and one that was
// killed does so for a minute at most.
func periodic(interval time.Duration, args river.JobArgs) *river.PeriodicJob {
	opts := &river.InsertOpts{
		MaxAttempts: 3,
		UniqueOpts: river.UniqueOpts{ByPeriod: min(interval, time.Minute), ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}},
	}
	return river.NewPeriodicJob(river.PeriodicInterval(interval),
		func() (river.JobArgs, *river.InsertOpts) { return args, opts }, &river.PeriodicJobOpts{RunOnStart: true})
}

// partitionsArgs is the job that makes the history's partitions ahead of time.
type partitionsArgs struct{}

func (partitionsArgs) Kind() string { return "make_partitions" }

type partitionsWorker struct {
	river.WorkerDefaults[partitionsArgs]

	db  pg.DB
	log *slog.Logger
}

func (w *partitionsWorker) Work(ctx context.Context, _ *river.Job[partitionsArgs]) error {
	return pg.Engine(ctx, w.db, pg.By{Actor: "partitions"}, func(tx pgx.Tx) error {
		var made int
		if err := tx.QueryRow(ctx, "select ironhold_make_partitions(2)").Scan(&made); err != nil {
			return err
		}
		if made > 0 {
			w.log.InfoContext(ctx, "made partitions", "count", made)
		}
		return nil
	})
}

// sessionsArgs is the job that removes sessions that ended.
type sessionsArgs struct{}

func (sessionsArgs) Kind() string { return "delete_expired_sessions" }

type sessionsWorker struct {
	river.WorkerDefaults[sessionsArgs]

	store *accounts.SessionStore
	log   *slog.Logger
}

func (w *sessionsWorker) Work(ctx context.Context, _ *river.Job[sessionsArgs]) error {
	n, err := w.store.DeleteExpired(ctx)
	if n > 0 {
		w.log.InfoContext(ctx, "removed ended sessions", "count", n)
	}
	return err
}
