package holds

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Usage is what an organisation has at this moment: the numbers that its caps limit.
type Usage struct {
	LiveHolds int `db:"live_holds"` // overdue ones do not count
	Services  int `db:"services"`   // active ones
}

// Machines is what the cap on machines counts.
func (u Usage) Machines() int { return u.LiveHolds + u.Services }

// Usage counts live holds and active services of the organisation.
func (b *Book) Usage(ctx context.Context, org uuid.UUID) (u Usage, err error) {
	err = b.read(ctx, Scope{OrgID: org}, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, `
select (select count(*) from holds where org_id = $1 and state = 'held' and expires_at > clock_timestamp()) as live_holds,
       (select count(*) from services where org_id = $1 and ended_at is null) as services`, org)
		if err2 != nil {
			return err2
		}
		u, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Usage])
		return err
	})
	return u, err
}

// UsageByOrg counts for every organisation; one that has nothing is not in the map.
func (b *Book) UsageByOrg(ctx context.Context) (map[uuid.UUID]Usage, error) {
	out := map[uuid.UUID]Usage{}
	err := b.read(ctx, Scope{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
select org_id, sum(live)::int, sum(active)::int from (
  select org_id, count(*) as live, 0 as active from holds where state = 'held' and expires_at > clock_timestamp() group by org_id
  union all
  select org_id, 0, count(*) from services where ended_at is null group by org_id) x group by org_id`)
		if err != nil {
			return fmt.Errorf("usage: %w", err)
		}
		var id uuid.UUID
		var u Usage
		_, err = pgx.ForEachRow(rows, []any{&id, &u.LiveHolds, &u.Services}, func() error {
			out[id] = u
			return nil
		})
		return err
	})
	return out, err
}
