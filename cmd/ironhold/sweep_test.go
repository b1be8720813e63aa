package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations/pgtest"
)

// overdue plants n machines, each with a hold past its deadline, and makes each expiry take a
// while, so that a sweep can be met in its middle.
func overdue(t *testing.T, n int, pause time.Duration) (*prog, *pgxpool.Pool) {
	t.Helper()
	owner := pgtest.URL(t)
	db := pgtest.Pool(t, owner)
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{`insert into sites (code, name) values ('X1', 'X1')`, nil},
		{`with o as (insert into organisations (slug, name) values ('acme', 'Acme') returning id)
		  insert into org_limits (org_id, max_holds, max_machines) select id, 100000, 100000 from o`, nil},
		{`insert into machines (asset_tag, site_code, cpu, cores, ram_gb, status, class_id)
		  select 'M' || i, 'X1', 'CPU', 8, 64, 'ready', 0 from generate_series(1, $1::int) i`, []any{n}},
		{`insert into holds (org_id, machine_id, idempotency_key, expires_at)
		  select o.id, m.id, m.asset_tag, clock_timestamp() + interval '1 hour' from organisations o, machines m`, nil},
		{`set local session_replication_role = replica`, nil},
		{`update holds set created_at = created_at - interval '2 hours', expires_at = expires_at - interval '2 hours'`, nil},
		{`set local session_replication_role = origin`, nil},
	} {
		if _, err := tx.Exec(t.Context(), step.sql, step.args...); err != nil {
			t.Fatalf("%s: %v", step.sql, err)
		}
	}
	if pause > 0 {
		_, err := tx.Exec(t.Context(), `create function slowly() returns trigger language plpgsql as
			$$ begin perform pg_sleep(`+pause.String()[:len(pause.String())-2]+` / 1000.0); return new; end $$;
			create trigger slowly before update of state on holds for each row execute function slowly()`)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &prog{t: t, url: pgtest.LoginURL(t, owner), dir: t.TempDir()}, db
}

func count(t *testing.T, db *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const (
	heldHolds    = "select count(*) from holds where state = 'held'"
	expiredHolds = "select count(*) from holds where state = 'expired'"
)

// Two workers, one killed in the middle of a sweep of 5,000: the other does the rest, and each
// hold expires once.
func TestKilledSweepIsFinishedByAnother(t *testing.T) {
	t.Parallel()
	const n = 5000
	p, db := overdue(t, n, time.Millisecond)
	p.extra = []string{"SWEEP_INTERVAL=1s"}
	first := p.serve("--role", "worker")
	waitFor(t, "a first batch", 60*time.Second, func() bool { return count(t, db, expiredHolds) > 0 })
	second := p.serve("--role", "worker")
	_ = first.cmd.Process.Kill()
	<-first.exited
	if left := count(t, db, heldHolds); left == 0 {
		t.Fatal("the sweep had ended before the kill")
	}
	waitFor(t, "the other has done the rest", 90*time.Second, func() bool { return count(t, db, heldHolds) == 0 })
	if got := count(t, db, "select count(*) from hold_events where event = 'expired' and actor = 'sweep'"); got != n {
		t.Errorf("%d ends in the history, want %d", got, n)
	}
	second.terminate()
}

// Restarts more frequent than the interval do not put the sweep off: it also runs at each start.
func TestRestartsMoreFrequentThanTheSweep(t *testing.T) {
	t.Parallel()
	p, db := overdue(t, 10, 0)
	p.extra = []string{"SWEEP_INTERVAL=1h"}
	for range 3 {
		w := p.serve("--role", "worker")
		waitFor(t, "ready", 30*time.Second, func() bool {
			code, _ := w.ask(http.MethodGet, "http://"+w.metrics+"/readyz", "", nil)
			return code == http.StatusOK
		})
		waitFor(t, "swept", 30*time.Second, func() bool { return count(t, db, heldHolds) == 0 })
		w.terminate()
		// One more is overdue before the next start.
		_, err := db.Exec(t.Context(), `set session_replication_role = replica;
			update holds set state = 'held', closed_at = null where id = (select min(id::text)::uuid from holds);
			set session_replication_role = origin`)
		if err != nil {
			t.Fatal(err)
		}
	}
}
