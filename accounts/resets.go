package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// AddReset makes a link by which a member chooses a new password and gives back its secret, which is
// shown once. An earlier open one ends. actor, who makes it, gets none for themselves: that would go
// round their present password.
func (d *Directory) AddReset(ctx context.Context, by pg.By, org, actor, id uuid.UUID) (secret string, until time.Time, err error) {
	err = d.changeMember(ctx, by, org, id, func(tx pgx.Tx, u User) error {
		switch {
		case u.ID == actor:
			return &MemberRefused{Yourself}
		case u.DisabledAt != nil:
			return &MemberRefused{IsDisabled}
		}
		secret, until, err = d.newReset(ctx, tx, Link{OrgID: &org, UserID: &id, Email: u.Email})
		return err
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return secret, until, nil
}

// newReset makes the link of whom l names in place of an earlier open one, and tells OnLink's function.
func (d *Directory) newReset(ctx context.Context, tx pgx.Tx, l Link) (secret string, until time.Time, err error) {
	if err := revokeResets(ctx, tx, *l.UserID); err != nil {
		return "", until, err
	}
	var hash []byte
	l.Kind = "password_reset"
	l.Secret, hash = newSecret()
	err = tx.QueryRow(ctx, `insert into password_resets (user_id, token_hash, expires_at)
		values ($1, $2, clock_timestamp() + make_interval(secs => $3)) returning id, expires_at`,
		l.UserID, hash, ResetLife.Seconds()).Scan(&l.ID, &until)
	if err != nil {
		return "", until, err
	}
	return l.Secret, until, d.linkMade(ctx, tx, l)
}

func revokeResets(ctx context.Context, tx pgx.Tx, userID uuid.UUID) error {
	_, err := tx.Exec(ctx, `update password_resets set revoked_at = clock_timestamp()
		where user_id = $1 and used_at is null and revoked_at is null`, userID)
	return err
}

// ResetBy finds whose password the link of a secret sets, or answers a *LinkEnded.
func (d *Directory) ResetBy(ctx context.Context, secret string) (user User, err error) {
	var k known
	err = d.read(ctx, func(tx pgx.Tx) error {
		_, k, err = resetBy(ctx, tx, secret, "")
		return err
	})
	return k.User, err
}

func resetBy(ctx context.Context, tx pgx.Tx, secret, lock string) (id uuid.UUID, user known, err error) {
	var used, revoked, expired bool
	err = tx.QueryRow(ctx, `select r.id, r.user_id, r.used_at is not null, r.revoked_at is not null, r.expires_at <= clock_timestamp()
		from password_resets r where r.token_hash = $1`+lock, tokenHash(secret)).Scan(&id, &user.ID, &used, &revoked, &expired)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return id, user, &LinkEnded{LinkUnknown}
	case err != nil:
		return id, user, err
	case used:
		return id, user, &LinkEnded{LinkUsed}
	case revoked:
		return id, user, &LinkEnded{LinkRevoked}
	case expired:
		return id, user, &LinkEnded{LinkExpired}
	}
	user, err = knownUser(ctx, tx, user.ID)
	if err == nil && user.DisabledAt != nil {
		err = &LinkEnded{LinkRevoked}
	}
	return id, user, err
}

// UseReset sets the password that the link's owner chose and ends all their sessions; the secret
// works once. The answer may be a *LinkEnded, an *Invalid or a *WeakPassword.
func (d *Directory) UseReset(ctx context.Context, requestID, secret, chosen string) error {
	var user known
	err := d.read(ctx, func(tx pgx.Tx) (err error) {
		_, user, err = resetBy(ctx, tx, secret, "")
		return err
	})
	if err != nil {
		return err
	}
	if err := d.checkChosen(chosen, user.about()...); err != nil {
		return err
	}
	hash, err := d.hash(ctx, chosen)
	if err != nil {
		return err
	}
	return pg.Engine(ctx, d.db, Actor{Kind: "user", ID: user.ID}.By(requestID), func(tx pgx.Tx) error {
		// The person before the link, as everywhere.
		if _, err := tx.Exec(ctx, "select from users where id = $1 for no key update", user.ID); err != nil {
			return err
		}
		id, _, err := resetBy(ctx, tx, secret, " for no key update")
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "update password_resets set used_at = clock_timestamp() where id = $1", id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "update users set password_hash = $2 where id = $1", user.ID, hash); err != nil {
			return err
		}
		// Nor does who knew the old password take the account to another address.
		if err := revokeEmails(ctx, tx, user.ID); err != nil {
			return err
		}
		// Whoever guessed at the old password does not keep its owner out with the new one.
		if err := deleteFailures(ctx, tx, accountKey(user.Email)); err != nil {
			return err
		}
		return endSessions(ctx, tx, user.ID)
	})
}
