package holds_test

import (
	"context"
	"errors"
	"fmt"
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
)

var actor = pg.By{Actor: "test"}

// bench is one database with a book that connects as the application does.
type bench struct {
	t     testing.TB
	owner *pgxpool.Pool
	app   *pgxpool.Pool
	book  *holds.Book
	org   uuid.UUID // acme, with generous caps
	keys  atomic.Int64
}

func setup(t testing.TB, conns int32) *bench {
	t.Helper()
	owner := pgtest.DB(t)
	fixture.NoDeadlock(t, owner)
	b := &bench{t: t, owner: owner, app: fixture.App(t, owner, conns)}
	b.book = holds.New(b.app, holds.DefaultPolicy())
	b.org = fixture.Org(t, owner, "acme", 1000, 10000)
	return b
}

// machine adds a ready machine.
func (b *bench) machine() uuid.UUID {
	b.t.Helper()
	return fixture.Add(b.t, b.owner, fixture.Machine{Tag: fmt.Sprintf("M%d", b.keys.Add(1))})[0]
}

// hold holds the machine for org until left from now on, by plain SQL.
func (b *bench) hold(org, machine uuid.UUID, left time.Duration) uuid.UUID {
	b.t.Helper()
	return fixture.Get[uuid.UUID](b.t, b.owner, `
insert into holds (org_id, machine_id, idempotency_key, price_month_minor, expires_at)
values ($1, $2, $3, 4000, clock_timestamp() + $4::interval) returning id`, org, machine, fmt.Sprint("key-", b.keys.Add(1)), left)
}

// pass lets the deadline of a live hold lie in the past: what otherwise takes minutes. The guard
// allows no deadline that lies behind to be moved, so this goes past it.
func (b *bench) pass(hold uuid.UUID) {
	b.t.Helper()
	b.force("update holds set created_at = created_at - interval '1 hour', expires_at = clock_timestamp() - interval '1 second' where id = $1", hold)
}

// force runs one statement without triggers.
func (b *bench) force(sql string, args ...any) {
	b.t.Helper()
	ctx := b.t.Context()
	tx, err := b.owner.Begin(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, "set local session_replication_role = replica"); err != nil {
		b.t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	if err := tx.Commit(ctx); err != nil {
		b.t.Fatal(err)
	}
}

// now is the database's clock.
func (b *bench) now() time.Time {
	b.t.Helper()
	return fixture.Get[time.Time](b.t, b.owner, "select clock_timestamp()")
}

func (b *bench) state(hold uuid.UUID) holds.State {
	b.t.Helper()
	return holds.State(fixture.Get[string](b.t, b.owner, "select state from holds where id = $1", hold))
}

// steps are those that a deadline decides about, with the state that each leaves behind.
var steps = []struct {
	name  string
	after holds.State
	run   func(ctx context.Context, book *holds.Book, s holds.Scope, hold uuid.UUID) error
}{
	{"convert", holds.Converted, func(ctx context.Context, book *holds.Book, s holds.Scope, hold uuid.UUID) error {
		_, _, err := book.Convert(ctx, actor, s, hold)
		return err
	}},
	{"extend", holds.Held, func(ctx context.Context, book *holds.Book, s holds.Scope, hold uuid.UUID) error {
		_, err := book.Extend(ctx, actor, s, hold, "extension")
		return err
	}},
	{"cancel", holds.Cancelled, func(ctx context.Context, book *holds.Book, s holds.Scope, hold uuid.UUID) error {
		_, err := book.Cancel(ctx, actor, s, hold, "test")
		return err
	}},
}

// kind is the refusal in err, "" for none; any other error ends the test.
func kind(t testing.TB, err error) holds.RefusedKind {
	t.Helper()
	if err == nil {
		return ""
	}
	r, ok := errors.AsType[*holds.Refused](err)
	if !ok {
		t.Errorf("a fault, not an answer: %v", err)
		return "fault"
	}
	return r.Kind
}

// together runs f n times at once.
func together(n int, f func(i int)) {
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-gate
			f(i)
		})
	}
	close(gate)
	wg.Wait()
}

// refused is the refusal in err; anything else ends the test.
func refused(t testing.TB, err error) *holds.Refused {
	t.Helper()
	r, ok := errors.AsType[*holds.Refused](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return r
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }
