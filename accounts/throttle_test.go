package accounts_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"ironhold/accounts"
)

func tooMany(err error) *accounts.TooManyTries {
	e, _ := errors.AsType[*accounts.TooManyTries](err)
	return e
}

// Two processes share the count, and nothing tells whether somebody has the address.
func TestWrongPasswordsAreCountedByAccount(t *testing.T) {
	f := setup(t)
	other := accounts.New(f.db)
	var words []string
	for _, email := range []string{"ada@example.com", "nobody@example.com", "no address"} {
		for i := range 10 {
			dir := f.dir
			if i%2 == 1 {
				dir = other
			}
			_, _, err := dir.SignIn(f.ctx, email, "not the password")
			wantUnauthenticated(t, err)
		}
		_, _, err := other.SignIn(f.ctx, " "+email+" ", password)
		refused := tooMany(err)
		if refused == nil || refused.Wait < time.Minute || refused.Wait > 15*time.Minute || time.Until(refused.Until) > 16*time.Minute {
			t.Fatalf("%s: %v", email, err)
		}
		words = append(words, refused.Error())
	}
	if words[0][:20] != words[1][:20] {
		t.Errorf("%q and %q", words[0], words[1])
	}
	// Tries beyond the limit do not lengthen it.
	if _, err := f.db.Exec(f.ctx, "update sign_in_failures set since = since - interval '13 minutes'"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.dir.SignIn(f.ctx, "ada@example.com", password); tooMany(err) == nil {
		t.Errorf("got %v", err)
	}
	if _, err := f.db.Exec(f.ctx, "update sign_in_failures set since = since - interval '2 minutes'"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.dir.SignIn(f.ctx, "ada@example.com", password); err != nil {
		t.Errorf("after the window: %v", err)
	}
	if _, err := accounts.NewSessionStore(f.db).DeleteExpired(f.ctx); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := f.db.QueryRow(f.ctx, "select count(*) from sign_in_failures").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d counts are left, %v", left, err)
	}
}

func TestASignInClearsTheCount(t *testing.T) {
	f := setup(t)
	for range 3 {
		for range 9 {
			_, _, err := f.dir.SignIn(f.ctx, f.user.Email, "not the password")
			wantUnauthenticated(t, err)
		}
		if _, _, err := f.dir.SignIn(f.ctx, f.user.Email, password); err != nil {
			t.Fatal(err)
		}
	}
}

// Tries at the same moment do not pass the limit together: at most as many more as run at once.
func TestParallelGuesses(t *testing.T) {
	f := setup(t)
	var mu sync.Mutex
	looked := 0
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			_, _, err := f.dir.SignIn(f.ctx, f.user.Email, "not the password")
			if tooMany(err) == nil {
				mu.Lock()
				looked++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if looked < 10 || looked > 14 {
		t.Errorf("%d passwords were looked at", looked)
	}
}
