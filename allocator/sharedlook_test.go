package allocator

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// A look is only given to those who asked before it began.
func TestALookBeganAfterAllWhoShareIt(t *testing.T) {
	t.Parallel()
	s := newSharedLooks()
	var clock, looks atomic.Int64
	read := func(context.Context) (*fleetLook, error) {
		looks.Add(1)
		return &fleetLook{groups: []group{{Count: int(clock.Add(1))}}}, nil
	}
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 50 {
				asked := clock.Add(1)
				l, err := s.take(t.Context(), read)
				if err != nil || int64(l.groups[0].Count) <= asked {
					t.Errorf("asked at %d, answered by %v, %v", asked, l, err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d looks for %d questions", looks.Load(), 64*50)
}

// Whoever leads a look and goes away takes nobody with it; a failed look fails for all who shared it.
func TestALookWithoutItsLeader(t *testing.T) {
	t.Parallel()
	s := newSharedLooks()
	s.turn <- struct{}{} // a look is under way
	ctx, leave := context.WithCancel(t.Context())
	led := make(chan error)
	go func() {
		_, err := s.take(ctx, func(context.Context) (*fleetLook, error) { return nil, nil })
		led <- err
	}()
	for joined := false; !joined; {
		s.mu.Lock()
		joined = s.next != nil
		s.mu.Unlock()
	}
	followed := make(chan error)
	fault := errors.New("a fault")
	go func() {
		_, err := s.take(t.Context(), func(context.Context) (*fleetLook, error) { return nil, fault })
		followed <- err
	}()
	leave()
	if err := <-led; !errors.Is(err, context.Canceled) {
		t.Errorf("the leader: %v", err)
	}
	<-s.turn
	if err := <-followed; !errors.Is(err, fault) {
		t.Errorf("the follower: %v, want its own look's fault", err)
	}
}
