package allocator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
	"ironhold/migrations/pg"
)

// fleetLook is the whole fleet by class, status and occupancy, as one statement saw it. Without an
// organisation's own cool-down it says nothing of one organisation, so all who asked before it
// began may be answered by it.
type fleetLook struct {
	groups []group
	cat    *catalogue
	asOf   time.Time // the database's, before the statement: later changes are not in it

	mu   sync.Mutex
	said map[string]func() (surveyed, error) // by request: those who want the same are told the same
}

// lookAt reads the fleet as an organisation sees it under a policy; uuid.Nil is nobody in particular.
func (a *Allocator) lookAt(ctx context.Context, tx pgx.Tx, org uuid.UUID, p holds.Policy, machine string) (*fleetLook, error) {
	l := &fleetLook{}
	b := &pgx.Batch{}
	b.Queue("select clock_timestamp()").QueryRow(func(row pgx.Row) error { return row.Scan(&l.asOf) })
	b.Queue(selectGroups, org, p.Window, p.Duration, p.Ceiling, machine).Query(func(rows pgx.Rows) (err error) {
		l.groups, err = pgx.CollectRows(rows, pgx.RowToStructByName[group])
		return err
	})
	if err := pg.Pipeline(ctx, tx, b); err != nil {
		return nil, fmt.Errorf("look at the fleet: %w", err)
	}
	// After the groups, so that every class they name is there.
	var err error
	l.cat, err = a.current(ctx, tx)
	return l, err
}

// survey answers one request from the look.
func (l *fleetLook) survey(r *Request) (surveyed, error) {
	s, err := explain(r, l.groups, l.cat)
	s.AsOf = l.asOf
	return s, err
}

// surveyOnce is survey for many at once; body is the request as canonical JSON.
func (l *fleetLook) surveyOnce(body []byte, r *Request) (surveyed, error) {
	l.mu.Lock()
	if l.said == nil {
		l.said = map[string]func() (surveyed, error){}
	}
	answer := l.said[string(body)]
	if answer == nil {
		answer = sync.OnceValues(func() (surveyed, error) { return l.survey(r) })
		l.said[string(body)] = answer
	}
	l.mu.Unlock()
	return answer()
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
func (a *Allocator) lookAtFleet(ctx context.Context) (l *fleetLook, err error) {
	err = a.reading(ctx, func(tx pgx.Tx) error {
		l, err = a.lookAt(ctx, tx, uuid.Nil, a.opt.Policy, "")
		return err
	})
	return l, err
}

// selectCooling asks whether any machine is cooling down for an organisation: then the fleet looks
// different to it than to others, and it looks for itself.
const selectCooling = `
select exists (
  select from holds
   where org_id = $1 and created_at > clock_timestamp() - $2::interval
   group by machine_id
  having sum(greatest(expires_at - created_at, interval '0')) + $3::interval > $4::interval)`

// queueCooling asks whether the order has to look for itself; an overridden cool-down is none.
func (r *run) queueCooling(b *pgx.Batch) *bool {
	cooling := new(bool)
	if p := r.policy(); r.o.OverrideCoolDown == "" {
		b.Queue(selectCooling, r.o.OrgID, p.Window, p.Duration, p.Ceiling).QueryRow(func(row pgx.Row) error { return row.Scan(cooling) })
	}
	return cooling
}
