package provision

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/provision/driver"
)

const (
	// Queue is River's queue of this package: its jobs wait for others, without a connection.
	Queue = "provisioning"
	// QueueWorkers is how many of them one process works on at once.
	QueueWorkers = 50
	// reviveEvery is how long a row without a job waits for one.
	reviveEvery = 15 * time.Second
	// jobBeyond is how much longer than the slowest call of a driver one run of a job may take.
	jobBeyond = 10 * time.Second
	// deadBeyond is how much longer than that a job that runs counts as alive.
	deadBeyond = 20 * time.Second
	// reviveBatch bounds one transaction of that.
	reviveBatch = 200
)

// Args is the job that does one provisioning, step by step.
type Args struct {
	Service uuid.UUID   `json:"service_id"`
	Task    driver.Kind `json:"task"`
}

// Kind is River's name of the job.
func (Args) Kind() string { return "provision" }

// InsertOpts puts it into its own queue. What a driver answers is kept in the row; River counts only what
// goes wrong with the database.
func (Args) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: Queue, MaxAttempts: 25} }

// Inserter makes the job of a service in the transaction that begins or ends it.
func Inserter(client *river.Client[pgx.Tx]) holds.OnService {
	return func(ctx context.Context, tx pgx.Tx, service uuid.UUID, kind string) error {
		_, err := client.InsertTx(ctx, tx, Args{Service: service, Task: driver.Kind(kind)}, nil)
		return err
	}
}

type worker struct {
	river.WorkerDefaults[Args]
	works *Works
}

func (w *worker) Work(ctx context.Context, job *river.Job[Args]) error {
	next, err := w.works.Step(ctx, job.Args.Service, job.Args.Task)
	if err != nil || next <= 0 {
		return err
	}
	return river.JobSnooze(next)
}

// Timeout is beyond the call of a driver.
func (w *worker) Timeout(*river.Job[Args]) time.Duration { return w.works.slowest() + jobBeyond }

// ReviveArgs is the periodic job that makes jobs for rows that have none.
type ReviveArgs struct{}

// Kind is River's name of the job.
func (ReviveArgs) Kind() string { return "provision_revive" }

type reviveWorker struct {
	river.WorkerDefaults[ReviveArgs]
	works *Works
}

func (w *reviveWorker) Work(ctx context.Context, _ *river.Job[ReviveArgs]) error {
	client := river.ClientFromContext[pgx.Tx](ctx)
	n, err := w.works.revive(ctx, client)
	if n > 0 {
		w.works.log.InfoContext(ctx, "made jobs for provisionings that had none", "count", n)
	}
	return err
}

// revive makes jobs for open rows whose job is lost, whose process is gone, or that began by plain SQL.
func (w *Works) revive(ctx context.Context, client *river.Client[pgx.Tx]) (n int, err error) {
	err = pg.Engine(ctx, w.db, by, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
select p.service_id, p.kind from provisionings p
 where p.state in ('queued', 'running') and p.driver <> 'manual' and p.due_at <= clock_timestamp()
   and not exists (select from river.river_job j where j.kind = 'provision'
         and j.args ->> 'service_id' = p.service_id::text and j.args ->> 'task' = p.kind
         and (j.state in ('available', 'pending', 'retryable', 'scheduled')
              or j.state = 'running' and j.attempted_at > clock_timestamp() - $1::interval))
 order by p.created_at limit $2 for no key update of p skip locked`, w.slowest()+jobBeyond+deadBeyond, reviveBatch)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Args])
		if err != nil || len(list) == 0 {
			return err
		}
		jobs := make([]river.InsertManyParams, len(list))
		for i, args := range list {
			jobs[i] = river.InsertManyParams{Args: args}
		}
		n = len(list)
		_, err = client.InsertManyTx(ctx, tx, jobs)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("provisionings without a job: %w", err)
	}
	return n, nil
}

// AddWorkers registers the workers of this package; every client of River's schema needs them.
func AddWorkers(workers *river.Workers, works *Works) {
	river.AddWorker(workers, &worker{works: works})
	river.AddWorker(workers, &reviveWorker{works: works})
}

// PeriodicJobs are the schedules of this package, to be configured on every client.
func PeriodicJobs() []*river.PeriodicJob {
	return []*river.PeriodicJob{
		river.NewPeriodicJob(river.PeriodicInterval(reviveEvery),
			func() (river.JobArgs, *river.InsertOpts) {
				return ReviveArgs{}, &river.InsertOpts{MaxAttempts: 1, UniqueOpts: river.UniqueOpts{
					// Within a short period alone: one whose process was killed stays "running" for long.
					ByPeriod: 10 * time.Second,
					ByState: []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending,
						rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled},
				}}
			}, &river.PeriodicJobOpts{RunOnStart: true}),
	}
}
