package allocator

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Minute is what became of the orders of one minute.
type Minute struct {
	At                       time.Time `db:"at"`
	Held, Refused, Undecided int
}

// Tally counts the orders of the last minutes by what became of them, oldest first, minutes without
// any included, of all processes. Source: the attempts; those of the last second may be missing.
func Tally(ctx context.Context, db pg.DB, minutes int) ([]Minute, error) {
	var out []Minute
	err := pg.Engine(ctx, db, pg.By{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			with span as (select date_trunc('minute', clock_timestamp()) - make_interval(mins => $1 - 1) as first)
			select m.at, count(*) filter (where t.outcome in ('held', 'replayed'))::int as held,
			       count(*) filter (where t.outcome not in ('held', 'replayed', 'busy', 'checking'))::int as refused,
			       count(*) filter (where t.outcome in ('busy', 'checking'))::int as undecided
			  from span cross join generate_series(span.first, span.first + make_interval(mins => $1 - 1), interval '1 minute') as m (at)
			  left join allocation_attempts t on t.at >= span.first and date_trunc('minute', t.at) = m.at
			 group by m.at order by m.at`, minutes)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[Minute])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("tally of orders: %w", err)
	}
	return out, nil
}
