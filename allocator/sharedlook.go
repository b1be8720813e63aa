package allocator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// fleetLook is the whole fleet by class, status and occupancy, as one statement saw it. It says
// nothing of one organisation, so all who asked before it began may be answered by it.
type fleetLook struct {
	groups []group
	cat    *catalogue
	asOf   time.Time

	mu   sync.Mutex
	said map[string]surveyed // by request: those who want the same are told the same
}

// explain answers one request from the look. body is the request as canonical JSON.
func (l *fleetLook) explain(body []byte, r *Request) (surveyed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.said[string(body)]; ok {
		return s, nil
	}
	s, err := explain(r, l.groups, l.cat)
	if err != nil {
		return surveyed{}, err
	}
	s.AsOf = l.asOf
	l.said[string(body)] = s
	return s, nil
}

// sharedLooks lets those who ask at the same moment be answered by one look at the database. A
// look is only given to those who asked before it began, so that it is as fresh for each of them
// as a look of its own: what was committed before somebody asked is seen.
type sharedLooks struct {
	mu   sync.Mutex
	next *flight       // has not begun: who comes now may join
	turn chan struct{} // one look at a time; meanwhile the next one gathers
}

type flight struct {
	done chan struct{}
	look *fleetLook
	err  error
}

func newSharedLooks() *sharedLooks { return &sharedLooks{turn: make(chan struct{}, 1)} }

// errNotBegun is told to those who had joined a look whose leader went away.
var errNotBegun = errors.New("the look never began")

// take joins the look that has not begun yet, or leads one. read is run by the leader, under a
// context that the leader's end does not cancel: the others still want the answer.
func (s *sharedLooks) take(ctx context.Context, read func(context.Context) (*fleetLook, error)) (*fleetLook, error) {
	for {
		s.mu.Lock()
		f := s.next
		if f == nil {
			f = &flight{done: make(chan struct{}), err: errNotBegun}
			s.next = f
			s.mu.Unlock()
			s.lead(ctx, f, read)
		} else {
			s.mu.Unlock()
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !errors.Is(f.err, errNotBegun) {
			return f.look, f.err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

func (s *sharedLooks) lead(ctx context.Context, f *flight, read func(context.Context) (*fleetLook, error)) {
	defer close(f.done)
	begin := func() { // from here on nobody joins
		s.mu.Lock()
		s.next = nil
		s.mu.Unlock()
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		begin()
		return
	}
	begin()
	// The pool's statement timeout bounds the statement; this bounds the wait for a connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	f.look, f.err = read(ctx)
}

// lookAtFleet reads what sharedLooks share.
func (a *Allocator) lookAtFleet(ctx context.Context) (*fleetLook, error) {
	l := &fleetLook{said: map[string]surveyed{}}
	err := a.reading(ctx, func(tx pgx.Tx) (err error) {
		if l.groups, err = a.groups(ctx, tx, uuid.Nil, ""); err != nil {
			return err
		}
		// After the groups, so that every class they name is there.
		if l.cat, err = a.current(ctx, tx); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, "select clock_timestamp()").Scan(&l.asOf); err != nil {
			return fmt.Errorf("survey: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// selectCooling asks whether any machine is cooling down for an organisation: then the fleet looks
// different to it than to others, and it looks for itself.
const selectCooling = `
select exists (
  select from holds
   where org_id = $1 and created_at > clock_timestamp() - $2::interval
   group by machine_id
  having sum(greatest(expires_at - created_at, interval '0')) + $3::interval > $4::interval)`

// shares says whether a look that is not the organisation's own can answer the order.
func (r *run) shares(ctx context.Context) (bool, error) {
	if r.o.Request.Machine != "" {
		return false, nil
	}
	var cooling bool
	p := r.a.opt.Policy
	err := r.a.reading(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, selectCooling, r.o.OrgID, p.Window, p.Duration, p.Ceiling).Scan(&cooling)
	})
	if err != nil {
		return false, fmt.Errorf("cool-down: %w", err)
	}
	return !cooling, nil
}
