package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// EmailLife is how long the link that confirms a new address can be used.
const EmailLife = 24 * time.Hour

// EmailWish is a new address that waits for its link to be opened.
type EmailWish struct {
	Email string
	Until time.Time
}

// AskEmail notes the address that the person wants to sign in with, and changes their name, given their
// password: whoever has the address can ask for a new password. The present address counts until the link
// is opened that OnLink's function sends to the new one; without it nobody has the link, and EmailLink
// makes one. An earlier wish ends. Both change or neither does. Whether somebody has the address already
// is told to whoever opens the link, and to nobody before. The answer is nil, an *Invalid, a
// *PasswordRefused or TooManyTries.
func (d *Directory) AskEmail(ctx context.Context, by pg.By, userID uuid.UUID, password, name, email string) error {
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
		tag, err := tx.Exec(ctx, "update users set name = $3 where id = $1 and password_hash = $2 and disabled_at is null", userID, user.Hash, name)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return &PasswordRefused{Old: true}
		}
		if err := revokeEmails(ctx, tx, userID); err != nil {
			return err
		}
		l := Link{Kind: "email_change", OrgID: user.OrgID, Email: email}
		var hash []byte
		l.Secret, hash = newSecret()
		err = tx.QueryRow(ctx, `insert into email_changes (user_id, email, token_hash, expires_at)
			values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4)) returning id`,
			userID, email, hash, EmailLife.Seconds()).Scan(&l.ID)
		if err != nil {
			return err
		}
		return d.linkMade(ctx, tx, l)
	})
	if pg.Constraint(err) == "email_changes_email_check" {
		return &Invalid{"email", "must be an address such as name@example.com"}
	}
	return err
}

// WishedEmail is the person's open wish, nil when there is none.
func (d *Directory) WishedEmail(ctx context.Context, userID uuid.UUID) (w *EmailWish, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		var open EmailWish
		err := tx.QueryRow(ctx, `select email, expires_at from email_changes
			where user_id = $1 and used_at is null and revoked_at is null and expires_at > clock_timestamp()`, userID).Scan(&open.Email, &open.Until)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		w = &open
		return nil
	})
	return w, err
}

// DropEmail ends the person's open wish; without one nothing happens.
func (d *Directory) DropEmail(ctx context.Context, by pg.By, userID uuid.UUID) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error { return revokeEmails(ctx, tx, userID) })
}

func revokeEmails(ctx context.Context, tx pgx.Tx, userID uuid.UUID) error {
	_, err := tx.Exec(ctx, `update email_changes set revoked_at = clock_timestamp()
		where user_id = $1 and used_at is null and revoked_at is null`, userID)
	return err
}

// EmailLink makes the link of the open wish of whoever signs in with present, for an operator to hand to
// the new address where no mail is sent. An earlier link of the wish ends. *NotFound without a wish.
func (d *Directory) EmailLink(ctx context.Context, by pg.By, present string) (secret string, w EmailWish, err error) {
	present, err = cleanEmail(present)
	if err != nil {
		return "", w, err
	}
	secret, hash := newSecret()
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `update email_changes c set token_hash = $2, expires_at = clock_timestamp() + make_interval(secs => $3)
			from users u where u.id = c.user_id and u.email = $1 and u.disabled_at is null
			 and c.used_at is null and c.revoked_at is null and c.expires_at > clock_timestamp()
			returning c.email, c.expires_at`, present, hash, EmailLife.Seconds()).Scan(&w.Email, &w.Until)
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotFound{"open change of the address", present}
		}
		return err
	})
	return secret, w, err
}

// EmailBy finds the wish that the link of a secret confirms, and the address that it replaces, or answers
// a *LinkEnded.
func (d *Directory) EmailBy(ctx context.Context, secret string) (w EmailWish, present string, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		var user known
		_, w, user, err = emailBy(ctx, tx, secret, "")
		present = user.Email
		return err
	})
	return w, present, err
}

func emailBy(ctx context.Context, tx pgx.Tx, secret, lock string) (id uuid.UUID, w EmailWish, user known, err error) {
	var used, revoked, expired bool
	err = tx.QueryRow(ctx, `select c.id, c.user_id, c.email, c.expires_at, c.used_at is not null, c.revoked_at is not null,
		c.expires_at <= clock_timestamp() from email_changes c where c.token_hash = $1`+lock, tokenHash(secret)).
		Scan(&id, &user.ID, &w.Email, &w.Until, &used, &revoked, &expired)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return id, w, user, &LinkEnded{LinkUnknown}
	case err != nil:
		return id, w, user, err
	case used:
		return id, w, user, &LinkEnded{LinkUsed}
	case revoked:
		return id, w, user, &LinkEnded{LinkRevoked}
	case expired:
		return id, w, user, &LinkEnded{LinkExpired}
	}
	user, err = knownUser(ctx, tx, user.ID)
	if err == nil && user.DisabledAt != nil {
		err = &LinkEnded{LinkRevoked}
	}
	return id, w, user, err
}

// UseEmail lets the wished address count: from now on the person signs in with it. All their sessions and
// open links end, and the old address is told. The secret works once. The answer may be a *LinkEnded, or
// an *Invalid when somebody else has the address by now.
func (d *Directory) UseEmail(ctx context.Context, requestID, secret string) error {
	var user known
	err := d.read(ctx, func(tx pgx.Tx) (err error) {
		_, _, user, err = emailBy(ctx, tx, secret, "")
		return err
	})
	if err != nil {
		return err
	}
	err = pg.Engine(ctx, d.db, Actor{Kind: "user", ID: user.ID}.By(requestID), func(tx pgx.Tx) error {
		// The person before the link, as everywhere.
		if _, err := tx.Exec(ctx, "select from users where id = $1 for no key update", user.ID); err != nil {
			return err
		}
		id, w, user, err := emailBy(ctx, tx, secret, " for no key update")
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "update email_changes set used_at = clock_timestamp() where id = $1", id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "update users set email = $2 where id = $1", user.ID, w.Email); err != nil {
			return err
		}
		// A link that was sent to the old address must not set the password any more.
		if err := errors.Join(revokeResets(ctx, tx, user.ID), endSessions(ctx, tx, user.ID)); err != nil {
			return err
		}
		return d.linkMade(ctx, tx, Link{Kind: "email_changed", ID: id, OrgID: user.OrgID, Email: user.Email})
	})
	if pg.Constraint(err) == "users_email" {
		return &Invalid{"email", "is in use already"}
	}
	return err
}
