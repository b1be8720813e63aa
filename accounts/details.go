package accounts

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// SetOwnName changes how the person is called. The answer to a name that cannot be is an *Invalid.
func (d *Directory) SetOwnName(ctx context.Context, by pg.By, userID uuid.UUID, name string) error {
	name, err := cleanName(name)
	if err != nil {
		return err
	}
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "update users set name = $2 where id = $1 and disabled_at is null", userID, name)
		if err == nil && tag.RowsAffected() == 0 {
			err = &NotFound{"user", userID.String()}
		}
		return err
	})
}
