package accounts

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"ironhold/migrations/pg"
)

const (
	totpStep   = 30 // seconds
	totpSkew   = 1  // steps before and after that are taken too: clocks differ
	totpSecret = 20 // bytes, as long as the hash
)

// BeginTOTP makes a secret for an app that the person sets up, in place of one that was not confirmed;
// one that is in use stays until the new one is confirmed, so it answers Invalid then.
func (d *Directory) BeginTOTP(ctx context.Context, by pg.By, userID uuid.UUID) (secret []byte, err error) {
	fresh := make([]byte, totpSecret)
	_, _ = rand.Read(fresh) // never fails, by its contract
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockUser(ctx, tx, userID); err != nil {
			return err
		}
		// Whoever reloads the page scans the same picture.
		err := tx.QueryRow(ctx, `insert into totp_secrets as s (user_id, secret) values ($1, $2)
			on conflict (user_id) do update set
			   secret     = case when s.created_at > clock_timestamp() - interval '1 hour' then s.secret else excluded.secret end,
			   created_at = case when s.created_at > clock_timestamp() - interval '1 hour' then s.created_at else clock_timestamp() end
			 where s.confirmed_at is null
			returning secret`, userID, fresh).Scan(&secret)
		if errors.Is(err, pgx.ErrNoRows) {
			return &Invalid{"code", "an app is set up already: remove it first"}
		}
		return err
	})
	return secret, err
}

// ConfirmTOTP takes the app into use when code is its code. All other sessions of the person end.
// The answer may be a *CodeWrong or *TooManyTries; codes as with AddPasskey.
func (d *Directory) ConfirmTOTP(ctx context.Context, by pg.By, userID, keep uuid.UUID, code string) (codes []string, err error) {
	account, good := codeKey(userID), false
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
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
		if good, err = takeTOTP(ctx, tx, userID, code, false); err != nil {
			return err
		}
		if !good {
			return addFailure(ctx, tx, account)
		}
		if _, err := tx.Exec(ctx, "update totp_secrets set confirmed_at = clock_timestamp() where user_id = $1 and confirmed_at is null", userID); err != nil {
			return err
		}
		if codes, err = firstCodes(ctx, tx, userID); err != nil {
			return err
		}
		return errors.Join(deleteFailures(ctx, tx, account), endOthers(ctx, tx, userID, keep))
	})
	if err == nil && !good {
		err = &CodeWrong{}
	}
	return codes, err
}

// RemoveTOTP takes the app out of use; LastFactor as with RemovePasskey.
func (d *Directory) RemoveTOTP(ctx context.Context, by pg.By, userID uuid.UUID, must bool) error {
	return pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockUser(ctx, tx, userID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "delete from totp_secrets where user_id = $1", userID); err != nil {
			return err
		}
		return keepOne(ctx, tx, userID, must)
	})
}

// takeTOTP reports whether code is one of the app's for now, and takes it: not that one, nor an
// earlier one, is taken again. The caller holds the person's lock.
func takeTOTP(ctx context.Context, tx pgx.Tx, userID uuid.UUID, code string, confirmed bool) (bool, error) {
	var secret []byte
	var now time.Time
	var last int64
	err := tx.QueryRow(ctx, `select secret, last_step, clock_timestamp() from totp_secrets
		where user_id = $1 and (confirmed_at is not null) = $2`, userID, confirmed).Scan(&secret, &last, &now)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for step := now.Unix()/totpStep - totpSkew; step <= now.Unix()/totpStep+totpSkew; step++ {
		want, err := TOTPCode(secret, time.Unix(step*totpStep, 0))
		if err != nil {
			return false, err
		}
		if step > last && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			_, err := tx.Exec(ctx, "update totp_secrets set last_step = $2 where user_id = $1", userID, step)
			return err == nil, err
		}
	}
	return false, nil
}

// TOTPText is a secret as people type it into an app.
func TOTPText(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}

// TOTPCode is the code of an app with that secret at that time: six digits.
func TOTPCode(secret []byte, at time.Time) (string, error) {
	return totp.GenerateCodeCustom(TOTPText(secret), at, totp.ValidateOpts{Period: totpStep, Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
}
