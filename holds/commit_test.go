package holds_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/holds"
)

// losing is a pool one of whose commits loses its answer.
type losing struct {
	*pgxpool.Pool
	how   func(ctx context.Context, tx pgx.Tx)
	after *atomic.Int32 // so many commits go well before
}

func (l losing) BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	tx, err := l.Pool.BeginTx(ctx, o)
	return &losingTx{Tx: tx, l: l}, err
}

type losingTx struct {
	pgx.Tx
	l    losing
	lost bool
}

// Rollback of a transaction whose connection is gone reaches nobody.
func (t *losingTx) Rollback(ctx context.Context) error {
	if t.lost {
		return pgx.ErrTxClosed
	}
	return t.Tx.Rollback(ctx)
}

func (t *losingTx) Commit(ctx context.Context) error {
	if t.l.after.Add(-1) != -1 {
		return t.Tx.Commit(ctx)
	}
	t.lost = true
	t.l.how(context.WithoutCancel(ctx), t.Tx)
	return io.ErrUnexpectedEOF
}

// TestLostAnswerToTheCommit: a step whose commit happened is answered as taken, also when it
// happened a moment later; one whose commit did not happen is answered with busy, and can be taken
// again.
func TestLostAnswerToTheCommit(t *testing.T) {
	t.Parallel()
	b := setup(t, 6)
	for _, step := range steps {
		for name, c := range map[string]struct {
			how  func(ctx context.Context, tx pgx.Tx)
			want holds.RefusedKind
		}{
			"done": {func(ctx context.Context, tx pgx.Tx) { _ = tx.Commit(ctx) }, ""},
			"late": {func(ctx context.Context, tx pgx.Tx) {
				go func() {
					time.Sleep(200 * time.Millisecond)
					_ = tx.Commit(ctx)
				}()
			}, ""},
			"never": {func(ctx context.Context, tx pgx.Tx) { _ = tx.Rollback(ctx) }, holds.Busy},
		} {
			t.Run(step.name+"/"+name, func(t *testing.T) {
				hold := b.hold(b.org, b.machine(), 10*time.Minute)
				before, err := b.book.Get(t.Context(), holds.Scope{}, hold)
				if err != nil {
					t.Fatal(err)
				}
				var after atomic.Int32
				after.Store(1) // that of the look at the hold
				book := holds.New(losing{b.app, c.how, &after}, holds.DefaultPolicy())
				if got := kind(t, step.run(t.Context(), book, holds.Scope{OrgID: b.org}, hold)); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				b.settled(t, step.name, step.after, hold, before.ExpiresAt, c.want)
				if got := kind(t, step.run(t.Context(), b.book, holds.Scope{OrgID: b.org}, hold)); got != "" {
					t.Errorf("taken again: %q", got)
				}
			})
		}
	}
}
