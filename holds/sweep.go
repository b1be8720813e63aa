package holds

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// sweepBatch bounds one transaction of the sweep, so that what it locks is given back soon.
const sweepBatch = 500

// Sweep expires overdue holds in batches, each its own transaction, until none is left that nobody
// else has locked. It returns how many it expired, also when it stops with an error.
func (b *Book) Sweep(ctx context.Context) (int, error) {
	total := 0
	for {
		n, err := b.sweepOnce(ctx)
		total += n
		if err != nil || n < sweepBatch {
			return total, err
		}
	}
}

func (b *Book) sweepOnce(ctx context.Context) (int, error) {
	n := 0
	err := pg.Engine(ctx, b.db, pg.By{Actor: "sweep"}, func(tx pgx.Tx) error {
		// Holds alone are locked, and none is waited for: a step that holds one decides it. The state
		// is asked in the words of the index by deadline, and the clock is read once, so that the
		// live holds are not read.
		tag, err := tx.Exec(ctx, `
with due as (
  select id from holds where state || '' = 'held' and expires_at <= (select clock_timestamp())
   order by expires_at limit $1 for no key update skip locked)
update holds h set state = 'expired', closed_at = clock_timestamp(), closed_by = 'sweep',
       close_reason = 'the deadline passed'
  from due where h.id = due.id and h.state = 'held'`, sweepBatch)
		n = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	return n, nil
}

// OldestOverdue returns the age of the oldest overdue hold in seconds, 0 when there is none: the
// sweep's lag.
func (b *Book) OldestOverdue(ctx context.Context) (float64, error) {
	var age float64
	err := pg.Engine(ctx, b.db, pg.By{}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
select coalesce(extract(epoch from clock_timestamp() - min(expires_at)), 0)::float8
  from holds where state || '' = 'held' and expires_at <= (select clock_timestamp())`).Scan(&age)
	})
	if err != nil {
		return 0, fmt.Errorf("oldest overdue hold: %w", err)
	}
	return age, nil
}
