package allocator_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/allocator"
	"ironhold/migrations/pgtest/fixture"
)

// losing is a pool whose next commit loses its answer: before it arrived, after it was done, or
// while it takes its time.
type losing struct {
	*pgxpool.Pool
	how  func(ctx context.Context, tx pgx.Tx)
	left *atomic.Int32 // how many commits to lose
}

func (l losing) BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	tx, err := l.Pool.BeginTx(ctx, o)
	return losingTx{tx, l}, err
}

type losingTx struct {
	pgx.Tx
	l losing
}

func (t losingTx) Commit(ctx context.Context) error {
	if t.l.left.Add(-1) < 0 {
		return t.Tx.Commit(ctx)
	}
	t.l.how(context.WithoutCancel(ctx), t.Tx)
	return io.ErrUnexpectedEOF
}

// TestLostAnswerToTheCommit: an order never says failed when it may have succeeded. It finds out
// behind the organisation's lock, since without it a look finds nothing while the commit is still
// on its way; the same key gives the same hold later in any case.
func TestLostAnswerToTheCommit(t *testing.T) { // case 24
	t.Parallel()
	for name, c := range map[string]struct {
		how  func(ctx context.Context, tx pgx.Tx)
		want allocator.Outcome
		then allocator.Outcome
	}{
		"done": {func(ctx context.Context, tx pgx.Tx) { _ = tx.Commit(ctx) }, allocator.Held, allocator.Replayed},
		"late": {func(ctx context.Context, tx pgx.Tx) {
			go func() {
				time.Sleep(300 * time.Millisecond)
				_ = tx.Commit(ctx)
			}()
		}, allocator.Held, allocator.Replayed},
		"never": {func(ctx context.Context, tx pgx.Tx) { _ = tx.Rollback(ctx) }, allocator.Busy, allocator.Held},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 4, allocator.Options{})
			org := fixture.Org(t, b.owner, "acme", 5, 50)
			fixture.Equal(t, b.owner, "m", 3)
			var left atomic.Int32
			b.alloc = allocator.New(losing{b.app, c.how, &left}, allocator.Options{})
			t.Cleanup(func() { b.alloc.Close(context.Background()) })
			if _, err := b.alloc.Offers(t.Context(), allocator.OfferQuery{}); err != nil { // reads the classes
				t.Fatal(err)
			}
			left.Store(1)
			first := b.order(org, "k", allocator.Request{})
			if first.Outcome != c.want {
				t.Errorf("the answer is %s, want %s", first.Outcome, c.want)
			}
			then := b.order(org, "k", allocator.Request{})
			if then.Outcome != c.then || first.Hold != nil && then.Hold.ID != first.Hold.ID {
				t.Errorf("the same key gives %s %+v", then.Outcome, then.Hold)
			}
			if n := fixture.Get[int](t, b.owner, "select count(*) from holds"); n != 1 {
				t.Errorf("%d holds", n)
			}
		})
	}
}
