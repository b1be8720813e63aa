package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"ironhold/migrations/pg"
)

// retentionArgs is the job that moves months which are over for long enough out of their tables.
type retentionArgs struct{}

func (retentionArgs) Kind() string { return "retire_months" }

type retentionWorker struct {
	river.WorkerDefaults[retentionArgs]

	db                pg.DB
	log               *slog.Logger
	attempts, history int // months; 0: for ever
}

// Work detaches month by month, each in a transaction of its own: a table is locked for one of them.
// One that cannot have the lock in time is tried again by the next run.
func (w *retentionWorker) Work(ctx context.Context, _ *river.Job[retentionArgs]) error {
	for _, t := range []struct {
		name   string
		months int
	}{
		{"allocation_attempts", w.attempts},
		{"hold_events", w.history}, {"service_events", w.history}, {"machine_events", w.history},
	} {
		for t.months > 0 {
			var moved *string
			err := pg.Engine(ctx, w.db, pg.By{Actor: "retention"}, func(tx pgx.Tx) error {
				return tx.QueryRow(ctx, "select ironhold_retire_month($1, make_interval(months => $2))", t.name, t.months).Scan(&moved)
			})
			if err != nil {
				return fmt.Errorf("retention of %s: %w", t.name, err)
			}
			if moved == nil {
				break
			}
			w.log.InfoContext(ctx, "a month is archived", "table", "archive."+*moved)
		}
	}
	return nil
}
