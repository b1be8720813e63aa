package invariants_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/holds/invariants"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"

	"ironhold/holds"
)

// life leaves a database with something of everything, made through the real steps.
func life(t *testing.T) (owner, app *pgxpool.Pool) {
	t.Helper()
	owner = pgtest.DB(t)
	app = fixture.App(t, owner, 4)
	org := fixture.Org(t, owner, "acme", 5, 50)
	fixture.Equal(t, owner, "m", 6)
	fixture.Exec(t, owner, `
insert into holds (org_id, machine_id, idempotency_key, expires_at)
select $1, id, asset_tag, clock_timestamp() + interval '10 min' from machines order by asset_tag limit 4`, org)
	book := holds.New(app, holds.DefaultPolicy())
	list, err := book.List(t.Context(), holds.Filter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	by := pg.By{Actor: "test"}
	for _, h := range list[:2] {
		if _, _, err := book.Convert(t.Context(), by, holds.Scope{}, h.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := book.Cancel(t.Context(), by, holds.Scope{}, list[2].ID, ""); err != nil {
		t.Fatal(err)
	}
	services, err := book.ListServices(t.Context(), holds.Filter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := book.EndService(t.Context(), by, holds.Scope{}, services[0].ID, ""); err != nil {
		t.Fatal(err)
	}
	return owner, app
}

func check(t *testing.T, app *pgxpool.Pool) map[string]invariants.Result {
	t.Helper()
	results, err := invariants.New(app).WithSweepInterval(time.Minute).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string]invariants.Result{}
	for _, r := range invariants.Violated(results) {
		bad[r.Name] = r
	}
	return bad
}

func TestHealthyDatabaseHasNoViolation(t *testing.T) {
	t.Parallel()
	_, app := life(t)
	if bad := check(t, app); len(bad) > 0 {
		t.Errorf("violations: %+v", bad)
	}
}

// Each violation is planted as a superuser with triggers off, and must be found.
func TestPlantedViolationsAreFound(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]string{
		"one_occupant": `drop index services_one_active_per_machine;
			update services set ended_at = null, machine_id = (select machine_id from holds where state = 'held' limit 1)`,
		"board_sum":          `update services set machine_id = (select machine_id from holds where state = 'held' limit 1) where ended_at is null`,
		"status_facts":       `update machines set status = 'in_service' where asset_tag = 'm-6'`,
		"held_machine_stays": `update machines set status = 'retired' where id = (select machine_id from holds where state = 'held')`,
		"converted_one_to_one": `update services set price_month_minor = price_month_minor + 1
			where id = (select id from services limit 1)`,
		"converted_in_time": `update holds set expires_at = created_at where state = 'converted'`,
		"one_end": `insert into hold_events (hold_id, org_id, machine_id, event, actor, after)
			select id, org_id, machine_id, 'expired', 'x', '{}' from holds where state = 'cancelled'`,
		"one_key_one_hold": `drop index holds_one_per_request; update holds set idempotency_key = 'same'`,
		"caps":             `update org_limits set max_holds = 0`,
		"sweep_in_time":    `update holds set expires_at = clock_timestamp() - interval '121 s' where state = 'held'`,
		"wiped_before_sale": `update machines set status = 'ready'
			where id = (select machine_id from services where ended_at is not null)`,
		"history_complete":    `delete from hold_events where event = 'cancelled'`,
		"history_append_only": `grant update on hold_events to ironhold_engine`,
		"attempts_match_holds": `insert into allocation_attempts (id, org_id, actor, idempotency_key, outcome, request, hold_id)
			select gen_random_uuid(), org_id, 'x', 'k', 'held', '{}', id from holds limit 1`,
		"side_effects": `insert into webhook_messages (org_id, kind, subject_id, event)
			select org_id, 'service', gen_random_uuid(), 'started' from holds limit 1`,
		"side_effects of a job": `insert into river.river_job (kind, max_attempts, args)
			values ('some_work', 1, jsonb_build_object('service_id', gen_random_uuid()))`,
		"provisioning": `update provisionings set state = 'failed', finished_at = now() where kind = 'install' and service_id in (select id from services where ended_at is null)`,
		"arbiters":     `drop index holds_one_held_per_machine`,
		"arbiters of whose sessions run no trigger": `do $$ begin
			execute format('alter database %I set session_replication_role = replica', current_database()); end $$`,
		"occupying_states": `update hold_states set occupies = true where state = 'converted'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner, app := life(t)
			conn, err := owner.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Conn().PgConn().Exec(t.Context(), "set session_replication_role = replica; "+plant).ReadAll()
			conn.Conn().Close(t.Context())
			conn.Release()
			if err != nil {
				t.Fatal(err)
			}
			app.Reset() // defaults are those of new sessions
			bad := check(t, app)
			if r := bad[strings.Fields(name)[0]]; r.Violations == 0 || len(r.Examples) == 0 {
				t.Errorf("not found; found were %+v", bad)
			}
		})
	}
}
