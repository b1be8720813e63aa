package notify

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"ironhold/accounts"
	"ironhold/migrations/pg"
)

// Mail is a finished mail. Both parts say the same.
type Mail struct {
	ID      uuid.UUID // of its row: the same at each attempt
	To      mail.Address
	Subject string
	Text    string
	HTML    string
}

// Sender hands a mail on to the server of that name. An error that wraps ErrRefused is for good.
type Sender interface {
	Send(ctx context.Context, m Mail) error
	Server() string
}

// ErrRefused says that a mail will not be taken, however often it is tried.
var ErrRefused = errors.New("the mail server refuses the mail for good")

// MailQueue is River's queue of mails.
const MailQueue = "mail"

// MailQueueWorkers is how many mails one process sends at once.
const MailQueueWorkers = 4

// mailAttempts is how often a mail is tried; with River's waits that is a bit more than four hours.
const mailAttempts = 10

// Mailer sends what triggers wrote into mails. A nil Mailer is a portal without mail: it marks each of
// them as skipped.
type Mailer struct {
	db     pg.DB
	sender Sender
	base   string
	before time.Duration

	looked time.Time // for holds about to end
}

// NewMailer makes it. base is the portal's address, which links in mails begin with; before is how long
// before the end of a hold its holder is told, but never in the first two thirds of its time.
func NewMailer(db pg.DB, sender Sender, base string, before time.Duration) *Mailer {
	return &Mailer{db: db, sender: sender, base: strings.TrimSuffix(base, "/"), before: before}
}

// Server is where mails are handed to.
func (m *Mailer) Server() string {
	if m.sender == nil {
		return ""
	}
	return m.sender.Server()
}

// Link puts the mail with a one-use link into the transaction that makes the link; accounts calls it.
func (m *Mailer) Link(ctx context.Context, tx pgx.Tx, l accounts.Link) error {
	person := l.Email
	if l.UserID != nil {
		person = l.UserID.String()
	}
	var secret *string
	if l.Secret != "" {
		secret = &l.Secret
	}
	_, err := tx.Exec(ctx, `insert into mails (kind, subject_id, person, user_id, org_id, secret) values ($1, $2, $3, $4, $5, $6)`,
		l.Kind, l.ID, person, l.UserID, l.OrgID, secret)
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	return nil
}

// relay makes jobs of mails that wait, and finds the holds that are about to end. Without mail nothing
// waits for better times: a mail about today says nothing next week.
func (m *Mailer) relay(ctx context.Context, tx pgx.Tx, client *river.Client[pgx.Tx]) (int, error) {
	if m == nil {
		tag, err := tx.Exec(ctx, `update mails set state = 'skipped', why = 'not_configured', secret = null, finished_at = clock_timestamp()
			where id in (select id from mails where state = 'waiting' order by id limit $1)`, relayBatch)
		return int(tag.RowsAffected()), err
	}
	if time.Since(m.looked) >= lookEvery {
		if err := m.ending(ctx, tx); err != nil {
			return 0, fmt.Errorf("holds about to end: %w", err)
		}
		m.looked = time.Now() //nolint:forbidigo // only how often
	}
	rows, err := tx.Query(ctx, `update mails set state = 'queued'
		where id in (select id from mails where state = 'waiting' order by id limit $1 for no key update skip locked) returning id`, relayBatch)
	if err != nil {
		return 0, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(list) == 0 {
		return 0, err
	}
	jobs := make([]river.InsertManyParams, len(list))
	for i, id := range list {
		jobs[i] = river.InsertManyParams{Args: MailArgs{Mail: id}}
	}
	_, err = client.InsertManyTx(ctx, tx, jobs)
	return len(list), err
}

// lookEvery is how late a mail about the end of a hold may be; the look reads all holds that end soon.
const lookEvery = 5 * time.Second

// endsSoon is whether somebody is told of the end of a hold h at a time c.now; $1 is how long before it,
// in seconds.
const endsSoon = `h.expires_at < c.now + make_interval(secs => $1)
   and h.expires_at - c.now < (h.expires_at - coalesce(h.extended_at, h.created_at)) / 3`

// ending writes the mails about holds that end soon, in the words of the index by deadline.
func (m *Mailer) ending(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
select mails_tell('hold_ending', h.id, h.created_by, h.org_id)
  from holds h, (select clock_timestamp() as now offset 0) c
 where h.state || '' = 'held' and h.expires_at > c.now and `+endsSoon+`
   and not exists (select from mails s where s.kind = 'hold_ending' and s.subject_id = h.id)
 limit $2`, m.before.Seconds(), relayBatch)
	return err
}

// MailArgs is the job that sends one mail.
type MailArgs struct {
	Mail uuid.UUID `json:"mail"`
}

// Kind is River's name of the job.
func (MailArgs) Kind() string { return "notify_mail" }

// InsertOpts puts it into its own queue.
func (MailArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: MailQueue, MaxAttempts: mailAttempts}
}

type mailWorker struct {
	river.WorkerDefaults[MailArgs]

	db   pg.DB
	mail *Mailer // nil: not configured
}

// Timeout is beyond that of a sender.
func (w *mailWorker) Timeout(*river.Job[MailArgs]) time.Duration { return 2 * time.Minute }

// Work sends one mail, unless there is nothing to say any more: that is looked at right before.
func (w *mailWorker) Work(ctx context.Context, job *river.Job[MailArgs]) error {
	id := job.Args.Mail
	if w.mail == nil {
		return w.finish(ctx, id, "skipped", "not_configured")
	}
	p, err := w.mail.letter(ctx, id)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	case p.early:
		// The deadline has moved: it is found again when it is near.
		return w.forget(ctx, id)
	case p.skip != "":
		return w.finish(ctx, id, "skipped", p.skip)
	}
	err = w.mail.sender.Send(ctx, p.mail)
	switch {
	case err == nil:
		return w.finish(ctx, id, "sent", "")
	case errors.Is(err, ErrRefused):
		return errors.Join(w.finish(ctx, id, "failed", "refused"), river.JobCancel(err))
	case job.Attempt >= job.MaxAttempts:
		return errors.Join(w.finish(ctx, id, "failed", "no_answer"), err)
	}
	return errors.Join(w.count(ctx, id), err)
}

func (w *mailWorker) finish(ctx context.Context, id uuid.UUID, state, why string) error {
	return w.update(ctx, `update mails set state = $2, why = $3, secret = null, finished_at = clock_timestamp(),
		attempts = attempts + case when $2 = 'skipped' then 0 else 1 end where id = $1 and state = 'queued'`, id, state, why)
}

func (w *mailWorker) count(ctx context.Context, id uuid.UUID) error {
	return w.update(ctx, "update mails set attempts = attempts + 1 where id = $1 and state = 'queued'", id)
}

func (w *mailWorker) forget(ctx context.Context, id uuid.UUID) error {
	return w.update(ctx, "delete from mails where id = $1 and state = 'queued'", id)
}

// update writes down what became of a mail, also while the process stops: what was sent was sent.
func (w *mailWorker) update(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return pg.Engine(ctx, w.db, pg.By{Actor: "mail"}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
}
