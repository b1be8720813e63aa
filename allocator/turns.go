package allocator

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// turns bounds the orders that run at once: in all, and of one organisation. Those of one
// organisation queue for its row anyway; without the second bound they would do so in all the
// places there are, and everybody else would wait with them.
type turns struct {
	all    chan struct{}
	perOrg int

	mu   sync.Mutex
	orgs map[uuid.UUID]*orgTurns
}

// orgTurns are the places of one organisation, and how many orders have or want one.
type orgTurns struct {
	places chan struct{}
	users  int
}

func newTurns(n int) *turns {
	return &turns{all: make(chan struct{}, n), perOrg: max(1, n/4), orgs: map[uuid.UUID]*orgTurns{}}
}

// take waits for a place; release gives it back. An error is that of ctx.
func (t *turns) take(ctx context.Context, org uuid.UUID) (release func(), err error) {
	t.mu.Lock()
	o := t.orgs[org]
	if o == nil {
		o = &orgTurns{places: make(chan struct{}, t.perOrg)}
		t.orgs[org] = o
	}
	o.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if o.users--; o.users == 0 {
			delete(t.orgs, org)
		}
	}
	for _, places := range []chan struct{}{o.places, t.all} {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			if places == t.all {
				<-o.places
			}
			leave()
			return nil, ctx.Err()
		}
	}
	return func() {
		<-t.all
		<-o.places
		leave()
	}, nil
}
