package holds

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// SweepArgs is the periodic job that expires overdue holds.
type SweepArgs struct{}

// Kind is River's name of the job.
func (SweepArgs) Kind() string { return "holds_sweep" }

// startPeriod bounds how long a sweep whose process was killed holds up the next one. It is shorter
// than the time after which River gives a killed leader's seat away.
const startPeriod = 10 * time.Second

// sweepOpts makes the job unique within a short period while it waits or runs. Completed ones do
// not count, unlike River's default: they would hold up the sweep at a restart. The period matters:
// a sweep whose process was killed stays "running" until it is rescued, and within the period it
// keeps another one, that at the next start, from being put in; two at once do no harm. A failed
// sweep is not retried, the next is near.
func sweepOpts(interval time.Duration) *river.InsertOpts {
	return &river.InsertOpts{
		MaxAttempts: 1,
		Priority:    1,
		UniqueOpts: river.UniqueOpts{ByPeriod: min(interval, startPeriod), ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}},
	}
}

type sweepWorker struct {
	river.WorkerDefaults[SweepArgs]
	book *Book
	log  *slog.Logger
}

func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[SweepArgs]) error {
	n, err := w.book.Sweep(ctx)
	if n > 0 {
		w.book.onChange()
		w.log.InfoContext(ctx, "swept overdue holds", "expired", n)
	}
	return err
}

// Timeout bounds one sweep; what is left is done by the next.
func (w *sweepWorker) Timeout(*river.Job[SweepArgs]) time.Duration { return 5 * time.Minute }

// EndsArgs is the periodic job that ends services whose planned end has come.
type EndsArgs struct{}

// Kind is River's name of the job.
func (EndsArgs) Kind() string { return "holds_ends" }

type endsWorker struct {
	river.WorkerDefaults[EndsArgs]
	book *Book
	log  *slog.Logger
}

func (w *endsWorker) Work(ctx context.Context, _ *river.Job[EndsArgs]) error {
	n, err := w.book.EndDue(ctx)
	if n > 0 {
		w.log.InfoContext(ctx, "ended services whose planned end has come", "ended", n)
	}
	return err
}

// Timeout bounds one run; what is left is done by the next.
func (w *endsWorker) Timeout(*river.Job[EndsArgs]) time.Duration { return 5 * time.Minute }

// AddWorkers registers the workers of this package. Every client of the schema must have them:
// River discards a rescued job of a kind that the client does not know.
func AddWorkers(workers *river.Workers, book *Book, log *slog.Logger) {
	river.AddWorker(workers, &sweepWorker{book: book, log: log})
	river.AddWorker(workers, &endsWorker{book: book, log: log})
}

// PeriodicJobs are the schedules of this package, to be configured on every client: River keeps
// them in the memory of whichever is the leader. The sweep also runs at each start, so that
// restarts more frequent than its interval do not put it off for ever.
func PeriodicJobs(interval time.Duration) []*river.PeriodicJob {
	return []*river.PeriodicJob{
		river.NewPeriodicJob(river.PeriodicInterval(interval),
			func() (river.JobArgs, *river.InsertOpts) { return SweepArgs{}, sweepOpts(interval) },
			&river.PeriodicJobOpts{RunOnStart: true}),
		river.NewPeriodicJob(river.PeriodicInterval(interval),
			func() (river.JobArgs, *river.InsertOpts) { return EndsArgs{}, sweepOpts(interval) },
			&river.PeriodicJobOpts{RunOnStart: true}),
	}
}
