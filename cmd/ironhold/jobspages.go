package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"riverqueue.com/riverui"

	"ironhold/fleet"
	"ironhold/migrations"
	"ironhold/migrations/pg"
	"ironhold/web"
)

// jobsConns are enough for the few who look at jobs.
const jobsConns = 2

// jobsPages are the pages of the jobs, on connections of their own; they work none.
func (p *process) jobsPages(ctx context.Context) (http.Handler, error) {
	db, err := p.pool(ctx, "jobs pages", pg.PoolOptions{MaxConns: jobsConns, Role: migrations.RoleEngine})
	if err != nil {
		return nil, err
	}
	log := p.log.With("part", "jobs pages")
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{Schema: migrations.RiverSchema, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("jobs pages: %w", err)
	}
	pages, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(client, nil), Logger: log, Prefix: web.JobsPrefix})
	if err != nil {
		return nil, fmt.Errorf("jobs pages: %w", err)
	}
	// Their background queries end with the streams of open pages.
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	if err := pages.Start(background); err != nil {
		end()
		return nil, fmt.Errorf("jobs pages: %w", err)
	}
	hush := p.hush
	p.hush = func() {
		end()
		hush()
	}
	return pages, nil
}

// uploadsArgs is the job that forgets uploaded files which nobody confirmed.
type uploadsArgs struct{}

func (uploadsArgs) Kind() string { return "drop_old_uploads" }

type uploadsWorker struct {
	river.WorkerDefaults[uploadsArgs]

	fleet *fleet.Registry
	log   *slog.Logger
}

func (w *uploadsWorker) Work(ctx context.Context, _ *river.Job[uploadsArgs]) error {
	n, err := w.fleet.DropOldUploads(ctx)
	if n > 0 {
		w.log.InfoContext(ctx, "forgot uploaded files that nobody confirmed", "count", n)
	}
	return err
}

// uploadsEvery is how long after its time a file may still be there.
const uploadsEvery = time.Minute
