package watch

import (
	"context"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

const interval = time.Minute

// Args is the periodic job that asks the invariants.
type Args struct{}

// Kind is River's name of the job.
func (Args) Kind() string { return "holds_watch" }

type worker struct {
	river.WorkerDefaults[Args]

	watcher *Watcher
}

// Work runs the checks. A failed run is not repeated: the next is near.
func (w *worker) Work(ctx context.Context, _ *river.Job[Args]) error {
	_, err := w.watcher.Run(ctx)
	return err
}

// Timeout bounds one run.
func (w *worker) Timeout(*river.Job[Args]) time.Duration { return 5 * time.Minute }

// AddWorkers registers the worker of this package.
func AddWorkers(workers *river.Workers, w *Watcher) { river.AddWorker(workers, &worker{watcher: w}) }

// PeriodicJobs is the schedule of this package, for every client. A run whose process was killed stays
// "running" until it is rescued; it holds up the next for one period at most.
func PeriodicJobs() []*river.PeriodicJob {
	opts := &river.InsertOpts{MaxAttempts: 1, Priority: 3, UniqueOpts: river.UniqueOpts{
		ByPeriod: interval, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		},
	}}
	return []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(interval),
		func() (river.JobArgs, *river.InsertOpts) { return Args{}, opts }, &river.PeriodicJobOpts{RunOnStart: true})}
}
