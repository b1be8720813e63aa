package allocator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// TestPlansSurviveARush: plans are kept by the sessions. Those that were made in a quiet hour, when
// the statistics said that nothing was held, must not read every open hold when many are.
func TestPlansSurviveARush(t *testing.T) {
	t.Parallel()
	for _, past := range []int{0, 4000} { // holds that ended long ago
		t.Run(fmt.Sprintf("%d past holds", past), func(t *testing.T) {
			t.Parallel()
			owner := pgtest.DB(t)
			a := New(fixture.App(t, owner, 2), Options{})
			t.Cleanup(func() { a.Close(context.Background()) })
			org := fixture.Org(t, owner, "org", 100_000, 100_000)
			fixture.Equal(t, owner, "m", 10_000)
			quickly(t, owner, `
insert into holds (org_id, machine_id, idempotency_key, state, created_at, expires_at)
select $1, id, 'past ' || id, 'expired', now() - interval '9 days', now() - interval '8 days' from machines limit $2`, org, past)
			fixture.Exec(t, owner, "vacuum analyze")

			class := fixture.Get[int](t, owner, "select id from machine_classes")
			machine := fixture.Get[uuid.UUID](t, owner, "select id from machines order by lot limit 1 offset 5000")
			tx, err := pg.BeginEngine(t.Context(), a.db, pg.By{})
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(context.Background())
			look := prepare(t, tx, "look", findCandidates, fmt.Sprintf("array[%d], array[0], array[0], 1000000000, null, '{}', '%s', '24 h', '15 min', '45 min', 25", class, org))
			check := prepare(t, tx, "occupancy", selectOccupancy, fmt.Sprintf("'%s', '%s', '24 h', '15 min', '45 min'", machine, org))
			statements := []struct {
				name    string
				execute string
				most    int // pages
			}{{"look", look, 1500}, {"occupancy", check, 40}}
			for _, s := range statements {
				if n := pages(t, tx, s.execute); n > s.most {
					t.Errorf("%s reads %d pages in the quiet hour", s.name, n)
				}
			}
			// The rush: every second machine is held. The statistics are as they were.
			quickly(t, owner, `
insert into holds (org_id, machine_id, idempotency_key, expires_at)
select $1, id, 'rush ' || id, now() + interval '15 min' from machines where right(asset_tag, 1) < '5'`, org)
			for _, s := range statements {
				if n := pages(t, tx, s.execute); n > s.most {
					t.Errorf("%s reads %d pages in the rush", s.name, n)
				}
			}
		})
	}
}

// quickly runs a statement without triggers.
func quickly(t *testing.T, owner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}, sql string, args ...any) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "set local session_replication_role = replica"); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), sql, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// prepare keeps a statement in the session and gives the words that execute it.
func prepare(t *testing.T, tx pgx.Tx, name, sql, args string) string {
	t.Helper()
	if _, err := tx.Exec(t.Context(), "prepare "+name+" as "+sql); err != nil {
		t.Fatal(err)
	}
	return "execute " + name + "(" + args + ")"
}

// pages counts the pages that a statement touches.
func pages(t *testing.T, tx pgx.Tx, execute string) int {
	t.Helper()
	var out []byte
	if err := tx.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+execute, pgx.QueryExecModeSimpleProtocol).Scan(&out); err != nil {
		t.Fatal(err)
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(out, &plans); err != nil || len(plans) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if testing.Verbose() {
		t.Log(strings.SplitN(execute, "(", 2)[0], plans[0].Plan.Hit+plans[0].Plan.Read)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}
