package rollout

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Change is one entry of the rollout's history. OrgID is nil for a change of the launch.
type Change struct {
	At      time.Time  `db:"at"`
	OrgID   *uuid.UUID `db:"org_id"`
	OrgSlug string     `db:"org_slug"`
	Actor   string     `db:"actor"` // as in pg.By
	Before  string     `db:"before"`
	After   string     `db:"after"`
}

// History returns the changes that concern an organisation, its own and the launch's, newest
// first; for the zero organisation those of everybody.
func (s *Store) History(ctx context.Context, org uuid.UUID, limit int) (list []Change, err error) {
	err = pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select e.at, e.org_id, coalesce(o.slug, '') as org_slug, e.actor, e.before, e.after
			  from rollout_events e left join organisations o on o.id = e.org_id
			 where $1 or e.org_id is null or e.org_id = $2
			 order by e.at desc, e.id desc limit $3`, org == uuid.Nil, org, limit)
		if err != nil {
			return fmt.Errorf("history of the rollout: %w", err)
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Change])
		if err != nil {
			return fmt.Errorf("history of the rollout: %w", err)
		}
		return nil
	})
	return list, err
}
