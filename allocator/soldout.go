package allocator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Where a request was refused a moment ago, most of those who come now will be refused too. They
// ask first, all in one look at the database that began after each of them had arrived: is there
// anything for this request, has the key its hold, is there anything about the organisation that
// would be said before "nothing is left". Whoever has neither a candidate nor any of those is
// refused by that look; the others go on into a transaction of their own, as if they had not asked.

// ask is one order's question.
type ask struct {
	org uuid.UUID
	key string
}

// askedOf answers asks.
type askedOf struct {
	keyed   map[ask]bool       // the key has its hold
	plain   map[uuid.UUID]bool // neither suspension nor cap nor cool-down decides the organisation's orders
	rollout map[uuid.UUID]func() *RolloutRefusal
}

// fleetDecides reports whether nothing but the fleet decides the order.
func (a askedOf) fleetDecides(q ask) bool {
	off := a.rollout[q.org]
	return !a.keyed[q] && a.plain[q.org] && (off == nil || off() == nil)
}

const selectKeyed = `
select a.org_id, a.key from unnest($1::uuid[], $2::text[]) as a(org_id, key)
 where (select 1 from holds h where h.org_id = a.org_id and h.idempotency_key = a.key limit 1) is not null`

// selectPlain lists the organisations of which no rule speaks before the fleet: not suspended, below
// the caps, no machine cooling down. No lock: whoever is refused by an older state than that of its
// own lock would have been refused a moment earlier, and what is found here holds no one.
//
// Each asks for an order that only the index by organisation has: where one organisation has most of
// the holds, another index would look as good and be read from end to end.
const selectPlain = `
select a.org_id
  from unnest($1::uuid[]) as a(org_id)
  join organisations o on o.id = a.org_id
  join org_limits l on l.org_id = a.org_id
 cross join lateral (
   select (select count(*) from (select 1 from holds h where h.org_id = a.org_id and h.state = 'held' and h.expires_at > clock_timestamp()
                                  order by h.expires_at limit l.max_holds) x) as live,
          (select count(*) from services s where s.org_id = a.org_id and s.ended_at is null) as active offset 0) c
 where o.suspended_at is null and c.live < l.max_holds and c.live + c.active < l.max_machines
   and not exists (
     select from (select h.machine_id, h.created_at, h.expires_at from holds h
                   where h.org_id = a.org_id and h.created_at > clock_timestamp() - $2::interval order by h.idempotency_key offset 0) h
      group by h.machine_id having sum(greatest(h.expires_at - h.created_at, interval '0')) + $3::interval > $4::interval)`

// queueAsks queues the questions of many on the batch that reads the fleet.
func (a *Allocator) queueAsks(b *pgx.Batch, asks []ask) askedOf {
	out := askedOf{keyed: map[ask]bool{}, plain: map[uuid.UUID]bool{}, rollout: map[uuid.UUID]func() *RolloutRefusal{}}
	orgs, keys := make([]uuid.UUID, len(asks)), make([]string, len(asks))
	seen := map[uuid.UUID]bool{}
	var distinct []uuid.UUID
	for i, q := range asks {
		orgs[i], keys[i] = q.org, q.key
		if !seen[q.org] {
			seen[q.org] = true
			distinct = append(distinct, q.org)
		}
	}
	// These probe single rows, with plans that are kept: see pg.BeginEngine.
	b.Queue("select set_config('enable_seqscan', 'off', true)")
	// The keys after the fleet: a sibling that took the last machine is found by its key.
	b.Queue(selectKeyed, orgs, keys).Query(func(rows pgx.Rows) error {
		var q ask
		_, err := pgx.ForEachRow(rows, []any{&q.org, &q.key}, func() error {
			out.keyed[q] = true
			return nil
		})
		return err
	})
	p := a.opt.Policy
	b.Queue(selectPlain, distinct, p.Window, p.Duration, p.Ceiling).Query(func(rows pgx.Rows) error {
		var org uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&org}, func() error {
			out.plain[org] = true
			return nil
		})
		return err
	})
	if a.opt.Precondition != nil {
		for _, org := range distinct {
			out.rollout[org] = a.opt.Precondition(b, org)
		}
	}
	return out
}

// refuseTogether is the refusal by a look that many share, done is false when the order needs a
// transaction of its own.
func (r *run) refuseTogether(ctx context.Context) (res Result, done bool, err error) {
	if r.simulated || r.o.Request.Machine != "" || r.o.OverrideCoolDown != "" || !r.a.refused.lately(r.body) {
		return Result{}, false, nil
	}
	r.leaveTurn() // those who wait for a look take no part of the database
	r.together = true
	q := ask{r.o.OrgID, r.o.Key}
	look, err := r.a.looks.Ask(ctx, r.a.lookAtFleet, q)
	if err != nil {
		return Result{}, false, err
	}
	r.arrived = r.a.clock.when(r.began)
	if !look.asked.fleetDecides(q) {
		return Result{}, false, nil
	}
	s, err := look.surveyOnce(r.body, &r.o.Request)
	if err != nil {
		return Result{}, false, fmt.Errorf("shared look: %w", err)
	}
	if s.Eligible > 0 {
		r.a.refused.forget(r.body)
		return Result{}, false, nil
	}
	res, err = r.refuse(ctx, s)
	return res, err == nil, err
}

const (
	refusedFor = 2 * time.Second // how long a refusal is a reason to ask together first
	refusedMax = 1000            // different requests that are remembered
)

// refusedLately remembers which requests were refused for want of a machine. It decides nothing but
// which way an order takes first.
type refusedLately struct {
	mu sync.Mutex
	at map[string]time.Time // this process's monotonic clock
}

func (l *refusedLately) lately(body []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.at[string(body)]
	return ok && time.Since(at) < refusedFor
}

func (l *refusedLately) remember(body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil || len(l.at) >= refusedMax {
		l.at = map[string]time.Time{}
	}
	l.at[string(body)] = time.Now()
}

func (l *refusedLately) forget(body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.at, string(body))
}
