package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	independent "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"ironhold/holds"
	"ironhold/migrations"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
	"ironhold/notify/mailcatch"
	"ironhold/notify/outbound"
	"ironhold/notify/sign"
	"ironhold/notify/smtp"
)

var actor = pg.By{Actor: "test"}

const source = "https://portal.example"

// bench is one database with an organisation, as the application has them.
type bench struct {
	t       testing.TB
	owner   *pgxpool.Pool
	app     *pgxpool.Pool
	book    *holds.Book
	hooks   *notify.Webhooks
	org     uuid.UUID
	catcher *mailcatch.Server // where mails go; nil for a portal without mail
	keys    atomic.Int64
	changes atomic.Int64 // how often workers said that there is something new to see
}

func setup(t testing.TB) *bench {
	t.Helper()
	owner := pgtest.DB(t)
	fixture.NoDeadlock(t, owner)
	b := &bench{t: t, owner: owner, app: fixture.App(t, owner, 5)}
	b.book = holds.New(b.app, holds.DefaultPolicy())
	b.hooks = notify.NewWebhooks(b.app, client())
	b.org = fixture.Org(t, owner, "acme", 1000, 10000)
	return b
}

// client may send to this machine.
func client() *outbound.Client {
	return outbound.New(outbound.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

// hold holds a machine of its own for the organisation.
func (b *bench) hold(org uuid.UUID) uuid.UUID {
	b.t.Helper()
	n := b.keys.Add(1)
	machine := fixture.Add(b.t, b.owner, fixture.Machine{Tag: fmt.Sprintf("M%d", n)})[0]
	return fixture.Get[uuid.UUID](b.t, b.owner, `
insert into holds (org_id, machine_id, idempotency_key, price_month_minor, expires_at)
values ($1, $2, $3, 4000, clock_timestamp() + interval '15 minutes') returning id`, org, machine, fmt.Sprint("key-", n))
}

func (b *bench) scope() holds.Scope { return holds.Scope{OrgID: b.org} }

// endpoint adds one for holds and services.
func (b *bench) endpoint(url string) (uuid.UUID, sign.Secret) {
	b.t.Helper()
	id, secret, err := b.hooks.Add(b.t.Context(), actor, b.org, notify.NewEndpoint{URL: url, Holds: true, Services: true})
	if err != nil {
		b.t.Fatal(err)
	}
	return id, secret
}

// deliveries are those of an endpoint, the oldest first.
func (b *bench) deliveries(endpoint uuid.UUID) []notify.Delivery {
	b.t.Helper()
	list, err := b.hooks.Deliveries(b.t.Context(), b.org, endpoint, uuid.Nil, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// now lets waiting attempts be due at once.
func (b *bench) now() {
	b.t.Helper()
	fixture.Exec(b.t, b.owner, "update river.river_job set state = 'available', scheduled_at = now() where state in ('retryable', 'scheduled')")
}

// work runs the relay and the workers until the test ends.
func (b *bench) work() {
	b.t.Helper()
	stop, err := work(b.t.Context(), pgtest.LoginURL(b.t, b.owner.Config().ConnString()), "test", b.catcher, b.changed)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(stop)
}

func (b *bench) changed() { b.changes.Add(1) }

// worker is a process's part of this package, as the application has it; not started.
type worker struct {
	db    *pgxpool.Pool
	jobs  *river.Client[pgx.Tx]
	relay *notify.Relay
}

// newWorker sends mails to the catcher; nil for none.
func newWorker(ctx context.Context, url, id string, catcher *mailcatch.Server, changed func()) (*worker, error) {
	db, err := pg.Connect(ctx, url, pg.PoolOptions{Name: id, MaxConns: 8, Role: migrations.RoleEngine})
	if err != nil {
		return nil, err
	}
	var mailer *notify.Mailer
	if catcher != nil {
		sender, err := smtp.New(smtp.Config{Addr: catcher.Addr(), Security: smtp.NoTLS, From: mail.Address{Name: "Ironhold", Address: "no-reply@portal.example"}})
		if err != nil {
			return nil, err
		}
		mailer = notify.NewMailer(db, sender, source+"/", 5*time.Minute)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	workers := river.NewWorkers()
	notify.AddWorkers(workers, db, client(), mailer, changed, log)
	jobs, err := river.NewClient(riverpgxv5.New(db), &river.Config{
		ID: id, Schema: migrations.RiverSchema, Workers: workers, Logger: log,
		Queues: map[string]river.QueueConfig{
			river.QueueDefault: {MaxWorkers: 2}, notify.Queue: {MaxWorkers: notify.QueueWorkers}, notify.MailQueue: {MaxWorkers: notify.MailQueueWorkers},
		},
		FetchPollInterval:    100 * time.Millisecond,
		RescueStuckJobsAfter: time.Minute,
		ReindexerSchedule:    river.NeverSchedule(),
	})
	if err != nil {
		return nil, err
	}
	return &worker{db, jobs, notify.NewRelay(db, jobs, source, mailer, log)}, nil
}

// work starts one and returns how it is stopped.
func work(ctx context.Context, url, id string, catcher *mailcatch.Server, changed func()) (stop func(), err error) {
	w, err := newWorker(ctx, url, id, catcher, changed)
	if err != nil {
		return nil, err
	}
	if err := w.jobs.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	relaying, halt := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { w.relay.Run(relaying) })
	return func() {
		halt()
		wg.Wait()
		end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = w.jobs.StopAndCancel(end)
		w.db.Close()
	}, nil
}

// got is one request as a receiver had it.
type got struct {
	ID       string
	Verified error
	Type     string
	Subject  string
	Source   string
	Sequence string
	Data     struct {
		Org      string         `json:"org"`
		Sequence int            `json:"sequence"`
		Hold     map[string]any `json:"hold"`
		Service  map[string]any `json:"service"`
	}
}

// receiver is somebody's server; it checks signatures with a library that is not ours.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex
	secret sign.Secret
	got    []got
	answer func(w http.ResponseWriter, n int) // n is the number of the request, from 1
}

func newReceiver(t testing.TB, answer func(w http.ResponseWriter, n int)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) trust(s sign.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret = s
}

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	g := got{ID: req.Header.Get("webhook-id"), Verified: err}
	r.mu.Lock()
	if err == nil {
		var hook *independent.Webhook
		if hook, err = independent.NewWebhook(r.secret.Text()); err == nil {
			err = hook.Verify(body, req.Header)
		}
		g.Verified = err
	}
	_ = json.Unmarshal(body, &g)
	r.got = append(r.got, g)
	n := len(r.got)
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(w, n)
	}
}

func (r *receiver) all() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]got(nil), r.got...)
}

// eventually waits until f is true. The limit is for a machine that is busy with all the other tests, and
// for River, which takes its time to notice that a process is gone.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
