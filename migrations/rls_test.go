package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// readable are the tables that every organisation may read whole.
var readable = []string{"sites", "machine_classes", "hold_states", "rollout_launch", "operating_systems"}

// twoOrganisations fills every table that belongs to organisations with rows of two of them.
func twoOrganisations(t *testing.T) (s *scene, ids []uuid.UUID) {
	t.Helper()
	s = newScene(t)
	ids = orgs(t, s, 2, 10, 10)
	fixture.Equal(t, s.owner, "m", 8)
	for i, id := range ids {
		slug := fmt.Sprintf("org-%d", i+1)
		for k := range 3 {
			s.must(insertHold(slug, fmt.Sprintf("m-%d", 3*i+k+1), fmt.Sprintf("%s-%d", slug, k), "1 hour"))
		}
		s.must(sale(slug+"-0", fmt.Sprintf("m-%d", 3*i+1))...)
		for _, sql := range []string{
			`insert into users (org_id, email, name, role) values ('%[1]s', '%[2]s@example.com', 'A', 'customer')`,
			`insert into api_tokens (org_id, name, role, hash) values ('%[1]s', 'A', 'customer', '%[2]s')`,
			`insert into allocation_attempts (id, org_id, actor, idempotency_key, outcome, request) values (gen_random_uuid(), '%[1]s', 'x', 'k', 'none_left', '{}')`,
			`update org_limits set rollout = 'on', max_holds = 9 where org_id = '%[1]s'`,
			`insert into waiting_list (org_id, request) values ('%[1]s', '{}')`,
			`insert into invitations (org_id, email, role, token_hash, expires_at) values ('%[1]s', 'new@%[2]s.example', 'customer', '%[2]s', clock_timestamp())`,
			`insert into webhook_endpoints (org_id, url, holds, services, secret) values ('%[1]s', 'https://%[2]s.example/', true, true, decode(repeat('00', 32), 'hex'))`,
			`insert into ssh_keys (org_id, name, public_key, fingerprint) values ('%[1]s', 'A', 'ssh-ed25519 AAAAAAAAAAAAAAAA', 'SHA256:' || repeat('A', 43))`,
			`insert into webhook_messages (org_id, kind, subject_id, event) values ('%[1]s', 'hold', '%[1]s', 'held')`,
			`insert into webhook_deliveries (org_id, message_id, endpoint_id)
			 select m.org_id, m.id, e.id from webhook_messages m join webhook_endpoints e using (org_id) where m.org_id = '%[1]s'`,
		} {
			s.must(fmt.Sprintf(sql, id, slug))
		}
	}
	return s, ids
}

func names(t *testing.T, db *pgxpool.Pool, sql string) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

const tablesSQL = `select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f') order by 1`

// Each table of the catalogue, whoever adds it: the web role reads its organisation's rows alone,
// or nothing, unless the table is listed as readable by all.
func TestWebSeesItsOrganisationAlone(t *testing.T) {
	t.Parallel()
	s, ids := twoOrganisations(t)
	tables := names(t, s.owner, tablesSQL)
	withOrg := names(t, s.owner, `select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'org_id' and not a.attisdropped`)
	counts := func(setting string) map[string]int {
		out := map[string]int{}
		for _, table := range tables {
			tx := s.begin(asWeb, "read committed")
			if setting != "none" {
				mustExec(t, tx, "set local app.org_id = '"+setting+"'")
			}
			var n int
			err := tx.QueryRow(t.Context(), "select count(*) from "+table).Scan(&n)
			if pg.Code(err) == "42501" {
				n, err = -1, nil // may not read it at all
			}
			if err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			if n > 0 && slices.Contains(withOrg, table) && setting != "none" && setting != "" {
				own := table != "rollout_events" // of which the launch's rows are everybody's
				var others int
				err := tx.QueryRow(t.Context(), "select count(*) from "+table+" where org_id <> $1 or (org_id is null and $2)", setting, own).Scan(&others)
				if err != nil || others != 0 {
					t.Errorf("%s: %d rows of others, %v", table, others, err)
				}
			}
			_ = tx.Rollback(t.Context())
			out[table] = n
		}
		return out
	}
	first, second := counts(ids[0].String()), counts(ids[1].String())
	if first["organisations"] != 1 || first["holds"] != 3 || first["services"] != 1 || first["machines"] != 3 || first["users"] != 1 {
		t.Errorf("an organisation does not see its own: %v", first)
	}
	stranger := counts(uuid.NewString())
	none, empty := counts("none"), counts("")
	for _, table := range tables {
		if slices.Contains(readable, table) {
			continue
		}
		all := s.count("select count(*) from " + table)
		if table == "rollout_events" {
			all = s.count("select count(*) from rollout_events where org_id is not null")
		}
		if first[table] >= 0 && all == 0 {
			t.Errorf("%s has no rows in this test: add some, or it proves nothing", table)
		}
		if none[table] > 0 || empty[table] > 0 || stranger[table] > 0 {
			t.Errorf("%s: %d rows without a setting, %d with an empty one, %d for a stranger", table, none[table], empty[table], stranger[table])
		}
		if first[table] >= 0 && first[table]+second[table] != all && table != "machines" {
			t.Errorf("%s: %d and %d of %d rows", table, first[table], second[table], all)
		}
	}
	// Every table that carries an organisation is covered by the policy, also for its owner.
	for _, table := range names(t, s.owner, `select c.oid::regclass::text from pg_class c join pg_attribute a on a.attrelid = c.oid
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'org_id'
		  and has_table_privilege('ironhold_web', c.oid, 'select') and not (c.relrowsecurity and c.relforcerowsecurity)`) {
		t.Errorf("%s is read by the web role without row-level security", table)
	}
}

