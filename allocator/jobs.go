package allocator

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// matchEvery is how long somebody on the waiting list may wait for the news.
const matchEvery = 10 * time.Second

// MatchArgs is the periodic job that tells those who wait.
type MatchArgs struct{}

// Kind is River's name of the job.
func (MatchArgs) Kind() string { return "allocator_match_waiting" }

type matchWorker struct {
	river.WorkerDefaults[MatchArgs]
	a   *Allocator
	log *slog.Logger
}

func (w *matchWorker) Work(ctx context.Context, _ *river.Job[MatchArgs]) error {
	n, err := w.a.MatchWaiting(ctx)
	if n > 0 {
		w.log.InfoContext(ctx, "told those who wait", "count", n)
	}
	return err
}

// Timeout bounds one match; the next is near.
func (w *matchWorker) Timeout(*river.Job[MatchArgs]) time.Duration { return time.Minute }

// AddWorkers registers the workers of this package; every client of River's schema needs them.
func AddWorkers(workers *river.Workers, a *Allocator, log *slog.Logger) {
	river.AddWorker(workers, &matchWorker{a: a, log: log})
}

// PeriodicJobs are the schedules of this package, to be configured on every client.
func PeriodicJobs() []*river.PeriodicJob {
	return []*river.PeriodicJob{
		river.NewPeriodicJob(river.PeriodicInterval(matchEvery),
			func() (river.JobArgs, *river.InsertOpts) {
				return MatchArgs{}, &river.InsertOpts{MaxAttempts: 1, UniqueOpts: river.UniqueOpts{
					// Within its period alone: a job whose process was killed stays "running" for long.
					ByPeriod: matchEvery,
					ByState: []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending,
						rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled},
				}}
			}, &river.PeriodicJobOpts{RunOnStart: true}),
	}
}
