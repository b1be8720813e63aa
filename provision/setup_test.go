package provision_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/provision"
	"ironhold/provision/driver"
)

var actor = pg.By{Actor: "test"}

// bench is one database with an organisation and a scripted driver, as the application has them.
type bench struct {
	t     testing.TB
	owner *pgxpool.Pool
	app   *pgxpool.Pool
	book  *holds.Book
	store *provision.Store
	org   uuid.UUID
	fake  *fake
	works *provision.Works
	keys  atomic.Int64
}

func setup(t testing.TB) *bench {
	t.Helper()
	owner := pgtest.DB(t)
	fixture.NoDeadlock(t, owner)
	b := &bench{t: t, owner: owner, app: fixture.App(t, owner, 6), fake: &fake{}}
	b.book = holds.New(b.app, holds.DefaultPolicy())
	b.store = provision.NewStore(b.app)
	b.org = fixture.Org(t, owner, "acme", 1000, 10000)
	b.works = b.worksOf("fake")
	return b
}

func (b *bench) worksOf(name string) *provision.Works {
	b.t.Helper()
	w, err := provision.NewWorks(b.app, b.book, provision.Options{
		Driver: name, Drivers: []driver.Driver{b.fake}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

func (b *bench) scope() holds.Scope { return holds.Scope{OrgID: b.org} }

func (b *bench) machine() uuid.UUID {
	return fixture.Add(b.t, b.owner, fixture.Machine{Tag: fmt.Sprintf("M%d", b.keys.Add(1))})[0]
}

// sell makes a service of a machine.
func (b *bench) sell(machine uuid.UUID, s holds.Setup) holds.Service {
	b.t.Helper()
	hold := fixture.Get[uuid.UUID](b.t, b.owner, `
insert into holds (org_id, machine_id, idempotency_key, price_month_minor, expires_at)
values ($1, $2, $3, 4000, clock_timestamp() + interval '15 minutes') returning id`, b.org, machine, fmt.Sprint("key-", b.keys.Add(1)))
	v, created, err := b.book.ConvertWith(b.t.Context(), actor, b.scope(), hold, s)
	if err != nil || !created {
		b.t.Fatalf("created %v: %v", created, err)
	}
	return v
}

func (b *bench) end(service uuid.UUID) {
	b.t.Helper()
	if _, err := b.book.EndService(b.t.Context(), actor, b.scope(), service, "no longer needed"); err != nil {
		b.t.Fatal(err)
	}
}

// step takes one step now, whatever the row waits for.
func (b *bench) step(service uuid.UUID, kind driver.Kind) time.Duration {
	b.t.Helper()
	fixture.Exec(b.t, b.owner, "update provisionings set due_at = clock_timestamp() where service_id = $1 and kind = $2 and state in ('queued', 'running')", service, kind)
	next, err := b.works.Step(b.t.Context(), service, kind)
	if err != nil {
		b.t.Fatalf("step: %v", err)
	}
	return next
}

// of is the row of a service.
func (b *bench) of(service uuid.UUID, kind driver.Kind) provision.Progress {
	b.t.Helper()
	list, err := b.store.Of(b.t.Context(), b.org, service)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, p := range list {
		if p.Kind == kind {
			return p
		}
	}
	return provision.Progress{}
}

func (b *bench) want(service uuid.UUID, kind driver.Kind, state provision.State) provision.Progress {
	b.t.Helper()
	p := b.of(service, kind)
	if p.State != state {
		b.t.Fatalf("%s is %q, want %q: %+v", kind, p.State, state, p)
	}
	return p
}

func (b *bench) status(machine uuid.UUID) string {
	b.t.Helper()
	return fixture.Get[string](b.t, b.owner, "select status from machines where id = $1", machine)
}

// fake is a driver that answers as it is told, and remembers what it was asked.
type fake struct {
	mu     sync.Mutex
	asked  []string // begin or look, kind and attempt
	tasks  []driver.Task
	answer func(op string, t driver.Task) (driver.Progress, error)
}

func (f *fake) Name() string { return "fake" }

func (f *fake) Begin(ctx context.Context, t driver.Task) (driver.Progress, error) {
	return f.ask(ctx, "begin", t)
}

func (f *fake) Look(ctx context.Context, t driver.Task) (driver.Progress, error) {
	return f.ask(ctx, "look", t)
}

func (f *fake) ask(ctx context.Context, op string, t driver.Task) (driver.Progress, error) {
	if err := driver.Check(ctx); err != nil {
		return driver.Progress{}, err
	}
	f.mu.Lock()
	f.asked = append(f.asked, fmt.Sprintf("%s %s %d", op, t.Kind, t.Attempt))
	f.tasks = append(f.tasks, t)
	answer := f.answer
	f.mu.Unlock()
	if answer == nil {
		return driver.Progress{State: driver.Done}, nil
	}
	return answer(op, t)
}

// says lets the driver give these answers, one after the other, the last again and again.
func (f *fake) says(list ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.tasks = nil, nil
	n := 0
	f.answer = func(string, driver.Task) (driver.Progress, error) {
		v := list[min(n, len(list)-1)]
		n++
		switch v := v.(type) {
		case error:
			return driver.Progress{}, v
		case driver.Progress:
			return v, nil
		}
		return driver.Progress{}, errors.New("no answer")
	}
}

var (
	running = driver.Progress{State: driver.Running, Step: "installing", Percent: 40, Detail: "half way"}
	done    = driver.Progress{State: driver.Done, Percent: 100}
	failed  = driver.Progress{State: driver.Failed, Detail: "the disk is broken"}
)
