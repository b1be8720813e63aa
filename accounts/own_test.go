package accounts_test

import (
	"errors"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"ironhold/accounts"
)

// session stores one of the person and returns its id.
func (f fixture) session(t *testing.T, user uuid.UUID) uuid.UUID {
	t.Helper()
	id := uuid.New()
	data, err := scs.GobCodec{}.Encode(time.Now().Add(time.Hour), map[string]any{
		accounts.SessionUserKey: user.String(), accounts.SessionIDKey: id.String(),
		accounts.SessionAgentKey: "Browser", accounts.SessionNetworkKey: "192.0.2.1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.NewSessionStore(f.db).CommitCtx(f.ctx, "token of "+id.String(), data, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return id
}

func (f fixture) live(t *testing.T, user uuid.UUID) (ids []uuid.UUID) {
	t.Helper()
	for _, s := range must(f.dir.Sessions(f.ctx, user))(t) {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestOwnSessions(t *testing.T) {
	f := setup(t)
	bea := must(f.dir.AddUser(f.ctx, by, accounts.NewUser{Email: "bea@example.com", Name: "Bea", Role: accounts.OrgAdmin, OrgSlug: "acme", Password: password}))(t)
	a, b, c := f.session(t, f.user.ID), f.session(t, f.user.ID), f.session(t, f.user.ID)
	hers := f.session(t, bea.ID)
	list := must(f.dir.Sessions(f.ctx, f.user.ID))(t)
	if len(list) != 3 || list[0].UserAgent != "Browser" || list[0].Network != "192.0.2.1" || list[0].CreatedAt.IsZero() {
		t.Fatalf("got %+v", list)
	}
	if err := f.dir.EndSession(f.ctx, by, f.user.ID, hers); !isNotFound(err) {
		t.Errorf("another's session: %v", err)
	}
	for range 2 {
		if err := f.dir.EndSession(f.ctx, by, f.user.ID, a); err != nil {
			t.Error(err)
		}
	}
	if got := f.live(t, f.user.ID); len(got) != 2 {
		t.Errorf("%v are left", got)
	}
	if err := f.dir.EndOtherSessions(f.ctx, by, f.user.ID, b); err != nil {
		t.Fatal(err)
	}
	if got := f.live(t, f.user.ID); len(got) != 1 || got[0] != b {
		t.Errorf("%v are left, not %v", got, c)
	}
	if got := f.live(t, bea.ID); len(got) != 1 {
		t.Errorf("another's sessions: %v", got)
	}
}

func TestChangePassword(t *testing.T) {
	f := setup(t)
	mine, other := f.session(t, f.user.ID), f.session(t, f.user.ID)
	change := func(old, chosen string) error { return f.dir.ChangePassword(f.ctx, by, f.user.ID, old, chosen, mine) }
	for _, c := range []struct {
		old, chosen string
		wrong       bool
		weak        accounts.Weakness
	}{
		{"wrong", "tea with a llama", true, ""},
		{password, "passwordpassword", false, accounts.CommonPassword},
		{"wrong", "ada@example.com", true, accounts.PersonalPassword},
	} {
		refused, ok := errors.AsType[*accounts.PasswordRefused](change(c.old, c.chosen))
		if !ok || refused.Old != c.wrong {
			t.Errorf("%q, %q: %+v", c.old, c.chosen, refused)
			continue
		}
		weak, _ := refused.New.(*accounts.WeakPassword)
		if (c.weak == "") != (refused.New == nil) || weak != nil && weak.Weakness != c.weak {
			t.Errorf("%q, %q: %v", c.old, c.chosen, refused.New)
		}
	}
	if refused, ok := errors.AsType[*accounts.PasswordRefused](change(password, "short")); !ok {
		t.Error("a short one was taken")
	} else {
		wantInvalid(t, refused.New, "password")
	}
	if len(f.live(t, f.user.ID)) != 2 {
		t.Error("a refused change ended sessions")
	}
	if err := change(password, "tea with a llama"); err != nil {
		t.Fatal(err)
	}
	if got := f.live(t, f.user.ID); len(got) != 1 || got[0] != mine {
		t.Errorf("%v are left of %v and %v", got, mine, other)
	}
	must3(f.dir.SignIn(f.ctx, f.user.Email, "tea with a llama"))(t)
	_, _, err := f.dir.SignIn(f.ctx, f.user.Email, password)
	wantUnauthenticated(t, err)
	// A stolen session cannot try passwords without end.
	for range 20 {
		err = f.dir.ConfirmPassword(f.ctx, f.user.ID, "not it")
	}
	if tooMany(err) == nil {
		t.Errorf("got %v", err)
	}
}

func must3[A, B any](_ A, _ B, err error) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}
