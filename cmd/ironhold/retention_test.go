package main

import (
	"context"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"ironhold/holds/invariants"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// TestOldMonthsAreArchived moves whole months that are over for long enough, keeps the younger ones,
// and what left is not missed by the checks.
func TestOldMonthsAreArchived(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	app := fixture.App(t, owner, 4)
	month := func(tab, ago string) string {
		return fixture.Get[string](t, owner, `select $1 || '_' || to_char(date_trunc('month', now() at time zone 'UTC') - $2::interval, 'YYYYMM')`, tab, ago)
	}
	for _, tab := range []string{"allocation_attempts", "hold_events"} {
		for _, ago := range []string{"2 months", "4 months", "5 months"} {
			fixture.Exec(t, owner, fixture.Get[string](t, owner, `
				select format('create table %I partition of %I for values from (%L) to (%L)', $1::text, $2::text,
				  (date_trunc('month', now() at time zone 'UTC') - $3::interval) at time zone 'UTC',
				  (date_trunc('month', now() at time zone 'UTC') - $3::interval + interval '1 month') at time zone 'UTC')`, month(tab, ago), tab, ago))
		}
	}
	org := fixture.Org(t, owner, "acme", 5, 5)
	machine := fixture.Add(t, owner, fixture.Machine{Tag: "M1"})[0]
	fixture.Exec(t, owner, `insert into holds (org_id, machine_id, state, idempotency_key, request_hash, request, decision, price_month_minor, setup_minor, currency, created_by, expires_at)
		values ($1, $2, 'held', 'k', '', '{}', '{}', 4000, 0, 'EUR', 'test', clock_timestamp() + interval '1 hour')`, org, machine)
	fixture.Exec(t, owner, "update holds set state = 'cancelled', closed_at = clock_timestamp()")
	// As if all of it had been five months ago.
	fixture.Exec(t, owner, "update hold_events set at = at - interval '5 months'")
	fixture.Exec(t, owner, "alter table holds disable trigger user")
	fixture.Exec(t, owner, "update holds set created_at = created_at - interval '5 months', closed_at = closed_at - interval '5 months'")
	fixture.Exec(t, owner, "alter table holds enable trigger user")

	w := &retentionWorker{db: app, log: slog.New(slog.DiscardHandler), attempts: 3, history: 4}
	for range 2 { // again: nothing
		if err := w.Work(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		month("allocation_attempts", "2 months"): "public", month("allocation_attempts", "4 months"): "archive", month("allocation_attempts", "5 months"): "archive",
		month("hold_events", "4 months"): "public", month("hold_events", "5 months"): "archive", month("hold_events", "0 months"): "public",
	} {
		got := fixture.Get[string](t, owner, "select coalesce((select relnamespace::regnamespace::text from pg_class where relname = $1), 'gone')", name)
		if got != want {
			t.Errorf("%s is in %s, want %s", name, got, want)
		}
	}
	if n := fixture.Get[int](t, owner, "select count(*)::int from archive."+month("hold_events", "5 months")); n < 2 {
		t.Errorf("%d rows archived", n)
	}
	results, err := invariants.New(app).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range invariants.Violated(results) {
		t.Errorf("%s: %v", r.Name, r.Examples)
	}
}

// TestNobodyHidesToday has the application's login try to archive what is young, or another table.
func TestNobodyHidesToday(t *testing.T) {
	t.Parallel()
	app := fixture.App(t, pgtest.DB(t), 2)
	for _, args := range [][2]string{{"hold_events", "0 days"}, {"hold_events", "-1 year"}, {"holds", "2 years"}, {"hold_events_default", "2 years"}} {
		err := pg.Engine(t.Context(), app, pg.By{Actor: "test"}, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "select ironhold_retire_month($1, $2::text::interval)", args[0], args[1])
			return err
		})
		if pg.Code(err) != "22023" {
			t.Errorf("%v: %v", args, err)
		}
	}
	err := pg.Engine(t.Context(), app, pg.By{Actor: "test"}, func(tx pgx.Tx) error {
		_, err := tx.Exec(context.WithoutCancel(t.Context()), "create table archive.x ()")
		return err
	})
	if pg.Code(err) != "42501" {
		t.Errorf("the archive is open: %v", err)
	}
}
