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

// SetOwnEmail changes the address that the person signs in with, and their name with it, given their
// password: whoever has the address can ask for a new password. Both change or neither does. All sessions but keep and all open links end. The answer
// is nil, an *Invalid, a *PasswordRefused or TooManyTries.
func (d *Directory) SetOwnEmail(ctx context.Context, by pg.By, userID uuid.UUID, password, name, email string, keep uuid.UUID) error {
	name, err := cleanName(name)
	if err != nil {
		return err
	}
	if email, err = cleanEmail(email); err != nil {
		return err
	}
	user, err := d.known(ctx, userID)
	if err != nil {
		return err
	}
	ok, err := d.verify(ctx, user.Email, user.Hash, password)
	if err != nil {
		return err
	}
	if !ok {
		return &PasswordRefused{Old: true}
	}
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		// If the password was changed meanwhile, the old one is no longer the present one.
		tag, err := tx.Exec(ctx, "update users set email = $2, name = $4 where id = $1 and password_hash = $3 and disabled_at is null",
			userID, email, user.Hash, name)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return &PasswordRefused{Old: true}
		}
		if err := revokeResets(ctx, tx, userID); err != nil {
			return err
		}
		return endOthers(ctx, tx, userID, keep)
	})
	switch pg.Constraint(err) {
	case "users_email":
		return &Invalid{"email", "is in use already"}
	case "users_email_check":
		return &Invalid{"email", "must be an address such as name@example.com"}
	}
	return err
}
