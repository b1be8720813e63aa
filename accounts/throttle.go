package accounts

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// So many wrong passwords for one address are taken in one window, by all processes together. A
// window begins with its first failure, and tries beyond the limit do not lengthen it: somebody
// else's guesses keep the owner out for its rest at most.
const (
	maxFailures   = 10
	failureWindow = 15 * time.Minute
)

// accountKey is what failures are counted under: the address as it was typed, if nobody has it.
func accountKey(email string) []byte {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(email))))
	return sum[:]
}

// tries are the wrong passwords of the running window.
type tries struct {
	n     int
	until time.Time
	wait  time.Duration
}

// queue reads them with the batch.
func (t *tries) queue(b *pgx.Batch, account []byte) {
	b.Queue(`
		select f.failures, f.since + w.length, extract(epoch from f.since + w.length - clock_timestamp())::float8
		  from sign_in_failures f, (select make_interval(secs => $2) as length) w
		 where f.account = $1 and f.since + w.length > clock_timestamp()`, account, failureWindow.Seconds()).
		QueryRow(func(row pgx.Row) error {
			var seconds float64
			err := noRows(row.Scan(&t.n, &t.until, &seconds))
			t.wait = max(time.Second, time.Duration(seconds*float64(time.Second)))
			return err
		})
}

// refuse is a TooManyTries when there were too many.
func (t *tries) refuse() error {
	if t.n < maxFailures {
		return nil
	}
	return &TooManyTries{Until: t.until, Wait: t.wait}
}

func noRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

func (d *Directory) countFailure(ctx context.Context, account []byte) error {
	// A request that has gone away still counts.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInWait)
	defer cancel()
	return pg.Engine(ctx, d.db, pg.By{}, func(tx pgx.Tx) error { return addFailure(ctx, tx, account) })
}

func addFailure(ctx context.Context, tx pgx.Tx, account []byte) error {
	_, err := tx.Exec(ctx, `
		insert into sign_in_failures as f (account, failures) values ($1, 1)
		on conflict (account) do update set
		  failures = case when f.since + make_interval(secs => $2) > clock_timestamp() then f.failures + 1 else 1 end,
		  since    = case when f.since + make_interval(secs => $2) > clock_timestamp() then f.since else clock_timestamp() end`,
		account, failureWindow.Seconds())
	return err
}

// signedIn notes when somebody signed in, and forgets the failures before.
func (d *Directory) signedIn(ctx context.Context, id uuid.UUID, account []byte, failed bool) error {
	return pg.Engine(ctx, d.db, pg.By{}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "update users set signed_in_at = clock_timestamp() where id = $1", id); err != nil || !failed {
			return err
		}
		return deleteFailures(ctx, tx, account)
	})
}

func deleteFailures(ctx context.Context, tx pgx.Tx, account []byte) error {
	_, err := tx.Exec(ctx, "delete from sign_in_failures where account = $1", account)
	return err
}

// verify checks the password of somebody who is known already, under the same limit as a sign-in.
func (d *Directory) verify(ctx context.Context, email, hash, password string) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, signInWait)
	defer cancel()
	account := accountKey(email)
	err = d.inTurn(ctx, func() error {
		var failed tries
		err := d.read(ctx, func(tx pgx.Tx) error {
			b := &pgx.Batch{}
			failed.queue(b, account)
			return pg.Pipeline(ctx, tx, b)
		})
		if err == nil {
			err = failed.refuse()
		}
		if err != nil {
			return err
		}
		if ok = matches(hash, password); !ok {
			return d.countFailure(ctx, account)
		}
		return nil
	})
	return ok, err
}
