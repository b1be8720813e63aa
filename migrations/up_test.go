package migrations_test

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// schema is everything that a migration may change, in words.
func schema(t *testing.T, db *pgxpool.Pool) []string {
	t.Helper()
	return names(t, db, `
		select 'table ' || c.oid::regclass || ' ' || c.relkind::text || ' ' || c.relowner::regrole::text || ' ' || coalesce(c.relacl::text, '') || ' '
		       || c.relrowsecurity::text || c.relforcerowsecurity::text || coalesce(c.reloptions::text, '') || c.xmin::text
		  from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('public', 'river') and c.relkind in ('r', 'p', 'i', 'I', 'S')
		union all
		select 'column ' || a.attrelid::regclass || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
		  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
		  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
		 where n.nspname in ('public', 'river') and a.attnum > 0 and c.relkind in ('r', 'p')
		union all
		select 'function ' || p.oid::regprocedure || ' ' || p.proowner::regrole::text || ' ' || coalesce(p.proacl::text, '') || ' ' || md5(p.prosrc) || p.xmin::text
		  from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('public', 'river')
		union all
		select 'trigger ' || tgrelid::regclass || ' ' || pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
		union all
		select 'constraint ' || conname || ' ' || pg_get_constraintdef(c.oid) from pg_constraint c join pg_namespace n on n.oid = c.connamespace where n.nspname in ('public', 'river')
		union all
		select 'policy ' || tablename || ' ' || policyname || ' ' || roles::text || ' ' || qual from pg_policies
		union all
		select 'migration ' || version_id || ' ' || is_applied from schema_migrations
		union all
		select 'rows ' || (select count(*) from hold_states) || ' ' || (select launch from rollout_launch) || ' ' || (select version from catalogue_version)
		order by 1`)
}

func diff(t *testing.T, before, after []string) {
	t.Helper()
	seen := map[string]int{}
	for _, s := range before {
		seen[s]++
	}
	for _, s := range after {
		seen[s]--
	}
	for s, n := range seen {
		switch {
		case n > 0:
			t.Errorf("gone: %s", s)
		case n < 0:
			t.Errorf("new: %s", s)
		}
	}
}

func TestUpTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	db := pgtest.Pool(t, url)
	before := schema(t, db)
	if len(before) < 200 {
		t.Fatalf("only %d facts of the schema are seen", len(before))
	}
	for range 2 {
		if err := migrations.Up(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
	// River's grants are renewed, which rewrites them with the same content.
	diff(t, withoutVersions(before), withoutVersions(schema(t, db)))
	if ok, err := migrations.Current(t.Context(), db); !ok || err != nil {
		t.Errorf("current: %v %v", ok, err)
	}
}

// withoutVersions leaves the row versions of the catalogue out: granting what is granted already
// makes a new one.
func withoutVersions(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = trimDigits(s)
	}
	return out
}

func trimDigits(s string) string {
	for len(s) > 0 && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' {
		s = s[:len(s)-1]
	}
	return s
}

// An older schema than the build's, and none at all, are told from the present one.
func TestCurrent(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	fixture.Exec(t, db, "delete from schema_migrations where version_id = (select max(version_id) from schema_migrations)")
	if ok, err := migrations.Current(t.Context(), db); ok || err != nil {
		t.Errorf("an older schema: %v %v", ok, err)
	}
	empty := pgtest.Pool(t, pgtest.EmptyURL(t))
	if ok, err := migrations.Current(t.Context(), empty); ok || err == nil {
		t.Errorf("no schema: %v %v", ok, err)
	}
}

const upURL = "IRONHOLD_UP_URL"

// TestMain runs a migration and nothing else when another test starts this binary for it.
func TestMain(m *testing.M) {
	if url := os.Getenv(upURL); url != "" {
		if err := migrations.Up(context.Background(), url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Processes that migrate one empty database at once: each succeeds, and the result is that of one.
func TestUpByProcessesAtOnce(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	url := pgtest.EmptyURL(t)
	for _, err := range together(3, func(int) error {
		cmd := osexec.Command(self)
		cmd.Env = append(os.Environ(), upURL+"="+url)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	other := pgtest.EmptyURL(t)
	if err := migrations.Up(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	diff(t, withoutVersions(schema(t, pgtest.Pool(t, other))), withoutVersions(schema(t, pgtest.Pool(t, url))))
}

// A migration waits for a table that somebody uses, but not for ever, and leaves nothing half done.
func TestUpIsTransactional(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- migrations.Up(ctx, url) }()
	db := pgtest.Pool(t, url)
	for fixture.Get[bool](t, db, "select to_regclass('schema_migrations') is null") {
		select {
		case err := <-done:
			t.Fatalf("ended early: %v", err)
		default:
		}
	}
	cancel()
	<-done
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Errorf("after an interrupted run: %v", err)
	}
}
