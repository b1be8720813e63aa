package accounts_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"ironhold/accounts"
)

func (f fixture) add(t *testing.T, email string, role accounts.Role, org string) accounts.User {
	t.Helper()
	if org != "" && org != "acme" {
		if _, err := f.dir.OrgBySlug(f.ctx, org); isNotFound(err) {
			must(f.dir.AddOrg(f.ctx, by, org, org, 5, 50))(t)
		}
	}
	return must(f.dir.AddUser(f.ctx, by, accounts.NewUser{Email: email, Name: email, Role: role, OrgSlug: org, Password: password}))(t)
}

func wantRefused(t *testing.T, err error, why accounts.MemberReason) {
	t.Helper()
	refused, ok := errors.AsType[*accounts.MemberRefused](err)
	if !ok || refused.Why != why {
		t.Errorf("got %v, want %s", err, why)
	}
}

func TestMembers(t *testing.T) {
	f := setup(t)
	bea, rob := f.add(t, "bea@example.com", accounts.OrgAdmin, "acme"), f.add(t, "rob@example.com", accounts.OrgAdmin, "rival")
	session := f.session(t, f.user.ID)
	wantRefused(t, f.dir.DisableMember(f.ctx, by, f.org.ID, bea.ID, bea.ID), accounts.Yourself)
	wantRefused(t, f.dir.DisableMember(f.ctx, by, f.org.ID, f.user.ID, bea.ID), accounts.LastAdmin)
	wantRefused(t, f.dir.SetMemberRole(f.ctx, by, f.org.ID, f.user.ID, bea.ID, accounts.Customer), accounts.LastAdmin)
	wantInvalid(t, f.dir.SetMemberRole(f.ctx, by, f.org.ID, bea.ID, f.user.ID, accounts.Operator), "role")

	if err := f.dir.SetMemberRole(f.ctx, by, f.org.ID, bea.ID, f.user.ID, accounts.OrgAdmin); err != nil {
		t.Fatal(err)
	}
	if len(f.live(t, f.user.ID)) != 0 {
		t.Errorf("session %v is alive after a change of role", session)
	}
	if u := must(f.dir.Member(f.ctx, f.org.ID, f.user.ID))(t); u.Role != accounts.OrgAdmin {
		t.Errorf("got %+v", u)
	}
	f.session(t, bea.ID)
	for range 2 {
		if err := f.dir.DisableMember(f.ctx, by, f.org.ID, f.user.ID, bea.ID); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.live(t, bea.ID)) != 0 {
		t.Error("a disabled member is signed in")
	}
	wantRefused(t, f.dir.SetMemberRole(f.ctx, by, f.org.ID, bea.ID, f.user.ID, accounts.Customer), accounts.LastAdmin)
	if err := f.dir.EnableMember(f.ctx, by, f.org.ID, bea.ID); err != nil {
		t.Fatal(err)
	}
	// Another organisation's answer as missing ones do.
	for name, err := range map[string]error{
		"role":    f.dir.SetMemberRole(f.ctx, by, f.org.ID, bea.ID, rob.ID, accounts.Customer),
		"disable": f.dir.DisableMember(f.ctx, by, f.org.ID, bea.ID, rob.ID),
		"enable":  f.dir.EnableMember(f.ctx, by, f.org.ID, rob.ID),
		"missing": f.dir.EnableMember(f.ctx, by, f.org.ID, uuid.New()),
	} {
		if !isNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.dir.Member(f.ctx, f.org.ID, rob.ID); !isNotFound(err) {
		t.Errorf("got %v", err)
	}
	first := must(f.dir.Members(f.ctx, f.org.ID, uuid.Nil, 1))(t)
	rest := must(f.dir.Members(f.ctx, f.org.ID, first[0].ID, 10))(t)
	if len(first) != 1 || len(rest) != 1 || first[0].ID == rest[0].ID {
		t.Errorf("%v, then %v", first, rest)
	}
}

// Two administrators who disable each other at the same moment: one stays.
func TestOneAdministratorStays(t *testing.T) {
	f := setup(t)
	a, b := f.add(t, "a@example.com", accounts.OrgAdmin, "acme"), f.add(t, "b@example.com", accounts.OrgAdmin, "acme")
	for range 10 {
		var wg sync.WaitGroup
		wg.Go(func() { _ = f.dir.DisableMember(f.ctx, by, f.org.ID, a.ID, b.ID) })
		wg.Go(func() { _ = f.dir.SetMemberRole(f.ctx, by, f.org.ID, b.ID, a.ID, accounts.Customer) })
		wg.Wait()
		var left int
		err := f.db.QueryRow(f.ctx, "select count(*) from users where role = 'org-admin' and disabled_at is null").Scan(&left)
		if err != nil || left != 1 {
			t.Fatalf("%d administrators, %v", left, err)
		}
		if _, err := f.db.Exec(f.ctx, "update users set role = 'org-admin', disabled_at = null where id in ($1, $2)", a.ID, b.ID); err != nil {
			t.Fatal(err)
		}
	}
}
