package notify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"ironhold/migrations/pg"
	"ironhold/notify/outbound"
	"ironhold/notify/sign"
)

const (
	// Queue is River's queue of deliveries, apart from all others.
	Queue = "webhooks"
	// QueueWorkers is how many deliveries one process makes at once; nearly all of that is waiting.
	QueueWorkers = 100
	// perEndpoint is how many of them may go to one endpoint.
	perEndpoint = 4
	// maxAnswer is how many bytes of an answer are kept.
	maxAnswer = 2000
)

// backoff is the wait after each failed attempt: eleven attempts in three and a half days.
var backoff = []time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// DeliverArgs is the job that makes one delivery.
type DeliverArgs struct {
	Delivery uuid.UUID `json:"delivery"`
	Endpoint uuid.UUID `json:"endpoint"`
	Round    int       `json:"round"`
}

// Kind is River's name of the job.
func (DeliverArgs) Kind() string { return "notify_deliver" }

// InsertOpts puts it into its own queue.
func (DeliverArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Queue, MaxAttempts: len(backoff) + 1}
}

type deliverWorker struct {
	river.WorkerDefaults[DeliverArgs]

	db     pg.DB
	client *outbound.Client
	slots  *slots

	changed func()
}

// Timeout is beyond that of the client.
func (w *deliverWorker) Timeout(*river.Job[DeliverArgs]) time.Duration { return time.Minute }

// NextRetry is as long after an attempt as the page says.
func (w *deliverWorker) NextRetry(job *river.Job[DeliverArgs]) time.Time {
	return time.Now().Add(wait(job)) //nolint:forbidigo // River's clock
}

// wait is that of the schedule after an attempt, up to a tenth longer, so that what failed together does
// not come back together; the same whenever it is asked for.
func wait(job *river.Job[DeliverArgs]) time.Duration {
	d := backoff[min(max(job.Attempt, 1), len(backoff))-1]
	r := rand.New(rand.NewPCG(uint64(job.ID), uint64(job.Attempt))) //nolint:gosec // no secret
	return d + time.Duration(r.Int64N(int64(d/10)+1))
}

// parcel is what a delivery needs, as it is right before.
type parcel struct {
	State   State
	Round   int
	Alive   bool // the endpoint is neither disabled nor removed
	URL     string
	ID      string
	Body    []byte
	Secrets []sign.Secret
	Now     time.Time
}

// Work sends one message and writes down the answer.
func (w *deliverWorker) Work(ctx context.Context, job *river.Job[DeliverArgs]) error {
	if !w.slots.take(job.Args.Endpoint) {
		return w.later(ctx, job.Args.Endpoint)
	}
	defer w.slots.give(job.Args.Endpoint)
	p, err := w.read(ctx, job.Args.Delivery)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil // its message is older than is kept
	case err != nil:
		return err
	case p.Round != job.Args.Round || p.State != Queued:
		return nil // somebody asked for another round, or this one is done
	case !p.Alive:
		return w.drop(ctx, job.Args)
	}
	h := http.Header{"Content-Type": {sign.ContentType}, "User-Agent": {"Ironhold-Webhooks/1"}}
	sign.Sign(h, p.ID, p.Now, p.Body, p.Secrets...)
	answer, err := w.client.Post(ctx, p.URL, h, p.Body)
	if ctx.Err() != nil {
		return ctx.Err() // we stop: that says nothing about the receiver
	}
	return w.record(ctx, job, answer, err)
}

