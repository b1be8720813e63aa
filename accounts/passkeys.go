package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// maxPasskeys bounds those of one person.
const maxPasskeys = 20

func passkeysOf(ctx context.Context, tx pgx.Tx, userID uuid.UUID) ([]Passkey, error) {
	rows, err := tx.Query(ctx, `select id, credential::text::bytea as credential, name, created_at, last_used_at
		from passkeys where user_id = $1 order by id`, userID)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Passkey])
}

func cleanKeyName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if n := utf8.RuneCountInString(name); !utf8.ValidString(name) || n < 1 || n > 100 || strings.ContainsFunc(name, unicode.IsControl) {
		return "", &Invalid{"name", "1 to 100 characters"}
	}
	return name, nil
}

// AddPasskey keeps a passkey that was checked; credential is its record as JSON. All other sessions
// of the person end: they began with less. With the first factor come recovery codes; codes is nil
// when there are some already.
func (d *Directory) AddPasskey(ctx context.Context, by pg.By, userID, keep uuid.UUID, name string, id, credential []byte) (codes []string, err error) {
	if name, err = cleanKeyName(name); err != nil {
		return nil, err
	}
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockUser(ctx, tx, userID); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow(ctx, "select count(*) from passkeys where user_id = $1", userID).Scan(&n); err != nil {
			return err
		}
		if n >= maxPasskeys {
			return &Invalid{"name", fmt.Sprintf("%d passkeys are the most: remove one first", maxPasskeys)}
		}
		if _, err := tx.Exec(ctx, "insert into passkeys (user_id, credential_id, credential, name) values ($1, $2, $3::text::jsonb, $4)",
			userID, id, string(credential), name); err != nil {
			return err
		}
		if codes, err = firstCodes(ctx, tx, userID); err != nil {
			return err
		}
		return endOthers(ctx, tx, userID, keep)
	})
	if pg.Constraint(err) == "passkeys_credential_id_key" {
		return nil, &Invalid{"name", "this passkey is registered already"}
	}
	return codes, err
}

// RenamePasskey gives a passkey of the person another name; another's answers NotFound.
func (d *Directory) RenamePasskey(ctx context.Context, by pg.By, userID, id uuid.UUID, name string) error {
	name, err := cleanKeyName(name)
	if err != nil {
		return err
	}
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "update passkeys set name = $3 where id = $1 and user_id = $2", id, userID, name)
		return foundKey(tag.RowsAffected(), id, err)
	})
}

// RemovePasskey takes a passkey away; another's answers NotFound, and the last factor of somebody
// who must have one a *LastFactor.
func (d *Directory) RemovePasskey(ctx context.Context, by pg.By, userID, id uuid.UUID, must bool) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockUser(ctx, tx, userID); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, "delete from passkeys where id = $1 and user_id = $2", id, userID)
		if err := foundKey(tag.RowsAffected(), id, err); err != nil {
			return err
		}
		return keepOne(ctx, tx, userID, must)
	})
}

func foundKey(n int64, id uuid.UUID, err error) error {
	if err == nil && n == 0 {
		err = &NotFound{"passkey", id.String()}
	}
	return err
}

// PasskeyUsed keeps what a sign-in has changed of the passkey: its counter and flags. One that was
// removed meanwhile answers NotFound.
func (d *Directory) PasskeyUsed(ctx context.Context, userID uuid.UUID, id, credential []byte) error {
	return pg.Engine(ctx, d.db, pg.By{}, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update passkeys set credential = $3::text::jsonb, last_used_at = clock_timestamp()
			where user_id = $1 and credential_id = $2`, userID, id, string(credential))
		if err := foundKey(tag.RowsAffected(), uuid.Nil, err); err != nil {
			return err
		}
		return signedIn(ctx, tx, userID)
	})
}

func signedIn(ctx context.Context, tx pgx.Tx, userID uuid.UUID) error {
	_, err := tx.Exec(ctx, "update users set signed_in_at = clock_timestamp() where id = $1 and disabled_at is null", userID)
	return err
}

// Identify finds who has an account elsewhere, or answers Unauthenticated. The same subject of
// another issuer is somebody else.
func (d *Directory) Identify(ctx context.Context, issuer, subject string) (Actor, error) {
	var id uuid.UUID
	err := pg.Engine(ctx, d.db, pg.By{}, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `update identities set last_used_at = clock_timestamp() where issuer = $1 and subject = $2 returning user_id`,
			issuer, subject).Scan(&id)
		if err != nil {
			return err
		}
		return signedIn(ctx, tx, id)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Actor{}, &Unauthenticated{Message: "nobody has this account"}
	}
	if err != nil {
		return Actor{}, err
	}
	return d.ActorOfUser(ctx, id)
}

// AddIdentity lets the person sign in by an account elsewhere, in place of one that they had at the
// same issuer. One that is somebody else's answers Invalid.
func (d *Directory) AddIdentity(ctx context.Context, by pg.By, userID uuid.UUID, issuer, subject string) error {
	err := pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockUser(ctx, tx, userID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "delete from identities where user_id = $1 and issuer = $2 and subject <> $3", userID, issuer, subject); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `insert into identities (issuer, subject, user_id) values ($1, $2, $3)
			on conflict (issuer, subject) do update set user_id = excluded.user_id where identities.user_id = excluded.user_id`, issuer, subject, userID)
		if err == nil && tag.RowsAffected() == 0 {
			err = &Invalid{"account", "belongs to somebody else here"}
		}
		return err
	})
	return err
}

// RemoveIdentity takes the accounts elsewhere away from the person.
func (d *Directory) RemoveIdentity(ctx context.Context, by pg.By, userID uuid.UUID) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "delete from identities where user_id = $1", userID)
		return err
	})
}
