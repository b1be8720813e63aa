package allocator

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
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

// stepping runs between before each batch but the first.
type stepping struct {
	pgx.Tx
	between func()
	sent    int
}

func (s *stepping) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if s.sent++; s.sent == 2 {
		s.between()
	}
	return s.Tx.SendBatch(ctx, b)
}

// What changed before the time that a look names is in it.
func TestALookNamesATimeThatItSaw(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	id := fixture.Add(t, db, fixture.Machine{Tag: "ONE"})[0]
	a := New(db, Options{})
	t.Cleanup(func() { a.Close(context.Background()) })
	var changed time.Time
	err := pg.Engine(t.Context(), db, pg.By{}, func(tx pgx.Tx) error {
		step := &stepping{Tx: tx, between: func() {
			changed = fixture.Get[time.Time](t, db, "update machines set status = 'maintenance', status_reason = 'fan' where id = $1 returning clock_timestamp()", id)
		}}
		l, err := a.lookAt(pg.Unbatched(t.Context()), step, uuid.Nil, a.opt.Policy, "")
		if err != nil {
			return err
		}
		if saw := l.groups[0].Status == "maintenance"; !saw && l.asOf.After(changed) {
			t.Errorf("as of %s it does not know what was so at %s", l.asOf, changed)
		}
		return nil
	})
	if err != nil || changed.IsZero() {
		t.Fatal(changed, err)
	}
}
