package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Factors is what a person has besides a password.
type Factors struct {
	Passkeys []Passkey // the oldest first
	TOTP     bool      // an app gives codes
	Codes    int       // recovery codes that were not used
	Identity bool      // an account at the company's sign-in
}

// Second reports whether a sign-in by password asks for more.
func (f Factors) Second() bool { return f.TOTP || len(f.Passkeys) > 0 }

// Factors reads what the person has.
func (d *Directory) Factors(ctx context.Context, userID uuid.UUID) (f Factors, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		f, err = factorsOf(ctx, tx, userID)
		return err
	})
	return f, err
}

func factorsOf(ctx context.Context, tx pgx.Tx, userID uuid.UUID) (f Factors, err error) {
	if f.Passkeys, err = passkeysOf(ctx, tx, userID); err != nil {
		return f, err
	}
	err = tx.QueryRow(ctx, `select exists (select from totp_secrets where user_id = $1 and confirmed_at is not null),
		(select count(*) from recovery_codes where user_id = $1 and used_at is null), exists (select from identities where user_id = $1)`,
		userID).Scan(&f.TOTP, &f.Codes, &f.Identity)
	return f, err
}

// ClearFactors takes passkeys, app, recovery codes and accounts elsewhere away from somebody who has
// lost them, and ends their sessions: whoever may do that has made sure who asks.
func (d *Directory) ClearFactors(ctx context.Context, by pg.By, userID uuid.UUID) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockUser(ctx, tx, userID); err != nil {
			return err
		}
		for _, table := range []string{"passkeys", "totp_secrets", "recovery_codes", "identities"} {
			if _, err := tx.Exec(ctx, "delete from "+table+" where user_id = $1", userID); err != nil {
				return err
			}
		}
		return errors.Join(revokeResets(ctx, tx, userID), endSessions(ctx, tx, userID))
	})
}

// lockUser locks the person's row: what they have is counted and changed under it.
func lockUser(ctx context.Context, tx pgx.Tx, userID uuid.UUID) error {
	tag, err := tx.Exec(ctx, "select from users where id = $1 for no key update", userID)
	if err == nil && tag.RowsAffected() == 0 {
		err = &NotFound{"user", userID.String()}
	}
	return err
}

// LastFactor says that a person who must have a second factor would have none.
type LastFactor struct{}

func (*LastFactor) Error() string { return "the last second factor of somebody who must have one" }

// keepOne refuses, after something was taken away, that nothing is left; recovery codes without
// anything that they could stand for go too. The caller holds the person's lock.
func keepOne(ctx context.Context, tx pgx.Tx, userID uuid.UUID, must bool) error {
	f, err := factorsOf(ctx, tx, userID)
	switch {
	case err != nil || f.Second():
		return err
	case must:
		return &LastFactor{}
	}
	_, err = tx.Exec(ctx, "delete from recovery_codes where user_id = $1", userID)
	return err
}

// recoveryCodes is how many are made at once; each has 80 random bits, so that a plain hash is enough.
const (
	recoveryCodes = 10
	recoveryBytes = 10
)

// NewRecoveryCodes makes codes in place of all earlier ones and gives them back, which is the only
// time that they can be read.
func (d *Directory) NewRecoveryCodes(ctx context.Context, by pg.By, userID uuid.UUID) (codes []string, err error) {
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockUser(ctx, tx, userID); err != nil {
			return err
		}
		codes, err = newRecoveryCodes(ctx, tx, userID)
		return err
	})
	return codes, err
}

