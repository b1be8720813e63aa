package watch_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/fleet"
	"ironhold/holds/invariants"
	"ironhold/holds/watch"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// plant changes rows as a superuser with triggers off.
func plant(t *testing.T, owner *pgxpool.Pool, sql string) {
	t.Helper()
	conn, err := owner.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Conn().PgConn().Exec(t.Context(), "set session_replication_role = replica; "+sql).ReadAll()
	conn.Conn().Close(t.Context())
	conn.Release()
	if err != nil {
		t.Fatal(err)
	}
}

// A machine that a violation names leaves sale, once, and stays off until a person puts it back; the
// same violation then leaves it alone, and one that was gone and came back does not.
func TestNamedMachineLeavesSale(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	app := fixture.App(t, owner, 4)
	org := fixture.Org(t, owner, "acme", 5, 50)
	fixture.Equal(t, owner, "m", 2)
	fixture.Exec(t, owner, `insert into holds (org_id, machine_id, idempotency_key, expires_at)
		select $1, id, 'k', clock_timestamp() + interval '10 min' from machines where asset_tag = 'm-1'`, org)
	machines := fleet.New(app)
	var log bytes.Buffer
	w := watch.New(app, invariants.New(app), machines, slog.New(slog.NewTextHandler(&log, nil)))
	run := func(violated int) {
		t.Helper()
		n, err := w.Run(t.Context())
		if err != nil || n != violated {
			t.Fatalf("%d violated, %v; want %d\n%s", n, err, violated, log.String())
		}
	}
	status := func(tag string) fleet.Status {
		t.Helper()
		m, err := machines.Machine(t.Context(), tag)
		if err != nil {
			t.Fatal(err)
		}
		return m.Status
	}

	run(0)
	if log.Len() > 0 {
		t.Errorf("a healthy database is logged: %s", log.String())
	}
	twoEnds := `insert into hold_events (hold_id, org_id, machine_id, event, actor, after)
		select id, org_id, machine_id, e, 'x', '{}' from holds, unnest(array['expired', 'cancelled']) e`
	plant(t, owner, twoEnds)
	run(1)
	if status("m-1") != fleet.Maintenance || status("m-2") != fleet.Ready {
		t.Errorf("m-1 is %s, m-2 is %s", status("m-1"), status("m-2"))
	}
	if !strings.Contains(log.String(), "check=one_end") || !strings.Contains(log.String(), "machine=m-1") {
		t.Errorf("the log does not name it: %s", log.String())
	}
	states, err := watch.States(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, s := range states {
		if (s.Violations > 0) != (s.Name == "one_end") || (s.Example != "") != (s.Violations > 0) {
			t.Errorf("%+v", s)
		}
		seen += s.Violations
	}
	if len(states) < 10 || seen != 1 {
		t.Errorf("%d states, %d violations", len(states), seen)
	}
	var who, why string
	if err := owner.QueryRow(t.Context(), `select actor, e.reason from machine_events e join machines m on m.id = e.machine_id
		where asset_tag = 'm-1' and event = 'status' order by e.at desc limit 1`).Scan(&who, &why); err != nil {
		t.Fatal(err)
	}
	if who != "watch" || !strings.Contains(why, "one_end") {
		t.Errorf("the history says %q: %q", who, why)
	}

	back := func() {
		t.Helper()
		if _, err := machines.SetStatus(t.Context(), pg.By{Actor: "operator"}, "m-1", fleet.Ready, "looked into it"); err != nil {
			t.Fatal(err)
		}
	}
	back()
	run(1)
	if status("m-1") != fleet.Ready {
		t.Error("the same violation took it off sale twice")
	}
	plant(t, owner, `delete from hold_events where actor = 'x'`)
	run(0)
	plant(t, owner, twoEnds)
	run(1)
	if status("m-1") != fleet.Maintenance {
		t.Error("a violation that came back left it on sale")
	}

	// A check that cannot be asked is an error, and what the checks before it found counts all the same.
	plant(t, owner, `delete from hold_events where actor = 'x'`)
	run(0)
	back()
	plant(t, owner, twoEnds+"; alter table webhook_messages rename to gone")
	if n, err := w.Run(t.Context()); err == nil || n != 1 || !strings.Contains(err.Error(), "side_effects") {
		t.Errorf("%d violated, %v", n, err)
	}
	if status("m-1") != fleet.Maintenance {
		t.Error("a check that failed kept a machine with two ends on sale")
	}
}
