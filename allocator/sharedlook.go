package allocator

import (
	"context"
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
	asked  askedOf

	mu   sync.Mutex
	said map[string]func() (surveyed, error) // by request: those who want the same are told the same
}

// lookAt reads the fleet as an organisation sees it under a policy; uuid.Nil is nobody in particular.
// asks are answered by statements that begin after the fleet was read.
func (a *Allocator) lookAt(ctx context.Context, tx pgx.Tx, org uuid.UUID, p holds.Policy, machine string, asks ...ask) (*fleetLook, error) {
	l := &fleetLook{}
	var version int64
	b := &pgx.Batch{}
	sent := time.Now()
	b.Queue("select clock_timestamp()").QueryRow(func(row pgx.Row) error {
		err := row.Scan(&l.asOf)
		if err == nil {
			a.clock.read(l.asOf, sent, time.Now())
		}
		return err
	})
	b.Queue(selectGroups, org, p.Window, p.Duration, p.Ceiling, machine).Query(func(rows pgx.Rows) (err error) {
		l.groups, err = pgx.CollectRows(rows, pgx.RowToStructByName[group])
		return err
	})
	// After the groups, so that every class they name is there.
	b.Queue("select version from catalogue_version").QueryRow(func(row pgx.Row) error { return row.Scan(&version) })
	if len(asks) > 0 {
		l.asked = a.queueAsks(b, asks)
	}
	if err := pg.Pipeline(ctx, tx, b); err != nil {
		return nil, fmt.Errorf("look at the fleet: %w", err)
	}
	var err error
	l.cat, err = a.at(ctx, tx, version)
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

// lookAtFleet reads what many share, and answers what they ask beside it.
func (a *Allocator) lookAtFleet(ctx context.Context, asks []ask) (l *fleetLook, err error) {
	err = a.reading(ctx, func(tx pgx.Tx) error {
		l, err = a.lookAt(ctx, tx, uuid.Nil, a.opt.Policy, "", asks...)
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