func newRecoveryCodes(ctx context.Context, tx pgx.Tx, userID uuid.UUID) ([]string, error) {
	if _, err := tx.Exec(ctx, "delete from recovery_codes where user_id = $1", userID); err != nil {
		return nil, err
	}
	var codes []string
	for range recoveryCodes {
		var raw [recoveryBytes]byte
		_, _ = rand.Read(raw[:]) // never fails, by its contract
		text := strings.ToLower(base32.StdEncoding.EncodeToString(raw[:]))
		if _, err := tx.Exec(ctx, "insert into recovery_codes (user_id, hash) values ($1, $2)", userID, recoveryHash(text)); err != nil {
			return nil, err
		}
		codes = append(codes, text[:4]+"-"+text[4:8]+"-"+text[8:12]+"-"+text[12:])
	}
	return codes, nil
}

// firstCodes makes recovery codes for who has none left: nil when there are some.
func firstCodes(ctx context.Context, tx pgx.Tx, userID uuid.UUID) ([]string, error) {
	var n int
	err := tx.QueryRow(ctx, "select count(*) from recovery_codes where user_id = $1 and used_at is null", userID).Scan(&n)
	if err != nil || n > 0 {
		return nil, err
	}
	return newRecoveryCodes(ctx, tx, userID)
}

// recoveryHash takes a code as people type it: any case, with or without hyphens and spaces.
func recoveryHash(code string) []byte {
	sum := sha256.Sum256([]byte(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(code))))
	return sum[:]
}

// CodeWrong says that a code of an app or a recovery code is not right, or was used before.
type CodeWrong struct{}

func (*CodeWrong) Error() string { return "the code is wrong or was used before" }

// codeKey is what wrong codes are counted under: apart from wrong passwords, whose count a right
// password sets back.
func codeKey(userID uuid.UUID) []byte {
	sum := sha256.Sum256([]byte("second factor of " + userID.String()))
	return sum[:]
}

// CheckCode takes a code of the person's app or a recovery code, each once. The answer is nil, a
// *CodeWrong, or a *TooManyTries after ten wrong ones within fifteen minutes.
func (d *Directory) CheckCode(ctx context.Context, by pg.By, userID uuid.UUID, code string) error {
	account, good := codeKey(userID), false
	err := pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		// Tries at the same moment queue here, so that they do not pass the limit together.
		if err := lockUser(ctx, tx, userID); err != nil {
			return err
		}
		var failed tries
		b := &pgx.Batch{}
		failed.queue(b, account)
		if err := pg.Pipeline(ctx, tx, b); err != nil {
			return err
		}
		if err := failed.refuse(); err != nil {
			return err
		}
		var err error
		if good, err = takeCode(ctx, tx, userID, code); err != nil {
			return err
		}
		if good {
			return deleteFailures(ctx, tx, account)
		}
		return addFailure(ctx, tx, account)
	})
	if err == nil && !good {
		err = &CodeWrong{}
	}
	return err
}

func takeCode(ctx context.Context, tx pgx.Tx, userID uuid.UUID, code string) (bool, error) {
	code = strings.TrimSpace(code)
	if ok, err := takeTOTP(ctx, tx, userID, code, true); ok || err != nil {
		return ok, err
	}
	tag, err := tx.Exec(ctx, "update recovery_codes set used_at = clock_timestamp() where user_id = $1 and hash = $2 and used_at is null",
		userID, recoveryHash(code))
	return err == nil && tag.RowsAffected() == 1, err
}

// UserForFactors is whom a passkey of theirs signs in: nobody who is disabled.
func (d *Directory) UserForFactors(ctx context.Context, userID uuid.UUID) (Actor, []Passkey, error) {
	actor, err := d.ActorOfUser(ctx, userID)
	if err != nil {
		return actor, nil, err
	}
	f, err := d.Factors(ctx, userID)
	return actor, f.Passkeys, err
}

// Passkey is a key pair of which the person's device keeps the secret half.
type Passkey struct {
	ID         uuid.UUID  `db:"id"`
	Credential []byte     `db:"credential"` // the public half and what was said of it, as JSON
	Name       string     `db:"name"`
	CreatedAt  time.Time  `db:"created_at"`
	LastUsedAt *time.Time `db:"last_used_at"`
}
