package accounts_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/accounts"
)

const chosen = "tea with a llama"

func wantEnded(t *testing.T, err error, why accounts.LinkEnd) {
	t.Helper()
	ended, ok := errors.AsType[*accounts.LinkEnded](err)
	if !ok || ended.Why != why {
		t.Errorf("got %v, want %s", err, why)
	}
}

func (f fixture) invite(t *testing.T, email string) (string, accounts.Invitation) {
	t.Helper()
	secret, inv, err := f.dir.Invite(f.ctx, by, f.org.ID, email, accounts.Customer)
	if err != nil {
		t.Fatal(err)
	}
	return secret, inv
}

func TestInvitations(t *testing.T) {
	f := setup(t)
	f.add(t, "rob@example.com", accounts.OrgAdmin, "rival")
	rival := must(f.dir.OrgBySlug(f.ctx, "rival"))(t)
	secret, inv := f.invite(t, " Cy@Example.com")
	if left := time.Until(inv.ExpiresAt); inv.Email != "cy@example.com" || inv.OrgName != "Acme" || left < 6*24*time.Hour || left > 8*24*time.Hour {
		t.Errorf("got %+v", inv)
	}
	var kept int
	err := f.db.QueryRow(f.ctx, "select count(*) from invitations i where position($1 in i::text) > 0", secret).Scan(&kept)
	if err != nil || kept != 0 {
		t.Errorf("the secret is kept, %v", err)
	}
	// A second one takes the place of the first.
	again, inv := f.invite(t, "cy@example.com")
	_, err = f.dir.InvitationBy(f.ctx, secret)
	wantEnded(t, err, accounts.LinkRevoked)
	if list := must(f.dir.Invitations(f.ctx, f.org.ID))(t); len(list) != 1 || list[0].ID != inv.ID {
		t.Errorf("open are %+v", list)
	}
	if list := must(f.dir.Invitations(f.ctx, rival.ID))(t); len(list) != 0 {
		t.Errorf("another organisation sees %+v", list)
	}
	if err := f.dir.RevokeInvitation(f.ctx, by, rival.ID, inv.ID); !isNotFound(err) {
		t.Errorf("another organisation revoked it: %v", err)
	}
	for name, n := range map[string]accounts.Newcomer{
		"name":      {Name: " ", Password: chosen},
		"password":  {Name: "Cy", Password: "short"},
		"time_zone": {Name: "Cy", Password: chosen, TimeZone: "Mars/Olympus"},
	} {
		_, err := f.dir.Accept(f.ctx, "r", again, n)
		wantInvalid(t, err, name)
	}
	if _, err := f.dir.Accept(f.ctx, "r", again, accounts.Newcomer{Name: "Cy", Password: "cy@example.com"}); err == nil {
		t.Error("the own address as password was taken")
	}
	user := must(f.dir.Accept(f.ctx, "r", again, accounts.Newcomer{Name: " Cy ", Password: chosen, TimeZone: "Europe/Berlin"}))(t)
	if user.Name != "Cy" || user.Role != accounts.Customer || *user.OrgID != f.org.ID || user.TimeZone != "Europe/Berlin" {
		t.Errorf("got %+v", user)
	}
	must3(f.dir.SignIn(f.ctx, "cy@example.com", chosen))(t)
	_, err = f.dir.Accept(f.ctx, "r", again, accounts.Newcomer{Name: "Cy", Password: chosen})
	wantEnded(t, err, accounts.LinkUsed)
	if err := f.dir.RevokeInvitation(f.ctx, by, f.org.ID, inv.ID); err != nil {
		t.Errorf("an accepted one: %v", err)
	}

	_, _, err = f.dir.Invite(f.ctx, by, f.org.ID, "cy@example.com", accounts.Customer)
	wantRefused(t, err, accounts.IsMember)
	_, _, err = f.dir.Invite(f.ctx, by, f.org.ID, "no address", accounts.Customer)
	wantInvalid(t, err, "email")
	_, _, err = f.dir.Invite(f.ctx, by, f.org.ID, "x@example.com", accounts.Operator)
	wantInvalid(t, err, "role")
	// Whether somebody elsewhere has the address is told to nobody but them.
	taken, _ := f.invite(t, "rob@example.com")
	_, err = f.dir.Accept(f.ctx, "r", taken, accounts.Newcomer{Name: "Rob", Password: chosen})
	wantInvalid(t, err, "email")

	secret, inv = f.invite(t, "dee@example.com")
	if err := f.dir.RevokeInvitation(f.ctx, by, f.org.ID, inv.ID); err != nil {
		t.Fatal(err)
	}
	_, err = f.dir.Accept(f.ctx, "r", secret, accounts.Newcomer{Name: "Dee", Password: chosen})
	wantEnded(t, err, accounts.LinkRevoked)
	secret, _ = f.invite(t, "dee@example.com")
	if _, err := f.db.Exec(f.ctx, "update invitations set expires_at = clock_timestamp() where email = 'dee@example.com'"); err != nil {
		t.Fatal(err)
	}
	_, err = f.dir.Accept(f.ctx, "r", secret, accounts.Newcomer{Name: "Dee", Password: chosen})
	wantEnded(t, err, accounts.LinkExpired)
	for _, s := range []string{"", "x", strings.Repeat("a", 5000), "\x00\xff"} {
		_, err = f.dir.InvitationBy(f.ctx, s)
		wantEnded(t, err, accounts.LinkUnknown)
	}
}

