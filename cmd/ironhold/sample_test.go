package main

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/holds"
	"ironhold/migrations/pgtest"
)

func loadedSample(t *testing.T) (*pgxpool.Pool, settings) {
	t.Helper()
	db := pgtest.DB(t)
	a := &app{env: func(string) (string, bool) { return "", false }}
	s, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	if err := loadSample(t.Context(), db, s); err != nil {
		t.Fatal(err)
	}
	return db, s
}

// The sample shows every state that a machine and a hold can be in, with true history.
func TestSample(t *testing.T) {
	t.Parallel()
	db, s := loadedSample(t)
	ctx := t.Context()
	for what, sql := range map[string]string{
		"machines in every status": "select count(distinct status) = 6 from machines",
		"holds in every state":     "select count(distinct state) = 4 from holds",
		"launch on":                "select launch = 'on' from rollout_launch",
		"one organisation off":     "select count(*) = 1 from org_limits where rollout = 'off'",
		"one suspended":            "select count(*) = 1 from organisations where suspended_at is not null",
		"one at its cap": `select count(*) = 1 from org_limits l where max_machines =
			(select count(*) from services where org_id = l.org_id and ended_at is null)`,
		"all roles":         "select count(distinct role) = 4 from users",
		"orders by people":  "select bool_and(created_by like 'user:%') from holds",
		"history of people": "select count(distinct event) = 4 from hold_events where actor like 'user:%' or actor = 'sweep'",
		"an ended service":  "select count(*) = 1 from services where ended_at is not null",
		"attempts":          "select count(*) >= 9 from allocation_attempts",
	} {
		var ok bool
		if err := db.QueryRow(ctx, sql).Scan(&ok); err != nil || !ok {
			t.Errorf("%s: %t, %v", what, ok, err)
		}
	}
	if got := workingSignIns(ctx, db); len(got) != len(samplePeople) {
		t.Errorf("%d people can sign in, want %d", len(got), len(samplePeople))
	}
	results, err := checker(db, s).Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Violations > 0 {
			t.Errorf("%s: %d violations, e.g. %v", r.Name, r.Violations, r.Examples)
		}
	}
}

// A load that was killed after its first step goes on at the next start, and a finished one is
// left alone, whatever people did since.
func TestInterruptedSampleGoesOn(t *testing.T) {
	t.Parallel()
	db, s := loadedSample(t)
	ctx := t.Context()
	count := func() (n int) {
		if err := db.QueryRow(ctx, "select count(*) from holds").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	whole := count()
	if err := ensureSample(ctx, db, s); err != nil || count() != whole {
		t.Errorf("%d holds after a second load, want %d; %v", count(), whole, err)
	}
	if _, err := db.Exec(ctx, "set session_replication_role = replica; delete from holds where idempotency_key = '"+sampleLast+"'; set session_replication_role = origin"); err != nil {
		t.Fatal(err)
	}
	if err := ensureSample(ctx, db, s); err != nil || count() != whole {
		t.Errorf("%d holds after going on, want %d; %v", count(), whole, err)
	}
	org, err := accounts.New(db).OrgBySlug(ctx, "nordlys")
	if err != nil {
		t.Fatal(err)
	}
	list, err := holds.New(db, s.policy()).List(ctx, holds.Filter{Scope: holds.Scope{OrgID: org.ID}, State: holds.Held, Limit: 10})
	if err != nil || len(list) != 1 {
		t.Errorf("%d live holds, want 1; %v", len(list), err)
	}
}
