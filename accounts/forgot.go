package accounts

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// resetPause is how many seconds pass before another link replaces one that a mail was sent with.
const resetPause = 600

// Forgot makes a link by which the owner of an address chooses a new password and hands it to whoever
// OnLink named: who asks never sees it. An address that nobody has, or whose owner was sent one in the
// last ten minutes, is no error: the answer tells nothing about who has an account.
func (d *Directory) Forgot(ctx context.Context, requestID, email string) error {
	email, err := cleanEmail(email)
	if err != nil {
		return err
	}
	return pg.Engine(ctx, d.db, pg.By{Actor: "visitor", RequestID: requestID}, func(tx pgx.Tx) error {
		var id uuid.UUID
		var org *uuid.UUID
		err := tx.QueryRow(ctx, "select id, org_id from users where email = $1 and disabled_at is null for no key update", email).Scan(&id, &org)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		var recent bool
		err = tx.QueryRow(ctx, `select exists (select from password_resets where user_id = $1 and used_at is null and revoked_at is null
			and expires_at > clock_timestamp() and created_at > clock_timestamp() - make_interval(secs => $2))`, id, resetPause).Scan(&recent)
		if err != nil || recent {
			return err
		}
		_, _, err = d.newReset(ctx, tx, Link{OrgID: org, UserID: &id, Email: email})
		return err
	})
}