func TestAnInvitationWorksOnce(t *testing.T) {
	f := setup(t)
	secret, _ := f.invite(t, "cy@example.com")
	var mu sync.Mutex
	made := 0
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, err := f.dir.Accept(f.ctx, "r", secret, accounts.Newcomer{Name: "Cy", Password: chosen}); err == nil {
				mu.Lock()
				made++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("%d people were made", made)
	}
}

func TestResets(t *testing.T) {
	f := setup(t)
	bea, rob := f.add(t, "bea@example.com", accounts.OrgAdmin, "acme"), f.add(t, "rob@example.com", accounts.Customer, "rival")
	reset := func() string {
		t.Helper()
		secret, until, err := f.dir.AddReset(f.ctx, by, f.org.ID, bea.ID, f.user.ID)
		if left := time.Until(until); err != nil || left > 61*time.Minute || left < 59*time.Minute {
			t.Fatalf("%v, %v", until, err)
		}
		return secret
	}
	_, _, err := f.dir.AddReset(f.ctx, by, f.org.ID, bea.ID, bea.ID)
	wantRefused(t, err, accounts.Yourself)
	if _, _, err := f.dir.AddReset(f.ctx, by, f.org.ID, bea.ID, rob.ID); !isNotFound(err) {
		t.Errorf("another organisation's: %v", err)
	}
	old := reset()
	secret := reset()
	wantEnded(t, f.dir.UseReset(f.ctx, "r", old, chosen), accounts.LinkRevoked)
	if u := must(f.dir.ResetBy(f.ctx, secret))(t); u.ID != f.user.ID {
		t.Errorf("got %+v", u)
	}
	wantInvalid(t, f.dir.UseReset(f.ctx, "r", secret, "short"), "password")
	for range 12 { // somebody guesses
		_, _, _ = f.dir.SignIn(f.ctx, f.user.Email, "not the password")
	}
	f.session(t, f.user.ID)
	if err := f.dir.UseReset(f.ctx, "r", secret, chosen); err != nil {
		t.Fatal(err)
	}
	if len(f.live(t, f.user.ID)) != 0 {
		t.Error("sessions are alive after a reset")
	}
	must3(f.dir.SignIn(f.ctx, f.user.Email, chosen))(t)
	wantEnded(t, f.dir.UseReset(f.ctx, "r", secret, chosen), accounts.LinkUsed)

	for name, end := range map[string]func() error{
		"changed": func() error {
			return f.dir.ChangePassword(f.ctx, by, f.user.ID, chosen, "coffee with a llama", f.org.ID)
		},
		"disabled": func() error { return f.dir.DisableMember(f.ctx, by, f.org.ID, bea.ID, f.user.ID) },
	} {
		if err := f.dir.EnableMember(f.ctx, by, f.org.ID, f.user.ID); err != nil {
			t.Fatal(err)
		}
		secret := reset()
		if err := end(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wantEnded(t, f.dir.UseReset(f.ctx, "r", secret, "something else again"), accounts.LinkRevoked)
	}
	_, _, err = f.dir.AddReset(f.ctx, by, f.org.ID, bea.ID, f.user.ID)
	if err == nil {
		t.Log("changed ran last")
	}
	if _, err := f.db.Exec(f.ctx, "update users set disabled_at = null"); err != nil {
		t.Fatal(err)
	}
	secret = reset()
	if _, err := f.db.Exec(f.ctx, "update password_resets set expires_at = clock_timestamp() where used_at is null and revoked_at is null"); err != nil {
		t.Fatal(err)
	}
	wantEnded(t, f.dir.UseReset(f.ctx, "r", secret, chosen), accounts.LinkExpired)
}

// Whoever forgot their password is sent a link, one in ten minutes at most; who asks learns nothing.
func TestForgot(t *testing.T) {
	f := setup(t)
	var mu sync.Mutex
	var sent []accounts.Link
	f.dir.OnLink(func(_ context.Context, _ pgx.Tx, l accounts.Link) error {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, l)
		return nil
	})
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if err := f.dir.Forgot(f.ctx, "r", " ADA@example.com "); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := f.dir.Forgot(f.ctx, "r", "nobody@example.com"); err != nil {
		t.Error(err)
	}
	if len(sent) != 1 || sent[0].Kind != "password_reset" || sent[0].Email != f.user.Email || *sent[0].UserID != f.user.ID || *sent[0].OrgID != f.org.ID {
		t.Fatalf("%+v", sent)
	}
	if _, err := f.db.Exec(f.ctx, "update password_resets set created_at = created_at - interval '11 minutes'"); err != nil {
		t.Fatal(err)
	}
	if err := f.dir.Forgot(f.ctx, "r", f.user.Email); err != nil || len(sent) != 2 {
		t.Fatalf("%d links, %v", len(sent), err)
	}
	wantEnded(t, f.dir.UseReset(f.ctx, "r", sent[0].Secret, chosen), accounts.LinkRevoked)
	if err := f.dir.UseReset(f.ctx, "r", sent[1].Secret, chosen); err != nil {
		t.Error(err)
	}
	if _, err := f.db.Exec(f.ctx, "update users set disabled_at = clock_timestamp()"); err != nil {
		t.Fatal(err)
	}
	if err := f.dir.Forgot(f.ctx, "r", f.user.Email); err != nil || len(sent) != 2 {
		t.Errorf("a disabled person: %d links, %v", len(sent), err)
	}
	wantInvalid(t, f.dir.Forgot(f.ctx, "r", "nonsense"), "email")
}
