package allocator_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
)

// traced follows the statements of one operation: it travels in the operation's context, so that
// what else uses the pool is not stopped. Before statement number at (0 is the first) it calls
// pause once, on the goroutine of the operation.
type traced struct {
	at    int
	pause func(sql string)
	every func(sql string) // before each statement; may be nil

	backend atomic.Uint32 // server process of the connection used last
	mu      sync.Mutex
	seen    []string
	paused  bool
}

type tracedKey struct{}

// under makes ctx that of an operation followed by tr. A stepped operation sends its statements
// one by one.
func (tr *traced) under(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, tracedKey{}, tr)
	if tr.pause != nil {
		ctx = pg.Unbatched(ctx)
	}
	return ctx
}

func (tr *traced) before(conn *pgx.Conn, sql string) {
	tr.backend.Store(conn.PgConn().PID())
	tr.mu.Lock()
	n := len(tr.seen)
	tr.seen = append(tr.seen, sql)
	now := tr.pause != nil && !tr.paused && n == tr.at
	tr.paused = tr.paused || now
	tr.mu.Unlock()
	if now {
		tr.pause(sql)
	}
	if tr.every != nil {
		tr.every(sql)
	}
}

// statements is how many the operation has sent.
func (tr *traced) statements() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.seen)
}

// tracer hands each statement to the operation that its context belongs to.
type tracer struct{}

func (tracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	if tr, ok := ctx.Value(tracedKey{}).(*traced); ok {
		tr.before(conn, d.SQL)
	}
	return ctx
}

func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (tracer) TraceBatchStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	if tr, ok := ctx.Value(tracedKey{}).(*traced); ok {
		sql := make([]string, len(d.Batch.QueuedQueries))
		for i, q := range d.Batch.QueuedQueries {
			sql[i] = q.SQL
		}
		tr.before(conn, strings.Join(sql, "; "))
	}
	return ctx
}

func (tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// tracedApp is fixture.App with the tracer.
func tracedApp(t testing.TB, owner *pgxpool.Pool, conns int32) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Connect(context.Background(), pgtest.LoginURL(t, owner.Config().ConnString()),
		pg.PoolOptions{Name: "stepped", MaxConns: conns, Tracer: tracer{}, LockTimeout: 8 * time.Second, IdleInTx: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// other is an operation that runs while another one is stopped between two statements.
type other struct {
	tr     traced
	done   chan struct{}
	answer string
	waited bool // it met a lock of the stopped one
}

// patience bounds how long a test waits for what must happen soon.
const patience = 20 * time.Second

// start begins the operation and returns when it has ended or waits for a lock. patient is how
// long an operation that does neither is watched: those that wait by sleeping show no lock.
func (o *other) start(ctx context.Context, watch *pgxpool.Conn, patient time.Duration, run func(context.Context) string) error {
	o.done = make(chan struct{})
	go func() {
		defer close(o.done)
		o.answer = run(o.tr.under(ctx))
	}()
	pause, end := time.NewTimer(0), time.After(patient)
	sent := 0
	for {
		pause.Reset(2 * time.Millisecond)
		select {
		case <-o.done:
			return nil
		case <-end:
			o.waited = true
			return nil
		case <-pause.C:
		}
		if n := o.tr.statements(); n != sent { // it goes on; no need to ask the server
			sent = n
			continue
		}
		var waits bool
		err := watch.QueryRow(ctx, "select exists (select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock' and wait_event <> 'extend')",
			o.tr.backend.Load()).Scan(&waits)
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		if waits {
			o.waited = true
			return nil
		}
	}
}

func (o *other) wait() error {
	select {
	case <-o.done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the second operation has not ended after %s", patience)
	}
}
