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
	// lostAfter is beyond all schedules: what still is queued then and has no job is given up.
	lostAfter = 5 * 24 * time.Hour
	// tidyEvery is how often older ones are removed.
	tidyEvery = time.Hour
	// tidyBatch bounds one transaction of that.
	tidyBatch = 1000
)

// TidyArgs is the periodic job that removes what is older than it is kept, and gives up what nobody
// works on.
type TidyArgs struct{}

// Kind is River's name of the job.
func (TidyArgs) Kind() string { return "notify_tidy" }

type tidyWorker struct {
	river.WorkerDefaults[TidyArgs]

	db  pg.DB
	log *slog.Logger
}

func (w *tidyWorker) Work(ctx context.Context, _ *river.Job[TidyArgs]) error {
	for _, t := range []struct {
		done, sql string
		age       time.Duration
	}{
		{"removed old messages", removeMessages, messageLife},
		{"removed old mails", removeMails, messageLife},
		{"gave up lost deliveries", giveUpDeliveries, lostAfter},
		{"gave up lost mails", giveUpMails, lostAfter},
	} {
		if err := w.tidy(ctx, t.done, t.sql, t.age); err != nil {
			return err
		}
	}
	return nil
}

const (
	removeMessages = `delete from webhook_messages where id in (
		select id from webhook_messages where relayed_at < clock_timestamp() - make_interval(secs => $1) limit $2)`
	removeMails = `delete from mails where id in (
		select id from mails where finished_at < clock_timestamp() - make_interval(secs => $1) limit $2)`

	// Those whose job an operator has cancelled, or that failed where it could not write that down. An old
	// one that a person sends once more has a job.
	giveUpDeliveries = `update webhook_deliveries set state = 'failed', next_at = null where id in (
		select d.id from webhook_deliveries d
		 where d.state = 'queued' and greatest(d.attempted_at, d.created_at) < clock_timestamp() - make_interval(secs => $1)
		   and not exists (` + openJobs + ` and j.kind = 'notify_deliver' and j.args ->> 'delivery' = d.id::text) limit $2)`
	giveUpMails = `update mails set state = 'failed', why = 'no_answer', secret = null, finished_at = clock_timestamp() where id in (
		select s.id from mails s
		 where s.state = 'queued' and s.created_at < clock_timestamp() - make_interval(secs => $1)
		   and not exists (` + openJobs + ` and j.kind = 'notify_mail' and j.args ->> 'mail' = s.id::text) limit $2)`
	openJobs = `select from river.river_job j where j.state in ('available', 'pending', 'retryable', 'running', 'scheduled')`
)

func (w *tidyWorker) tidy(ctx context.Context, done, sql string, age time.Duration) error {
	for count := int64(tidyBatch); count == tidyBatch; {
		err := pg.Engine(ctx, w.db, pg.By{Actor: "tidy"}, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql, age.Seconds(), tidyBatch)
			count = tag.RowsAffected()
			return err
		})
		if err != nil {
			return err
		}
		if count > 0 {
			w.log.InfoContext(ctx, done, "count", count)
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