// later puts a job off whose endpoint has no place free: the longer, the more of them wait there, so that
// a receiver that hangs does not keep the workers busy with asking.
func (w *deliverWorker) later(ctx context.Context, endpoint uuid.UUID) error {
	var waiting int
	err := pg.Engine(ctx, w.db, pg.By{Actor: "webhooks"}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from (
			select from webhook_deliveries where endpoint_id = $1 and state = 'queued' limit 1000) q`, endpoint).Scan(&waiting)
	})
	if err != nil {
		return err
	}
	return river.JobSnooze(time.Second + rand.N(time.Second+time.Duration(waiting)*200*time.Millisecond)) //nolint:gosec // no secret
}

func (w *deliverWorker) read(ctx context.Context, id uuid.UUID) (p parcel, err error) {
	err = pg.Engine(ctx, w.db, pg.By{Actor: "webhooks"}, func(tx pgx.Tx) error {
		var secret, old []byte
		err := tx.QueryRow(ctx, `
select d.state, d.round, e.disabled_at is null and e.removed_at is null, e.url, m.id::text, m.body, e.secret,
       case when e.old_secret_until > clock_timestamp() then e.old_secret end, clock_timestamp()
  from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id join webhook_messages m on m.id = d.message_id
 where d.id = $1`, id).Scan(&p.State, &p.Round, &p.Alive, &p.URL, &p.ID, &p.Body, &secret, &old, &p.Now)
		if p.Secrets = []sign.Secret{secret}; old != nil {
			p.Secrets = append(p.Secrets, old)
		}
		return err
	})
	return p, err
}

// record writes the answer down and says whether there is another attempt: a *notDelivered.
func (w *deliverWorker) record(ctx context.Context, job *river.Job[DeliverArgs], a outbound.Answer, failure error) error {
	gone := failure == nil && a.Status == http.StatusGone
	state, last := Queued, job.Attempt >= job.MaxAttempts
	switch {
	case failure == nil && a.OK():
		state = Delivered
	case gone || last:
		state = Failed
	}
	var status *int
	var reason outbound.Reason
	if failure == nil {
		status = &a.Status
	} else {
		reason = outbound.Why(failure)
	}
	err := pg.Engine(ctx, w.db, pg.By{Actor: "webhooks"}, func(tx pgx.Tx) error {
		if gone {
			// The endpoint before the delivery, as everywhere.
			if _, err := tx.Exec(ctx, `update webhook_endpoints set disabled_at = clock_timestamp(), disabled_why = 'gone'
				where id = $1 and disabled_at is null and removed_at is null`, job.Args.Endpoint); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `
update webhook_deliveries set state = @state, attempts = attempts + 1, attempted_at = clock_timestamp(), status = @status, reason = @reason,
       answer = @answer, took_ms = @took, next_at = case when @state = 'queued' then clock_timestamp() + make_interval(secs => @wait) end
 where id = @id and round = @round and state = 'queued'`, pgx.StrictNamedArgs{
			"state": string(state), "status": status, "reason": string(reason), "answer": readable(a.Body), "took": a.Took.Milliseconds(),
			"wait": wait(job).Seconds(), "id": job.Args.Delivery, "round": job.Args.Round,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	w.changed()
	if state == Queued {
		return &notDelivered{a.Status, reason}
	}
	return nil
}

// notDelivered makes River try again.
type notDelivered struct {
	status int
	reason outbound.Reason
}

func (e *notDelivered) Error() string {
	if e.reason != "" {
		return "not delivered: " + string(e.reason)
	}
	return fmt.Sprintf("not delivered: the receiver answered %d", e.status)
}

// drop ends a delivery whose endpoint is disabled or gone.
func (w *deliverWorker) drop(ctx context.Context, args DeliverArgs) error {
	err := pg.Engine(ctx, w.db, pg.By{Actor: "webhooks"}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "update webhook_deliveries set state = 'dropped', next_at = null where id = $1 and round = $2 and state = 'queued'",
			args.Delivery, args.Round)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	w.changed()
	return nil
}

// readable is an answer as text that the database and a page can show.
func readable(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	for len(s) > maxAnswer {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// slots counts the deliveries under way in this process, by endpoint.
type slots struct {
	mu  sync.Mutex
	now map[uuid.UUID]int
}

func (s *slots) take(id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now[id] >= perEndpoint {
		return false
	}
	s.now[id]++
	return true
}

func (s *slots) give(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now[id]--; s.now[id] <= 0 {
		delete(s.now, id)
	}
}
