package notify

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"ironhold/migrations/pg"
	"ironhold/notify/outbound"
)

const (
	// messageLife is how long messages, deliveries and the record of mails are kept.
	messageLife = 30 * 24 * time.Hour
	// tidyEvery is how often older ones are removed.
	tidyEvery = time.Hour
	// tidyBatch bounds one transaction of that.
	tidyBatch = 1000
)

// TidyArgs is the periodic job that removes what is older than it is kept.
type TidyArgs struct{}

// Kind is River's name of the job.
func (TidyArgs) Kind() string { return "notify_tidy" }

type tidyWorker struct {
	river.WorkerDefaults[TidyArgs]

	db  pg.DB
	log *slog.Logger
}

func (w *tidyWorker) Work(ctx context.Context, _ *river.Job[TidyArgs]) error {
	for _, sql := range []string{tidyMessages, tidyMails, tidyLost} {
		if err := w.tidy(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

const (
	tidyMessages = `delete from webhook_messages where id in (
		select id from webhook_messages where relayed_at < clock_timestamp() - make_interval(secs => $1) limit $2)`
	tidyMails = `delete from mails where id in (
		select id from mails where finished_at < clock_timestamp() - make_interval(secs => $1) limit $2)`
	// Whose job an operator has cancelled: no schedule takes that long.
	tidyLost = `update webhook_deliveries set state = 'failed', next_at = null where id in (
		select id from webhook_deliveries where state = 'queued' and greatest(attempted_at, created_at) < clock_timestamp() - make_interval(secs => $1 / 6) limit $2)`
)

func (w *tidyWorker) tidy(ctx context.Context, sql string) error {
	for removed := int64(tidyBatch); removed == tidyBatch; {
		err := pg.Engine(ctx, w.db, pg.By{Actor: "tidy"}, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql, messageLife.Seconds(), tidyBatch)
			removed = tag.RowsAffected()
			return err
		})
		if err != nil {
			return err
		}
		if removed > 0 {
			w.log.InfoContext(ctx, "removed old messages and mails", "count", removed)
		}
	}
	return nil
}

// AddWorkers registers the workers of this package; every client of River's schema needs them. changed
// is called after a delivery was written down.
func AddWorkers(workers *river.Workers, db pg.DB, client *outbound.Client, mail *Mailer, changed func(), log *slog.Logger) {
	river.AddWorker(workers, &deliverWorker{db: db, client: client, slots: &slots{now: map[uuid.UUID]int{}}, changed: changed})
	river.AddWorker(workers, &mailWorker{db: db, mail: mail})
	river.AddWorker(workers, &tidyWorker{db: db, log: log})
}

// PeriodicJobs are the schedules of this package, to be configured on every client.
func PeriodicJobs() []*river.PeriodicJob {
	return []*river.PeriodicJob{
		river.NewPeriodicJob(river.PeriodicInterval(tidyEvery),
			func() (river.JobArgs, *river.InsertOpts) {
				return TidyArgs{}, &river.InsertOpts{MaxAttempts: 3, UniqueOpts: river.UniqueOpts{
					// Within a short period alone: a job whose process was killed stays "running" for long.
					ByPeriod: time.Minute,
					ByState: []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending,
						rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled},
				}}
			}, &river.PeriodicJobOpts{RunOnStart: true}),
	}
}
