package accounts

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Link is a one-use link that was just made, with its secret. As email_changed it is none: it tells the
// old address of the new one, and has no secret.
type Link struct {
	Kind   string // invitation, password_reset, email_change or email_changed
	ID     uuid.UUID
	OrgID  *uuid.UUID // nil for staff
	UserID *uuid.UUID // whose password it is; nil for an invitation
	Email  string
	Secret string
}

// OnLink lets f know of each one-use link inside the transaction that makes it, so that a mail with it is
// sent if and only if there is a link. An error of f rolls the link back.
func (d *Directory) OnLink(f func(ctx context.Context, tx pgx.Tx, l Link) error) *Directory {
	d.onLink = f
	return d
}

func (d *Directory) linkMade(ctx context.Context, tx pgx.Tx, l Link) error {
	if d.onLink == nil {
		return nil
	}
	return d.onLink(ctx, tx, l)
}
