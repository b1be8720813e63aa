package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// signInWait bounds how long a sign-in queues for its password check.
const signInWait = 5 * time.Second

const selectActor = `
	select u.id, u.name, u.email, u.role, u.time_zone, u.language,
	       coalesce(o.id, '00000000-0000-0000-0000-000000000000') as org_id,
	       coalesce(o.slug, '') as org_slug, coalesce(o.name, '') as org_name`

// SignIn checks email and password and gives back the actor and the id of the person. Any refusal
// is the same Unauthenticated after the same time, whether or not somebody has that address, and so
// is the TooManyTries that follows too many of them. When too many sign in at once it answers a
// deadline error, which means: try again.
func (d *Directory) SignIn(ctx context.Context, email, password string) (Actor, uuid.UUID, error) {
	ctx, cancel := context.WithTimeout(ctx, signInWait)
	defer cancel()
	var actor Actor
	err := d.inTurn(ctx, func() (err error) {
		actor, err = d.signIn(ctx, email, password)
		return err
	})
	return actor, actor.ID, err
}

// signIn counts failures while it has its turn, so that tries at the same moment do not pass the
// limit together.
func (d *Directory) signIn(ctx context.Context, email, password string) (Actor, error) {
	account := accountKey(email)
	var found struct {
		actor    Actor
		hash     string
		disabled bool
	}
	var failed tries
	err := d.read(ctx, func(tx pgx.Tx) error {
		address, err := cleanEmail(email)
		if err != nil {
			address = "" // nobody has it
		}
		b := &pgx.Batch{}
		failed.queue(b, account)
		b.Queue(selectActor+`, u.password_hash, u.disabled_at is not null
			from users u left join organisations o on o.id = u.org_id where u.email = $1`, address).
			QueryRow(func(row pgx.Row) error {
				return noRows(scanActor(row, &found.actor, &found.hash, &found.disabled))
			})
		return pg.Pipeline(ctx, tx, b)
	})
	if err == nil {
		err = failed.refuse()
	}
	if err != nil {
		return Actor{}, err
	}
	if !matches(found.hash, password) || found.disabled || checkPassword(password) != nil {
		if err := d.countFailure(ctx, account); err != nil {
			return Actor{}, err
		}
		return Actor{}, signInRefused()
	}
	return found.actor, d.signedIn(ctx, found.actor.ID, account, failed.n > 0)
}

// ActorOfUser is the person behind a session, as they are now; Unauthenticated when there is none
// or they are disabled.
func (d *Directory) ActorOfUser(ctx context.Context, id uuid.UUID) (Actor, error) {
	var a Actor
	err := d.read(ctx, func(tx pgx.Tx) error {
		row := tx.QueryRow(ctx, selectActor+`
			from users u left join organisations o on o.id = u.org_id where u.id = $1 and u.disabled_at is null`, id)
		return scanActor(row, &a)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Actor{}, &Unauthenticated{Message: "the account does not exist any more or is disabled"}
	}
	return a, err
}

func scanActor(row pgx.Row, a *Actor, more ...any) error {
	a.Kind = "user"
	return row.Scan(append([]any{&a.ID, &a.Name, &a.Email, &a.Role, &a.TimeZone, &a.Language, &a.OrgID, &a.OrgSlug, &a.OrgName}, more...)...)
}
