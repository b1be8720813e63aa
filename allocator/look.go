package allocator

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// candidate is a machine that a look found free.
type candidate struct {
	ID       uuid.UUID
	AssetTag string
	ClassID  int
	at       int // index into the ranked classes
}

// looker finds candidates for one order. It remembers where the order starts among equals and
// which machines it has tried.
type looker struct {
	org    uuid.UUID
	ranked *ranking
	start  int32 // the lot drawn
	only   *uuid.UUID
	policy struct{ window, granted, ceiling time.Duration }
	tried  []uuid.UUID

	from, size int // the classes that are probed next
}

// findCandidates probes each class of a chunk through its index, from the drawn lot on and then
// from the beginning. The occupancy is asked machine by machine through scalar subqueries: as a
// join the planner would read every open hold. A machine that this organisation has held for as
// long as it may is not its candidate.
const findCandidates = `
select m.id, m.asset_tag, c.class_id, c.at
  from unnest($1::int[], $2::int[], $3::int[]) as c(class_id, rank, at)
 cross join lateral (
   (select m.id, m.asset_tag, m.lot, 0 as wrapped from machines m
     where m.class_id = c.class_id and m.status = 'ready' and m.lot >= $4
       and ($5::uuid is null or m.id = $5) and m.id <> all($6::uuid[])
       and (select 1 from holds h where h.machine_id = m.id and h.state = 'held' and h.expires_at > clock_timestamp() limit 1) is null
       and (select 1 from services s where s.machine_id = m.id and s.ended_at is null limit 1) is null
       and (select coalesce(sum(greatest(h.expires_at - h.created_at, interval '0')), interval '0') from holds h
             where h.machine_id = m.id and h.org_id = $7 and h.created_at > clock_timestamp() - $8::interval) + $9::interval <= $10::interval
     order by m.lot, m.id limit $11)
   union all
   (select m.id, m.asset_tag, m.lot, 1 as wrapped from machines m
     where m.class_id = c.class_id and m.status = 'ready' and m.lot < $4
       and ($5::uuid is null or m.id = $5) and m.id <> all($6::uuid[])
       and (select 1 from holds h where h.machine_id = m.id and h.state = 'held' and h.expires_at > clock_timestamp() limit 1) is null
       and (select 1 from services s where s.machine_id = m.id and s.ended_at is null limit 1) is null
       and (select coalesce(sum(greatest(h.expires_at - h.created_at, interval '0')), interval '0') from holds h
             where h.machine_id = m.id and h.org_id = $7 and h.created_at > clock_timestamp() - $8::interval) + $9::interval <= $10::interval
     order by m.lot, m.id limit $11)
   limit $11) m
 order by c.rank, m.wrapped, m.lot, m.id
 limit $11`

// firstChunk is how many classes one statement probes at first; each further one takes four times
// as many, since most orders are served by their best classes.
const firstChunk = 8

func (a *Allocator) newLooker(org uuid.UUID, r *ranking, only *uuid.UUID) *looker {
	l := &looker{org: org, ranked: r, only: only, start: rand.Int32N(math.MaxInt32), tried: []uuid.UUID{}}
	l.policy.window, l.policy.granted, l.policy.ceiling = a.opt.Policy.Window, a.opt.Policy.Duration, a.opt.Policy.Ceiling
	return l
}

// look returns at most n candidates that were not tried, best first, as of statements that begin
// now.
func (l *looker) look(ctx context.Context, tx pgx.Tx, n int) ([]candidate, error) {
	l.from, l.size = 0, firstChunk
	return l.more(ctx, tx, n)
}

// more goes on behind the classes that were probed last, until it has n candidates or nothing is
// left.
func (l *looker) more(ctx context.Context, tx pgx.Tx, n int) ([]candidate, error) {
	var out []candidate
	for len(out) < n {
		b := &pgx.Batch{}
		found := l.queue(b, n-len(out))
		if found == nil {
			break
		}
		if err := pg.Pipeline(ctx, tx, b); err != nil {
			return nil, fmt.Errorf("look: %w", err)
		}
		out = append(out, found()...)
	}
	return out, nil
}

// queueFirst queues the probe of the best classes alone; more goes on behind them.
func (l *looker) queueFirst(b *pgx.Batch, n int) (found func() []candidate) {
	l.from, l.size = 0, firstChunk
	if found = l.queue(b, n); found == nil {
		found = func() []candidate { return nil }
	}
	return found
}

// queue queues the probe of the next classes; found gives the candidates after the batch has run.
// It is nil when no class is left.
func (l *looker) queue(b *pgx.Batch, n int) (found func() []candidate) {
	from, to := l.from, l.ranked.upTo(l.from+l.size)
	if to == from {
		return nil
	}
	// Never split equals: they are one pool.
	for to < len(l.ranked.done) && l.ranked.done[to].rank == l.ranked.done[to-1].rank {
		to++
	}
	l.from, l.size = to, l.size*4
	ids, ranks, at := make([]int32, 0, to-from), make([]int32, 0, to-from), make([]int32, 0, to-from)
	for i := from; i < to; i++ {
		ids = append(ids, int32(l.ranked.done[i].class.ID))
		ranks = append(ranks, int32(l.ranked.done[i].rank))
		at = append(at, int32(i))
	}
	var out []candidate
	b.Queue(findCandidates, ids, ranks, at, l.start, l.only, l.tried, l.org,
		l.policy.window, l.policy.granted, l.policy.ceiling, n).Query(func(rows pgx.Rows) (err error) {
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (candidate, error) {
			var c candidate
			err := row.Scan(&c.ID, &c.AssetTag, &c.ClassID, &c.at)
			return c, err
		})
		return err
	})
	return func() []candidate { return out }
}
