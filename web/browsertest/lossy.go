package browsertest

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// lossy is the pool through which a site takes orders. Once told to, it loses the answers to the
// commits of orders that hold a machine, and lets these commits wait: no timer decides what a test sees.
type lossy struct {
	*pgxpool.Pool
	open atomic.Pointer[chan struct{}] // closed when the commits may happen; nil: nothing is lost
	late sync.WaitGroup                // commits that wait or happen
}

// hang begins to lose commits. What it returns lets them happen, and waits for them.
func (l *lossy) hang(t testing.TB) (release func()) {
	open := make(chan struct{})
	l.open.Store(&open)
	release = sync.OnceFunc(func() {
		l.open.Store(nil)
		close(open)
		l.late.Wait()
	})
	t.Cleanup(release)
	return release
}

// BeginTx begins a transaction whose commit may be lost.
func (l *lossy) BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	tx, err := l.Pool.BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	return &lossyTx{Tx: tx, pool: l}, nil
}

type lossyTx struct {
	pgx.Tx
	pool *lossy
}

// Commit is the transaction's, or lost.
func (t *lossyTx) Commit(ctx context.Context) error {
	open := t.pool.open.Load()
	if open == nil {
		return t.Tx.Commit(ctx)
	}
	var holds bool
	if err := t.QueryRow(ctx, "select exists (select from holds where created_at >= now())").Scan(&holds); err != nil {
		return err
	}
	if !holds {
		return t.Tx.Commit(ctx)
	}
	// As a commit on its way, it is not ended for being idle.
	if _, err := t.Exec(ctx, "set local idle_in_transaction_session_timeout = 0"); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	t.pool.late.Go(func() {
		<-*open
		_ = t.Tx.Commit(ctx) // whether it happened is what the pages find out
	})
	return io.ErrUnexpectedEOF
}
