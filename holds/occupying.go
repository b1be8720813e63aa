package holds

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Occupying lists the holds that still are held, of every organisation, newest first: those past
// their deadline too, which wait for the sweep. after is the last row of the page before.
func (b *Book) Occupying(ctx context.Context, after uuid.UUID, limit int) (out []Hold, err error) {
	err = b.read(ctx, Scope{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectHolds+`
 where h.state = 'held' and ($1::uuid is null or h.id < $1) order by h.id desc limit $2`, null(after), limit)
		if err != nil {
			return fmt.Errorf("holds: %w", err)
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[Hold])
		return err
	})
	return out, err
}
