package vitals_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/migrations/pg/vitals"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// TestReadsWhoHoldsOthersUp has an outside session, another login's, keep a row: the application's
// login sees that it holds somebody up, and for how long.
func TestReadsWhoHoldsOthersUp(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	org := fixture.Org(t, owner, "acme", 5, 5)
	app := fixture.App(t, owner, 4)

	calm, err := vitals.Read(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	if !calm.SeesAll || calm.LockWaits != 0 || len(calm.Blockers) != 0 || calm.MaxConnections == 0 || calm.DatabaseBytes == 0 {
		t.Errorf("in peace: %+v", calm)
	}

	intruder, err := owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = intruder.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := intruder.Exec(t.Context(), "select from org_limits where org_id = $1 for update", org); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { waited <- lockOrg(ctx, app, org) }()
	defer func() { cancel(); <-waited }()

	for {
		r, err := vitals.Read(t.Context(), app)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Blockers) == 0 { // nobody has waited for a second yet
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if r.LockWaits != 1 || r.LongestLockWait < time.Second || r.IdleInTransaction < 1 || r.OldestIdle <= 0 || r.OldestTransaction <= 0 {
			t.Errorf("%+v", r)
		}
		if b := r.Blockers[0]; b.HoldsUp != 1 || b.State != "idle in transaction" || b.TransactionS <= 0 {
			t.Errorf("blocker %+v", b)
		}
		return
	}
}

func lockOrg(ctx context.Context, db pg.DB, org uuid.UUID) error {
	return pg.Engine(ctx, db, pg.By{Actor: "test"}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "set local lock_timeout = '30s'")
		if err == nil {
			_, err = tx.Exec(ctx, "select from org_limits where org_id = $1 for no key update", org)
		}
		return err
	})
}

// TestReadsTablesAndJobs finds the tables that orders change, and jobs that wait although they are due.
func TestReadsTablesAndJobs(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	fixture.Exec(t, owner, `insert into river.river_job (args, kind, max_attempts, queue, scheduled_at)
		values ('{}', 'x', 1, 'default', now() - interval '90 seconds'), ('{}', 'x', 1, 'default', now() + interval '1 hour')`)
	r, err := vitals.Read(t.Context(), fixture.App(t, owner, 4))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Queues) != 1 || r.Queues[0].Name != "default" || r.Queues[0].Waiting != 1 || r.Queues[0].AgeS < 90 {
		t.Errorf("queues %+v", r.Queues)
	}
	names := map[string]bool{}
	for _, x := range r.Tables {
		names[x.Name] = true
		if x.HotRatio < 0 || x.HotRatio > 1 {
			t.Errorf("%+v", x)
		}
	}
	for _, want := range []string{"machines", "holds", "services", "org_limits", "allocation_attempts", "hold_events", "river_job"} {
		if !names[want] {
			t.Errorf("%s is not among %v", want, names)
		}
	}
}

// TestKeeperForgetsNothingWhileAway keeps what it has read, but does not call it current.
func TestKeeperForgetsNothingWhileAway(t *testing.T) {
	t.Parallel()
	app := fixture.App(t, pgtest.DB(t), 2)
	k := vitals.NewKeeper(app, slog.New(slog.DiscardHandler))
	if _, ok := k.Last(); ok {
		t.Error("a reading before the first")
	}
	k.Refresh(t.Context())
	if _, ok := k.Last(); !ok || len(k.Readings()) != 1 {
		t.Error("no reading")
	}
	app.Close()
	k.Refresh(t.Context())
	if _, ok := k.Last(); ok {
		t.Error("an old reading is told as the newest")
	}
	if len(k.Readings()) != 1 {
		t.Error("what was read is forgotten")
	}
}
