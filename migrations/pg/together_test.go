package pg

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// A reading is only given to those who asked before it began, and it knows what they ask.
func TestAReadingBeganAfterAllWhoShareIt(t *testing.T) {
	t.Parallel()
	s := NewTogether[int64, []int64]()
	var clock, readings atomic.Int64
	read := func(_ context.Context, asks []int64) ([]int64, error) {
		readings.Add(1)
		return append(slices.Clone(asks), clock.Add(1)), nil
	}
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 50 {
				asked := clock.Add(1)
				a, err := s.Ask(t.Context(), read, asked)
				if err != nil || a[len(a)-1] <= asked || !slices.Contains(a[:len(a)-1], asked) {
					t.Errorf("asked at %d, answered by %v, %v", asked, a, err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d readings for %d questions", readings.Load(), 64*50)
}

// Whoever leads a reading and goes away takes nobody with it; a failed one fails for all who shared it.
func TestAReadingWithoutItsLeader(t *testing.T) {
	t.Parallel()
	s := NewTogether[int, int]()
	s.turn <- struct{}{} // a reading is under way
	ctx, leave := context.WithCancel(t.Context())
	led := make(chan error)
	go func() {
		_, err := s.Ask(ctx, func(context.Context, []int) (int, error) { return 0, nil })
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
		_, err := s.Ask(t.Context(), func(context.Context, []int) (int, error) { return 0, fault })
		followed <- err
	}()
	leave()
	if err := <-led; !errors.Is(err, context.Canceled) {
		t.Errorf("the leader: %v", err)
	}
	<-s.turn
	if err := <-followed; !errors.Is(err, fault) {
		t.Errorf("the follower: %v, want its own reading's fault", err)
	}
}
