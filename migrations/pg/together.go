package pg

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Together lets those who ask at the same moment be answered by one reading of the database. A
// reading is only given to those who asked before it began, so that it is as fresh for each of them
// as a reading of its own: what was committed before somebody asked is seen.
type Together[Q, A any] struct {
	mu   sync.Mutex
	next *reading[Q, A] // has not begun: who comes now may join
	turn chan struct{}  // one reading at a time; meanwhile the next one gathers
}

type reading[Q, A any] struct {
	done chan struct{}
	asks []Q // of those who joined; with mu until it begins
	a    A
	err  error
}

// NewTogether makes a Together.
func NewTogether[Q, A any]() *Together[Q, A] {
	return &Together[Q, A]{turn: make(chan struct{}, 1)}
}

// errNotBegun is told to those who had joined a reading whose leader went away.
var errNotBegun = errors.New("the reading never began")

// Ask joins the reading that has not begun yet, or leads one. read is run by the leader with what all
// who joined ask, under a context that the leader's end does not cancel: the others still want the
// answer. An error is ctx's or read's.
func (t *Together[Q, A]) Ask(ctx context.Context, read func(context.Context, []Q) (A, error), asks ...Q) (A, error) {
	var none A
	for {
		t.mu.Lock()
		r := t.next
		if r == nil {
			r = &reading[Q, A]{asks: asks, done: make(chan struct{}), err: errNotBegun}
			t.next = r
			t.mu.Unlock()
			t.lead(ctx, r, read)
		} else {
			r.asks = append(r.asks, asks...)
			t.mu.Unlock()
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return none, ctx.Err()
		}
		if !errors.Is(r.err, errNotBegun) {
			return r.a, r.err
		}
		if ctx.Err() != nil {
			return none, ctx.Err()
		}
	}
}

func (t *Together[Q, A]) lead(ctx context.Context, r *reading[Q, A], read func(context.Context, []Q) (A, error)) {
	defer close(r.done)
	begin := func() { // from here on nobody joins
		t.mu.Lock()
		t.next = nil
		t.mu.Unlock()
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		begin()
		return
	}
	begin()
	// The pool's statement timeout bounds a statement; this bounds the wait for a connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	r.a, r.err = read(ctx, r.asks)
}
