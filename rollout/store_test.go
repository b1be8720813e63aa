package rollout_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/rollout"
)

var by = pg.By{Actor: "command:test"}

func setup(t *testing.T) (*pgxpool.Pool, *rollout.Store, accounts.Org) {
	t.Helper()
	t.Parallel()
	url := pgtest.URL(t)
	login := pgtest.Pool(t, pgtest.LoginURL(t, url))
	org, err := accounts.New(login).AddOrg(t.Context(), by, "acme", "Acme", 5, 50)
	if err != nil {
		t.Fatal(err)
	}
	return login, rollout.New(login), org
}

func TestLaunchAndSettings(t *testing.T) {
	_, store, org := setup(t)
	ctx := t.Context()
	if l, err := store.Launch(ctx); err != nil || l.Launch != "off" {
		t.Fatalf("a new database: %+v, %v", l, err)
	}
	for _, wrong := range []string{"", "ON", "101%", "5", "05%", "-1%", "5.5%"} {
		_, err := store.SetLaunch(ctx, by, wrong)
		if invalid, ok := errors.AsType[*accounts.Invalid](err); !ok || invalid.Field != "launch" {
			t.Errorf("SetLaunch(%q): %v", wrong, err)
		}
	}
	for _, launch := range []string{"opt-in", "0%", "100%", "on"} {
		if l, err := store.SetLaunch(ctx, by, launch); err != nil || l.Launch != launch || l.ChangedBy != by.Actor {
			t.Errorf("got %+v, %v", l, err)
		}
	}
	before, err := store.SetLaunch(ctx, pg.By{Actor: "command:other"}, "on")
	if err != nil || before.ChangedBy != by.Actor {
		t.Errorf("the same again is a change: %+v, %v", before, err)
	}

	st, err := store.Status(ctx, org.ID)
	if err != nil || !st.Effective || st.Reason != rollout.ReasonLaunchOn || st.ChangedAt != nil || st.WhoCanChange != "" {
		t.Errorf("got %+v, %v", st, err)
	}
	st, err = store.SetOrg(ctx, by, "acme", "off")
	if err != nil || st.Effective || st.Setting != "off" || st.Reason != rollout.ReasonOrgOff || st.WhoCanChange != "org-admin" {
		t.Errorf("got %+v, %v", st, err)
	}
	if st.ChangedAt == nil || st.ChangedBy != by.Actor {
		t.Errorf("changed by %q at %v", st.ChangedBy, st.ChangedAt)
	}
	if _, err := store.SetOrg(ctx, by, "acme", "maybe"); err == nil {
		t.Error("an unknown setting was taken")
	}
	_, err = store.SetOrg(ctx, by, "nobody", "on")
	if _, ok := errors.AsType[*accounts.NotFound](err); !ok {
		t.Errorf("got %v", err)
	}
}

// ask runs the precondition as an order does: after the organisation's row is locked.
func ask(ctx context.Context, t *testing.T, db pg.DB, store *rollout.Store, org uuid.UUID) (refusal *allocator.RolloutRefusal) {
	t.Helper()
	err := pg.Engine(ctx, db, by, func(tx pgx.Tx) error {
		var b pgx.Batch
		b.Queue("select from org_limits where org_id = $1 for no key update", org)
		read := store.Precondition()(&b, org)
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		refusal = read()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return refusal
}

func TestPrecondition(t *testing.T) {
	db, store, org := setup(t)
	ctx := t.Context()
	for _, c := range []struct{ launch, setting, reason, who string }{
		{"off", "on", "launch_off", "operator"},
		{"opt-in", "inherit", "not_opted_in", "org-admin"},
		{"0%", "inherit", "percentage_out", "org-admin"},
		{"on", "off", "org_off", "org-admin"},
		{"on", "inherit", "", ""},
		{"opt-in", "on", "", ""},
		{"100%", "inherit", "", ""},
	} {
		if _, err := store.SetLaunch(ctx, by, c.launch); err != nil {
			t.Fatal(err)
		}
		if _, err := store.SetOrg(ctx, by, "acme", c.setting); err != nil {
			t.Fatal(err)
		}
		refusal := ask(ctx, t, db, store, org.ID)
		if refusal == nil {
			refusal = &allocator.RolloutRefusal{}
		}
		if refusal.Reason != c.reason || refusal.WhoCanChange != c.who {
			t.Errorf("%s, %s: got %+v, want %s", c.launch, c.setting, refusal, c.reason)
		}
	}
}

// An order that waits for the organisation's lock while the admin says off is bound by that off.
func TestOffBindsWhoWaitedForTheLock(t *testing.T) {
	db, store, org := setup(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := store.SetLaunch(ctx, by, "on"); err != nil {
		t.Fatal(err)
	}
	answer := make(chan *allocator.RolloutRefusal, 1)
	err := pg.Engine(ctx, db, by, func(tx pgx.Tx) error {
		if _, err := rollout.New(tx).SetOrg(ctx, by, "acme", "off"); err != nil {
			return err
		}
		go func() { answer <- ask(ctx, t, db, store, org.ID) }()
		select {
		case refusal := <-answer:
			t.Errorf("did not wait for the lock: %+v", refusal)
		case <-time.After(200 * time.Millisecond):
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if refusal := <-answer; refusal == nil || refusal.Reason != rollout.ReasonOrgOff {
		t.Errorf("got %+v, want org_off", refusal)
	}
}

// The operator's switch waits for no order.
func TestLaunchDoesNotWaitForOrders(t *testing.T) {
	db, store, org := setup(t)
	ctx := t.Context()
	err := pg.Engine(ctx, db, by, func(tx pgx.Tx) error {
		var b pgx.Batch
		b.Queue("select from org_limits where org_id = $1 for no key update", org.ID)
		store.Precondition()(&b, org.ID)
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		begun := time.Now()
		_, err := store.SetLaunch(ctx, by, "on")
		if d := time.Since(begun); d > time.Second {
			t.Errorf("the operator waited %s", d)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHistory(t *testing.T) {
	_, store, org := setup(t)
	ctx := t.Context()
	for _, l := range []string{"on", "25%"} {
		if _, err := store.SetLaunch(ctx, by, l); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.SetOrg(ctx, by, "acme", "off"); err != nil {
		t.Fatal(err)
	}
	for _, who := range []uuid.UUID{org.ID, {}} {
		list, err := store.History(ctx, who, 10)
		if err != nil || len(list) != 3 {
			t.Fatalf("%d changes, %v", len(list), err)
		}
		if c := list[0]; c.OrgSlug != "acme" || c.Before != "inherit" || c.After != "off" || c.Actor != by.Actor || c.At.IsZero() {
			t.Errorf("newest: %+v", c)
		}
		if c := list[1]; c.OrgID != nil || c.Before != "on" || c.After != "25%" {
			t.Errorf("launch: %+v", c)
		}
	}
	if list, err := store.History(ctx, uuid.New(), 10); err != nil || len(list) != 2 {
		t.Errorf("another organisation sees %d, %v", len(list), err)
	}
}
