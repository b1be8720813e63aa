package accounts_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
)

// A code that is sent ten times at once is taken once, and so is a recovery code; wrong ones at the
// same moment do not pass the limit together.
func TestCodesAtOnce(t *testing.T) {
	f := setup(t)
	u := f.add(t, "cy@example.com", accounts.Customer, "acme")
	secret := must(f.dir.BeginTOTP(f.ctx, by, u.ID))(t)
	if again := must(f.dir.BeginTOTP(f.ctx, by, u.ID))(t); string(again) != string(secret) {
		t.Error("the page shows another secret when it is loaded again")
	}
	code := func() string { return must(accounts.TOTPCode(secret, time.Now()))(t) }
	codes := must(f.dir.ConfirmTOTP(f.ctx, by, u.ID, uuid.Nil, code()))(t)
	if len(codes) != 10 {
		t.Fatalf("%d recovery codes", len(codes))
	}
	if _, err := f.db.Exec(f.ctx, "update totp_secrets set last_step = 0"); err != nil {
		t.Fatal(err)
	}
	atOnce := func(n int, code string) (taken, wrong, many int) {
		var all sync.WaitGroup
		var mu sync.Mutex
		for range n {
			all.Go(func() {
				err := f.dir.CheckCode(f.ctx, by, u.ID, code)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					taken++
				case errors.As(err, new(*accounts.CodeWrong)):
					wrong++
				case errors.As(err, new(*accounts.TooManyTries)):
					many++
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		return taken, wrong, many
	}
	if taken, _, _ := atOnce(6, code()); taken != 1 {
		t.Errorf("a code was taken %d times", taken)
	}
	if taken, _, _ := atOnce(4, codes[0]); taken != 1 {
		t.Errorf("a recovery code was taken %d times", taken)
	}
	if _, err := f.db.Exec(f.ctx, "delete from sign_in_failures"); err != nil {
		t.Fatal(err)
	}
	if taken, wrong, many := atOnce(25, "000000"); taken != 0 || wrong != 10 || many != 15 {
		t.Errorf("%d taken, %d wrong, %d too many", taken, wrong, many)
	}
	if err := f.dir.ClearFactors(f.ctx, by, u.ID); err != nil {
		t.Fatal(err)
	}
	if have := must(f.dir.Factors(f.ctx, u.ID))(t); have.Second() || have.Codes != 0 {
		t.Errorf("left: %+v", have)
	}
}

// The last factor of somebody who must have one stays, also when two are removed at once.
func TestLastFactorStays(t *testing.T) {
	f := setup(t)
	u := f.add(t, "sam@example.com", accounts.Sales, "")
	var keys []uuid.UUID
	for _, name := range []string{"a", "b"} {
		if _, err := f.dir.AddPasskey(f.ctx, by, u.ID, uuid.Nil, name, []byte(name), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range must(f.dir.Factors(f.ctx, u.ID))(t).Passkeys {
		keys = append(keys, k.ID)
	}
	var all sync.WaitGroup
	refused := make(chan error, 2)
	for _, id := range keys {
		all.Go(func() {
			if err := f.dir.RemovePasskey(f.ctx, by, u.ID, id, true); err != nil {
				refused <- err
			}
		})
	}
	all.Wait()
	if len(refused) != 1 || !errors.As(<-refused, new(*accounts.LastFactor)) {
		t.Error("not exactly one was refused as the last")
	}
	if have := must(f.dir.Factors(f.ctx, u.ID))(t); len(have.Passkeys) != 1 {
		t.Errorf("%d passkeys are left", len(have.Passkeys))
	}
	other := f.add(t, "cy@example.com", accounts.Customer, "acme")
	if err := f.dir.RemovePasskey(f.ctx, by, other.ID, keys[0], false); !isNotFound(err) {
		t.Errorf("another's passkey: %v", err)
	}
	if _, err := f.dir.AddPasskey(f.ctx, by, other.ID, uuid.Nil, "a", []byte("c"), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.dir.AddPasskey(f.ctx, by, other.ID, uuid.Nil, "a", []byte("c"), []byte("{}")); !errors.As(err, new(*accounts.Invalid)) {
		t.Errorf("the same device twice: %v", err)
	}
}
