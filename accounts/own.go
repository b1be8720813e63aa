package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Session is one place where a person is signed in.
type Session struct {
	ID         uuid.UUID `db:"id"`
	UserAgent  string    `db:"user_agent"` // as the browser called itself
	Network    string    `db:"network"`
	CreatedAt  time.Time `db:"created_at"`
	LastSeenAt time.Time `db:"last_seen_at"` // to the minute
}

// Sessions lists where the person is signed in, the last seen first.
func (d *Directory) Sessions(ctx context.Context, userID uuid.UUID) (list []Session, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, `select id, user_agent, network, created_at, last_seen_at from sessions
			where user_id = $1 and expiry > clock_timestamp() order by last_seen_at desc, id desc`, userID)
		if err2 != nil {
			return err2
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Session])
		return err
	})
	return list, err
}

// EndSession ends one session of the person; another's answers NotFound, one that has ended already
// does not.
func (d *Directory) EndSession(ctx context.Context, by pg.By, userID, id uuid.UUID) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update sessions
			set expiry = least(expiry, clock_timestamp()), data = '' where id = $1 and user_id = $2`, id, userID)
		if err == nil && tag.RowsAffected() == 0 {
			err = &NotFound{"session", id.String()}
		}
		return err
	})
}

// EndOtherSessions ends all sessions of the person but one.
func (d *Directory) EndOtherSessions(ctx context.Context, by pg.By, userID, keep uuid.UUID) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error { return endOthers(ctx, tx, userID, keep) })
}

func endOthers(ctx context.Context, tx pgx.Tx, userID, keep uuid.UUID) error {
	_, err := tx.Exec(ctx, `update sessions set expiry = clock_timestamp(), data = ''
		where user_id = $1 and id <> $2 and expiry > clock_timestamp()`, userID, keep)
	return err
}

// known is what the database knows of a person beyond User, for judging passwords.
type known struct {
	User
	OrgSlug string `db:"org_slug"`
	OrgName string `db:"org_name"`
	Hash    string `db:"password_hash"`
}

// about lists what a chosen password must not be made of.
func (k known) about() []string { return []string{k.Email, k.Name, k.OrgName, k.OrgSlug, "Ironhold"} }

func knownUser(ctx context.Context, tx pgx.Tx, id uuid.UUID) (known, error) {
	rows, err := tx.Query(ctx, "select "+userColumns+`, u.password_hash, coalesce(o.slug, '') as org_slug, coalesce(o.name, '') as org_name
		from users u left join organisations o on o.id = u.org_id where u.id = $1`, id)
	return one[known](rows, err, "user", id.String())
}

// ChangePassword replaces the person's own password and ends all their sessions but keep. The
// answer is a *PasswordRefused that names everything wrong, or TooManyTries as at a sign-in.
func (d *Directory) ChangePassword(ctx context.Context, by pg.By, userID uuid.UUID, old, chosen string, keep uuid.UUID) error {
	user, err := d.known(ctx, userID)
	if err != nil {
		return err
	}
	weak, err := asWeak(d.checkChosen(chosen, user.about()...))
	if err != nil {
		return err
	}
	refused := PasswordRefused{New: weak}
	ok, err := d.verify(ctx, user.Email, user.Hash, old)
	if err != nil {
		return err
	}
	if refused.Old = !ok; refused.Old || refused.New != nil {
		return &refused
	}
	hash, err := d.hash(ctx, chosen)
	if err != nil {
		return err
	}
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		// If it was changed meanwhile, the old one is no longer the present one.
		tag, err := tx.Exec(ctx, `update users set password_hash = $2
			where id = $1 and password_hash = $3 and disabled_at is null`, userID, hash, user.Hash)
		switch {
		case err != nil:
			return err
		case tag.RowsAffected() == 0:
			return &PasswordRefused{Old: true}
		}
		if err := errors.Join(revokeResets(ctx, tx, userID), revokeEmails(ctx, tx, userID), deleteFailures(ctx, tx, accountKey(user.Email))); err != nil {
			return err
		}
		return endOthers(ctx, tx, userID, keep)
	})
}

// ConfirmPassword asks a person who is signed in for their password once more, before something
// that a stolen session must not do. The answer is nil, a *PasswordRefused or TooManyTries.
func (d *Directory) ConfirmPassword(ctx context.Context, userID uuid.UUID, password string) error {
	user, err := d.known(ctx, userID)
	if err != nil {
		return err
	}
	ok, err := d.verify(ctx, user.Email, user.Hash, password)
	if err == nil && !ok {
		err = &PasswordRefused{Old: true}
	}
	return err
}

func (d *Directory) known(ctx context.Context, userID uuid.UUID) (user known, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		user, err = knownUser(ctx, tx, userID)
		return err
	})
	return user, err
}
