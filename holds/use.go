package holds

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Use is how much of its caps an organisation uses.
type Use struct {
	Live   int // live holds
	Active int // active services
}

// Use counts for every organisation; one without any is not in the map.
func (b *Book) Use(ctx context.Context) (map[uuid.UUID]Use, error) {
	out := map[uuid.UUID]Use{}
	err := b.read(ctx, Scope{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
select org_id, sum(live)::int, sum(active)::int from (
  select org_id, count(*) as live, 0 as active from holds where state = 'held' and expires_at > clock_timestamp() group by org_id
  union all
  select org_id, 0, count(*) from services where ended_at is null group by org_id) x group by org_id`)
		if err != nil {
			return fmt.Errorf("use: %w", err)
		}
		var id uuid.UUID
		var u Use
		_, err = pgx.ForEachRow(rows, []any{&id, &u.Live, &u.Active}, func() error {
			out[id] = u
			return nil
		})
		return err
	})
	return out, err
}