// What is no identifier is an error, not a way in.
func TestWebWithNonsenseSetting(t *testing.T) {
	t.Parallel()
	s, _ := twoOrganisations(t)
	for _, setting := range []string{"x", "%", "' or true --", "null"} {
		tx := s.begin(asWeb, "read committed")
		if _, err := tx.Exec(t.Context(), "select set_config('app.org_id', $1, true)", setting); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := tx.QueryRow(t.Context(), "select count(*) from holds").Scan(&n); err == nil {
			t.Errorf("%q: %d holds", setting, n)
		}
		_ = tx.Rollback(t.Context())
	}
}

// A pooled connection carries nothing from one request to the next: neither organisation nor role,
// also after an error.
func TestNothingLeaksOnThePooledConnection(t *testing.T) {
	t.Parallel()
	s, ids := twoOrganisations(t)
	pool := fixture.App(t, s.owner, 2)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	clean := func(after string) {
		t.Helper()
		var org, role string
		err := conn.QueryRow(t.Context(), "select coalesce(current_setting('app.org_id', true), ''), current_user").Scan(&org, &role)
		if err != nil || org != "" || strings.HasPrefix(role, "ironhold_web") || strings.HasPrefix(role, "ironhold_engine") {
			t.Errorf("after %s: organisation %q, role %q, %v", after, org, role, err)
		}
		var n int
		if err := conn.QueryRow(t.Context(), "select count(*) from holds").Scan(&n); pg.Code(err) != "42501" {
			t.Errorf("after %s: the login reads %d holds itself, %v", after, n, err)
		}
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(context.Background())
		mustExec(t, tx, "set local role ironhold_web")
		if err := tx.QueryRow(t.Context(), "select count(*) from holds").Scan(&n); err != nil || n != 0 {
			t.Errorf("after %s: %d holds without a setting, %v", after, n, err)
		}
	}
	see := func(tx pgx.Tx) error {
		var n int
		if err := tx.QueryRow(t.Context(), "select count(*) from holds").Scan(&n); err != nil || n != 3 {
			t.Errorf("%d holds of an organisation, %v", n, err)
		}
		return nil
	}
	clean("nothing")
	if err := pg.Web(t.Context(), conn, ids[0], pg.By{Actor: "x"}, see); err != nil {
		t.Fatal(err)
	}
	clean("a commit")
	failed := errors.New("no")
	if err := pg.Web(t.Context(), conn, ids[1], pg.By{}, func(tx pgx.Tx) error { _ = see(tx); return failed }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	clean("a rollback")
	_ = pg.Web(t.Context(), conn, ids[1], pg.By{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "select 1/0")
		return err
	})
	clean("an error")
	if err := pg.Engine(t.Context(), conn, pg.By{Actor: "x"}, func(pgx.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	clean("the engine")
}

// The web role writes nothing at all, the login has no rights of its own, and neither owns a thing.
func TestRolesMayNoMore(t *testing.T) {
	t.Parallel()
	s, _ := twoOrganisations(t)
	login := s.app.Config().ConnConfig.User
	for _, fault := range names(t, s.owner, `
		select 'ironhold_web may ' || p || ' ' || c.relname from pg_class c, unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) p
		 where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and has_table_privilege('ironhold_web', c.oid, p)
		union all
		select 'ironhold_web may ' || p || ' columns of ' || c.relname from pg_class c, unnest(array['insert', 'update', 'references']) p
		 where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and has_any_column_privilege('ironhold_web', c.oid, p)
		union all
		select 'ironhold_web may use the schema of jobs' where has_schema_privilege('ironhold_web', 'river', 'usage')
		union all
		select r || ' may create in public' from unnest(array['ironhold_web', 'ironhold_engine', '`+login+`']) r where has_schema_privilege(r, 'public', 'create')
		union all
		select rolname || ' has rights beyond its own' from pg_roles where rolname in ('ironhold_web', 'ironhold_engine', '`+login+`')
		   and (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolinherit or (rolbypassrls and rolname <> 'ironhold_engine'))
		union all
		select r.rolname || ' owns ' || c.relname from pg_class c join pg_roles r on r.oid = c.relowner
		 where r.rolname in ('ironhold_web', 'ironhold_engine', '`+login+`')
		union all
		select 'the login reads ' || c.relname || ' without a role' from pg_class c
		 where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
		   and exists (select from aclexplode(c.relacl) a where a.grantee in (0, '`+login+`'::regrole))`) {
		t.Error(fault)
	}
	for _, sql := range []string{
		"update holds set state = 'cancelled'", "delete from holds", "insert into holds default values", "update services set ended_at = now()",
		"update machines set status = 'retired'", "update org_limits set max_holds = 100", "update rollout_launch set launch = 'on'",
		"select ironhold_make_partitions(0)", "select count(*) from sessions", "select from holds for update",
	} {
		if err := s.run(asWeb, "read committed", sql); pg.Code(err) != "42501" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// Functions that run with their owner's rights say where they look, belong to the engine and are
// called by nobody else. The owner of the tables keeps what the engine could not do: make and archive
// partitions, and read how the server is.
func TestDefinerFunctions(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if n := s.count("select count(*) from pg_proc where pronamespace = 'public'::regnamespace and prosecdef"); n < 10 {
		t.Errorf("%d functions with their owner's rights", n)
	}
	for _, fault := range names(t, s.owner, `
		select p.oid::regprocedure || ' has no fixed search_path' from pg_proc p
		 where p.pronamespace = 'public'::regnamespace and p.prosecdef
		   and not exists (select from unnest(p.proconfig) c where c ~ '^search_path=pg_catalog(, public)?, pg_temp$')
		union all
		select p.oid::regprocedure || ' belongs to ' || r.rolname from pg_proc p join pg_roles r on r.oid = p.proowner
		 where p.pronamespace = 'public'::regnamespace and p.prosecdef and r.rolname <> 'ironhold_engine'
		   and p.proname not in ('ironhold_make_partitions', 'ironhold_retire_month', 'ironhold_vitals', 'ironhold_blockers', 'ironhold_replicas', 'ironhold_slots')
		union all
		select p.oid::regprocedure || ' may be called by everybody' from pg_proc p
		 where p.pronamespace = 'public'::regnamespace
		   and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
		union all
		select p.oid::regprocedure || ' may be called by the web role' from pg_proc p
		 where p.pronamespace = 'public'::regnamespace and (p.prosecdef or p.provolatile = 'v') and p.proname <> 'ironhold_uuid_v7'
		   and has_function_privilege('ironhold_web', p.oid, 'execute')`) {
		t.Error(fault)
	}
	// A trigger function on a table of one's own would write history as the engine.
	err := s.run(asWeb, "read committed", "create temp table mine (like machine_classes)",
		"create trigger t after insert on mine for each row execute function holds_history()")
	if pg.Code(err) != "42501" {
		t.Errorf("a stranger's trigger: %v", err)
	}
}

// The states that occupy are written once; the CHECK and the arbiter's predicate, as the server
// prints them, say the same.
func TestOccupyingStatesAgree(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	states := names(t, s.owner, "select state from hold_states order by state")
	check := fixture.Get[string](t, s.owner, "select pg_get_constraintdef(oid) from pg_constraint where conname = 'holds_state_known'")
	want := "CHECK ((state = ANY (ARRAY['held'::text, 'converted'::text, 'expired'::text, 'cancelled'::text])))"
	if check != want {
		t.Errorf("the CHECK is %s", check)
	}
	if strings.Join(states, " ") != "cancelled converted expired held" {
		t.Errorf("hold_states: %v", states)
	}
	occupying := names(t, s.owner, "select state from hold_states where occupies")
	predicate := fixture.Get[string](t, s.owner, "select pg_get_expr(indpred, indrelid) from pg_index where indexrelid = 'holds_one_held_per_machine'::regclass and indisunique")
	if len(occupying) != 1 || predicate != "(state = '"+occupying[0]+"'::text)" {
		t.Errorf("hold_states: %v occupy, the arbiter: %s", occupying, predicate)
	}
	s.invariant("occupying_states", "arbiters", "history_append_only")
}
