package accounts_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
)

func TestSignIn(t *testing.T) {
	f := setup(t)
	actor, id, err := f.dir.SignIn(f.ctx, " ADA@example.com", password)
	if err != nil || id != f.user.ID || actor.ID != id {
		t.Fatalf("got %v %v", id, err)
	}
	if actor.Kind != "user" || actor.Role != accounts.Customer || actor.OrgID != f.org.ID || actor.OrgSlug != "acme" || actor.OrgName != "Acme" {
		t.Errorf("got %+v", actor)
	}
	if again := must(f.dir.ActorOfUser(f.ctx, id))(t); again != actor {
		t.Errorf("got %+v, want %+v", again, actor)
	}
}

// Whoever tries addresses must not learn which exist: same words, and the password is hashed for
// an unknown address too.
func TestRefusedSignInsAreAlike(t *testing.T) {
	f := setup(t)
	if err := f.dir.DisablePerson(f.ctx, by, uuid.Nil, must(f.dir.AddUser(f.ctx, by, accounts.NewUser{
		Email: "gone@example.com", Name: "Gone", Role: accounts.Sales, Password: password,
	}))(t).ID); err != nil {
		t.Fatal(err)
	}
	if _, err := f.db.Exec(f.ctx, `insert into users (email, name, role) values ('bare@example.com', 'No Password', 'sales')`); err != nil {
		t.Fatal(err)
	}
	fastest := time.Hour
	var words []string
	for _, c := range [][2]string{
		{"ada@example.com", "wrong password!"},
		{"ada@example.com", ""},
		{"ada@example.com", strings.Repeat("x", 10_000)},
		{"nobody@example.com", password},
		{"not an address \x00", password},
		{"gone@example.com", password},
		{"bare@example.com", ""},
	} {
		begun := time.Now()
		_, _, err := f.dir.SignIn(f.ctx, c[0], c[1])
		fastest = min(fastest, time.Since(begun))
		words = append(words, wantUnauthenticated(t, err))
	}
	for _, w := range words {
		if w != words[0] {
			t.Errorf("%q differs from %q", w, words[0])
		}
	}
	if fastest < 5*time.Millisecond {
		t.Errorf("a refusal took only %s: no password was hashed", fastest)
	}
}

// different is a text of so many letters, none of them twice, each of more than one byte.
func different(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteRune('語' + rune(i))
	}
	return b.String()
}

func TestPasswordLengthsCountCharacters(t *testing.T) {
	f := setup(t)
	for name, c := range map[string]struct {
		password string
		ok       bool
	}{
		"11":                 {different(11), false},
		"12":                 {different(12), true},
		"200":                {different(200), true},
		"201":                {different(201), false},
		"spaces":             {"a  b    c  d", true},
		"no text":            {strings.Repeat("\xff", 12), false},
		"decomposed letters": {strings.Repeat("a\u0308", 11), false},
	} {
		err := f.dir.SetPassword(f.ctx, by, f.user.ID, c.password)
		if c.ok && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !c.ok {
			wantInvalid(t, err, "password")
		}
	}
	// The last of 200 characters counts, and composed or decomposed typing is one password.
	long := different(199) + "\u00e4"
	if err := f.dir.SetPassword(f.ctx, by, f.user.ID, long); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.dir.SignIn(f.ctx, f.user.Email, different(199)+"a\u0308"); err != nil {
		t.Error(err)
	}
	_, _, err := f.dir.SignIn(f.ctx, f.user.Email, different(199)+"y")
	wantUnauthenticated(t, err)
}

func TestPasswordsAreStoredAsArgon2id(t *testing.T) {
	f := setup(t)
	var stored string
	if err := f.db.QueryRow(f.ctx, "select password_hash from users where id = $1", f.user.ID).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stored, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("stored as %q", stored)
	}
	// A row that asks for enormous costs, or is no hash at all, refuses.
	for _, hash := range []string{"$argon2id$v=19$m=9999999,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA", "plain", "$argon2id$$$$", strings.Replace(stored, "argon2id", "argon2i", 1)} {
		if _, err := f.db.Exec(f.ctx, "update users set password_hash = $2 where id = $1", f.user.ID, hash); err != nil {
			t.Fatal(err)
		}
		_, _, err := f.dir.SignIn(f.ctx, f.user.Email, password)
		wantUnauthenticated(t, err)
	}
}

func TestManySignInsQueue(t *testing.T) {
	f := setup(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, _, err := f.dir.SignIn(f.ctx, f.user.Email, password); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if _, _, err := f.dir.SignIn(ctx, f.user.Email, password); err == nil {
		t.Error("signed in for a request that is gone")
	}
}

func TestDisabledPeopleAreNobody(t *testing.T) {
	f := setup(t)
	if err := f.dir.DisablePerson(f.ctx, by, uuid.Nil, f.user.ID); err != nil {
		t.Fatal(err)
	}
	_, err := f.dir.ActorOfUser(f.ctx, f.user.ID)
	wantUnauthenticated(t, err)
	if err := f.dir.EnablePerson(f.ctx, by, f.user.ID); err != nil {
		t.Fatal(err)
	}
	must(f.dir.ActorOfUser(f.ctx, f.user.ID))(t)
	_, err = f.dir.ActorOfUser(f.ctx, uuid.New())
	wantUnauthenticated(t, err)
	if err := f.dir.DisablePerson(f.ctx, by, uuid.Nil, uuid.New()); !isNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func isNotFound(err error) bool {
	_, ok := errors.AsType[*accounts.NotFound](err)
	return ok
}
