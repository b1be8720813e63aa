package allocator

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// flaky is a database that can be away, or lose the answer to a commit.
type flaky struct {
	pg.DB
	away   atomic.Bool
	silent atomic.Int32 // commits whose answer is to be lost
}

func (f *flaky) Begin(ctx context.Context) (pgx.Tx, error) {
	if f.away.Load() {
		return nil, fmt.Errorf("no connection: %w", io.ErrUnexpectedEOF)
	}
	tx, err := f.DB.Begin(ctx)
	return &flakyTx{Tx: tx, f: f}, err
}

type flakyTx struct {
	pgx.Tx
	f *flaky
}

func (tx *flakyTx) Commit(ctx context.Context) error {
	err := tx.Tx.Commit(ctx)
	if err == nil && tx.f.silent.Add(-1) >= 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

func TestAttemptsWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	me := fixture.Org(t, owner, "me", 5, 5)
	var told bytes.Buffer
	db := &flaky{DB: fixture.App(t, owner, 4)}
	db.away.Store(true)
	a := New(db, Options{Logger: slog.New(slog.NewTextHandler(&told, nil))})
	res := order(t, a, me, "k", Request{})
	if res.Outcome != Busy || res.AttemptID == uuid.Nil {
		t.Fatalf("%+v", res)
	}
	time.Sleep(4 * logEvery)
	db.away.Store(false)
	time.Sleep(2 * logEvery)
	got, err := a.Attempt(t.Context(), res.AttemptID)
	if err != nil || got.Outcome != Busy || got.ArrivedAt != nil {
		t.Errorf("%+v, %v", got, err)
	}
	a.Close(t.Context())
	if n := strings.Count(told.String(), "attempts are not written for now"); n != 1 {
		t.Errorf("told %d times:\n%s", n, told.String())
	}
}

// TestAttemptLogIsBounded: with the database away for long the newest attempts are kept, the older
// ones dropped, and the process's log tells how many.
func TestAttemptLogIsBounded(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	var told bytes.Buffer
	db := &flaky{DB: fixture.App(t, owner, 2)}
	db.away.Store(true)
	l := newAttemptLog(db, slog.New(slog.NewTextHandler(&told, nil)))
	const n = logMax * 5 / 2
	for i := range n {
		l.add(t.Context(), logged(i))
		if i%1000 == 0 {
			l.mu.Lock()
			if len(l.rows) > logMax {
				t.Fatalf("%d rows wait", len(l.rows))
			}
			l.mu.Unlock()
		}
	}
	time.Sleep(2 * logEvery)
	db.away.Store(false)
	(&Allocator{log: l}).Close(t.Context())
	kept := fixture.Get[int](t, owner, "select count(*)::int from allocation_attempts")
	distinct := fixture.Get[int](t, owner, "select count(distinct id)::int from allocation_attempts")
	newest := fixture.Get[int](t, owner, "select count(*)::int from allocation_attempts where took_us >= $1", n-logMax*9/10)
	if kept > logMax || kept != distinct || newest != logMax*9/10 {
		t.Errorf("kept %d (%d distinct), %d of the newest", kept, distinct, newest)
	}
	if !strings.Contains(told.String(), fmt.Sprintf("dropped=%d", n-kept)) {
		t.Errorf("kept %d of %d, told:\n%s", kept, n, told.String())
	}
}

// TestAttemptLogOddRows: a row that the server refuses does not take the others with it, and a
// commit whose answer was lost is not written twice.
func TestAttemptLogOddRows(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	var told bytes.Buffer
	db := &flaky{DB: fixture.App(t, owner, 2)}
	db.away.Store(true)
	l := newAttemptLog(db, slog.New(slog.NewTextHandler(&told, nil)))
	for i := range 300 {
		r := logged(i)
		if i%100 == 50 {
			r.Actor = "not \x00 text"
		}
		l.add(t.Context(), r)
	}
	db.silent.Store(1)
	db.away.Store(false)
	time.Sleep(3 * logEvery)
	(&Allocator{log: l}).Close(t.Context())
	if n := fixture.Get[int](t, owner, "select count(*)::int from allocation_attempts"); n != 297 {
		t.Errorf("%d rows, want 297", n)
	}
	if n := strings.Count(told.String(), "an attempt cannot be written"); n != 3 {
		t.Errorf("told %d times:\n%s", n, told.String())
	}
}

// logged is a row whose took_us is its number.
func logged(i int) attemptRow {
	return attemptRow{ID: uuid.Must(uuid.NewV7()), At: time.Now(), OrgID: uuid.New(), Actor: "test", Key: "k", Outcome: NoneLeft,
		Request: []byte("{}"), TookMicros: int64(i)}
}

// tracedPool is an application's pool that calls f before each statement.
func tracedPool(t *testing.T, owner *pgxpool.Pool, f func(sql string)) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Connect(context.Background(), pgtest.LoginURL(t, owner.Config().ConnString()),
		pg.PoolOptions{Name: "traced", MaxConns: 2, Tracer: tracer(f)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

type tracer func(sql string)

func (f tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	f(d.SQL)
	return ctx
}

func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (f tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		f(q.SQL)
	}
	return ctx
}

func (tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
