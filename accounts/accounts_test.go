package accounts_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
)

const password = "correct horse battery"

var by = pg.By{Actor: "command:test"}

type fixture struct {
	ctx  context.Context
	db   *pgxpool.Pool
	dir  *accounts.Directory
	org  accounts.Org
	user accounts.User // a customer of org
}

// setup works as the application's login, which may do nothing outside the engine's transactions.
func setup(t *testing.T) fixture {
	t.Helper()
	t.Parallel()
	f := fixture{ctx: t.Context()}
	url := pgtest.URL(t)
	f.db = pgtest.Pool(t, url)
	f.dir = accounts.New(pgtest.Pool(t, pgtest.LoginURL(t, url)))
	f.org = must(f.dir.AddOrg(f.ctx, by, "acme", "Acme", 5, 50))(t)
	f.user = must(f.dir.AddUser(f.ctx, by, accounts.NewUser{
		Email: "Ada@Example.COM", Name: " Ada ", Role: accounts.Customer, OrgSlug: "acme", Password: password,
	}))(t)
	return f
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	invalid, ok := errors.AsType[*accounts.Invalid](err)
	if !ok || invalid.Field != field {
		t.Errorf("got %v, want an Invalid that names %s", err, field)
	}
}

func wantUnauthenticated(t *testing.T, err error) string {
	t.Helper()
	refused, ok := errors.AsType[*accounts.Unauthenticated](err)
	if !ok {
		t.Fatalf("got %v, want Unauthenticated", err)
	}
	return refused.Message
}

func TestAddOrgNamesTheBadField(t *testing.T) {
	f := setup(t)
	for _, c := range []struct {
		slug, name            string
		maxHolds, maxMachines int
		field                 string
	}{
		{"acme", "Other", 5, 50, "slug"},
		{"Acme", "Other", 5, 50, "slug"},
		{"-a", "Other", 5, 50, "slug"},
		{"", "Other", 5, 50, "slug"},
		{"a\x00", "Other", 5, 50, "slug"},
		{strings.Repeat("a", 64), "Other", 5, 50, "slug"},
		{"other", "  ", 5, 50, "name"},
		{"other", "two\nlines", 5, 50, "name"},
		{"other", strings.Repeat("ä", 201), 5, 50, "name"},
		{"other", "Other", -1, 50, "max_holds"},
		{"other", "Other", 5, 1_000_001, "max_machines"},
	} {
		_, err := f.dir.AddOrg(f.ctx, by, c.slug, c.name, c.maxHolds, c.maxMachines)
		wantInvalid(t, err, c.field)
	}
	other := must(f.dir.AddOrg(f.ctx, by, "other", strings.Repeat("ä", 200), 0, 0))(t)
	if other.MaxHolds != 0 || other.MaxMachines != 0 || other.Rollout != "inherit" {
		t.Errorf("got %+v", other)
	}
	if n := len(must(f.dir.Orgs(f.ctx))(t)); n != 2 {
		t.Errorf("%d organisations, want 2", n)
	}
}

func TestLimitsAndSuspension(t *testing.T) {
	f := setup(t)
	org := must(f.dir.SetLimits(f.ctx, by, "acme", 2, 3))(t)
	if org.MaxHolds != 2 || org.MaxMachines != 3 {
		t.Errorf("got %+v", org)
	}
	_, err := f.dir.SetLimits(f.ctx, by, "acme", 2, -3)
	wantInvalid(t, err, "max_machines")
	_, err = f.dir.SetLimits(f.ctx, by, "nobody", 2, 3)
	if _, ok := errors.AsType[*accounts.NotFound](err); !ok {
		t.Errorf("got %v", err)
	}
	_, err = f.dir.Suspend(f.ctx, by, "acme", " ")
	wantInvalid(t, err, "reason")
	must(f.dir.Suspend(f.ctx, by, "acme", "unpaid"))(t)
	org = must(f.dir.Suspend(f.ctx, by, "acme", "again"))(t)
	if org.SuspendedAt == nil || org.SuspendedReason != "unpaid" || org.SuspendedBy != by.Actor {
		t.Errorf("got %+v", org)
	}
	org = must(f.dir.Resume(f.ctx, by, "acme", "paid"))(t)
	if org.SuspendedAt != nil || org.SuspendedReason != "" {
		t.Errorf("got %+v", org)
	}
	var actor string
	if err := f.db.QueryRow(f.ctx, "select actor from limit_events where org_id = $1", org.ID).Scan(&actor); err != nil || actor != by.Actor {
		t.Errorf("actor %q, %v", actor, err)
	}
}

func TestAnOrganisationWithoutItsLockRowGetsOne(t *testing.T) {
	f := setup(t)
	if _, err := f.db.Exec(f.ctx, "insert into organisations (slug, name) values ('bare', 'Bare')"); err != nil {
		t.Fatal(err)
	}
	org := must(f.dir.OrgBySlug(f.ctx, "bare"))(t)
	if org.MaxHolds != 5 || org.MaxMachines != 50 || org.Rollout != "inherit" {
		t.Errorf("got %+v", org)
	}
	if org = must(f.dir.SetRollout(f.ctx, by, org.ID, "on"))(t); org.Rollout != "on" {
		t.Errorf("got %+v", org)
	}
	_, err := f.dir.SetRollout(f.ctx, by, uuid.New(), "on")
	if _, ok := errors.AsType[*accounts.NotFound](err); !ok {
		t.Errorf("got %v", err)
	}
	_, err = f.dir.SetRollout(f.ctx, by, org.ID, "maybe")
	wantInvalid(t, err, "setting")
}

func TestAddUserNamesTheBadField(t *testing.T) {
	f := setup(t)
	if f.user.Email != "ada@example.com" || f.user.Name != "Ada" || f.user.TimeZone != "UTC" {
		t.Errorf("got %+v", f.user)
	}
	good := accounts.NewUser{Email: "b@example.com", Name: "B", Role: accounts.Customer, OrgSlug: "acme", Password: password}
	for field, change := range map[string]func(u *accounts.NewUser){
		"email":     func(u *accounts.NewUser) { u.Email = "no address" },
		"name":      func(u *accounts.NewUser) { u.Name = "" },
		"role":      func(u *accounts.NewUser) { u.Role = "king" },
		"org":       func(u *accounts.NewUser) { u.OrgSlug = "" },
		"password":  func(u *accounts.NewUser) { u.Password = "eleven char" },
		"time_zone": func(u *accounts.NewUser) { u.TimeZone = "Mars/Base" },
		"language":  func(u *accounts.NewUser) { u.Language = "english!" },
	} {
		u := good
		change(&u)
		_, err := f.dir.AddUser(f.ctx, by, u)
		wantInvalid(t, err, field)
	}
	u := good
	u.Role = accounts.Sales // with an organisation
	_, err := f.dir.AddUser(f.ctx, by, u)
	wantInvalid(t, err, "org")
	u = good
	u.Email = "ADA@example.com"
	_, err = f.dir.AddUser(f.ctx, by, u)
	wantInvalid(t, err, "email")
	u = good
	u.OrgSlug = "nobody"
	_, err = f.dir.AddUser(f.ctx, by, u)
	if _, ok := errors.AsType[*accounts.NotFound](err); !ok {
		t.Errorf("got %v", err)
	}
	if n := len(must(f.dir.Users(f.ctx, f.org.ID))(t)); n != 1 {
		t.Errorf("%d people, want 1", n)
	}
	if n := len(must(f.dir.Users(f.ctx, uuid.Nil))(t)); n != 0 {
		t.Errorf("%d staff, want 0", n)
	}
}
