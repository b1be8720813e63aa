//go:build unix

package pgtest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations"
	"ironhold/migrations/pgtest"
)

func TestDatabasesAreMigratedAndApart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, b := pgtest.DB(t), pgtest.DB(t)
	current, err := migrations.Current(ctx, a)
	if err != nil || !current {
		t.Fatalf("schema current = %v, %v", current, err)
	}
	if _, err := a.Exec(ctx, `create table only_here ()`); err != nil {
		t.Fatal(err)
	}
	var there bool
	if err := b.QueryRow(ctx, `select to_regclass('only_here') is not null`).Scan(&there); err != nil || there {
		t.Fatalf("the other database sees the table: %v, %v", there, err)
	}
}

func TestDatabaseIsDroppedWithOpenConnections(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var name string
	var conn *pgx.Conn
	t.Run("user", func(t *testing.T) {
		var err error
		if conn, err = pgx.Connect(ctx, pgtest.URL(t)); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(ctx, `select current_database()`).Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	var exists bool
	err := pgtest.DB(t).QueryRow(ctx, `select exists (select from pg_database where datname = $1)`, name).Scan(&exists)
	if err != nil || exists {
		t.Fatalf("database %s still exists: %v, %v", name, exists, err)
	}
	if conn.Ping(ctx) == nil {
		t.Fatal("the connection survived its database")
	}
}

func TestTxIsRolledBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("writes", func(t *testing.T) {
		if _, err := pgtest.Tx(t).Exec(ctx, `create table left_over ()`); err != nil {
			t.Fatal(err)
		}
	})
	var there bool
	if err := pgtest.Tx(t).QueryRow(ctx, `select to_regclass('left_over') is not null`).Scan(&there); err != nil || there {
		t.Fatalf("the table outlived its transaction: %v, %v", there, err)
	}
}

func TestEmptyURLHasNoTables(t *testing.T) {
	t.Parallel()
	var n int
	pool := pgtest.Pool(t, pgtest.EmptyURL(t))
	err := pool.QueryRow(context.Background(), `select count(*) from pg_tables where schemaname = 'public'`).Scan(&n)
	if err != nil || n != 0 {
		t.Fatalf("%d tables, %v", n, err)
	}
}

func TestLoginHasOnlyTheApplicationsRights(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	super := pgtest.URL(t)
	var wg sync.WaitGroup
	for range 4 { // several at once, as in parallel tests
		wg.Go(func() {
			conn, err := pgx.Connect(ctx, pgtest.LoginURL(t, super))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close(ctx)
			var user string
			var privileged bool
			err = conn.QueryRow(ctx, `select current_user, rolsuper or rolbypassrls or rolinherit from pg_roles where rolname = current_user`).Scan(&user, &privileged)
			if err != nil || user != pgtest.AppLogin || privileged {
				t.Errorf("user %s, privileged %v, %v", user, privileged, err)
			}
			if _, err := conn.Exec(ctx, "set role "+migrations.RoleEngine); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestDeadlocksAreCounted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := pgtest.URL(t)
	pool := pgtest.Pool(t, url)
	if n, err := pgtest.Deadlocks(ctx, pool); err != nil || n != 0 {
		t.Fatalf("%d deadlocks in a new database, %v", n, err)
	}
	a, b := connect(t, url), connect(t, url)
	for _, step := range []struct {
		conn *pgx.Conn
		key  int
	}{{a, 1}, {b, 2}} {
		if _, err := step.conn.Exec(ctx, `select pg_advisory_lock($1)`, step.key); err != nil {
			t.Fatal(err)
		}
	}
	errs := make(chan error, 2)
	go func() { _, err := a.Exec(ctx, `select pg_advisory_lock(2)`); errs <- err; _ = a.Close(ctx) }()
	go func() { _, err := b.Exec(ctx, `select pg_advisory_lock(1)`); errs <- err; _ = b.Close(ctx) }()
	<-errs
	<-errs
	for range 100 {
		if n, err := pgtest.Deadlocks(ctx, pool); err != nil {
			t.Fatal(err)
		} else if n == 1 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the deadlock was not counted")
}

func BenchmarkDB(b *testing.B) {
	for b.Loop() {
		_ = pgtest.URL(b)
	}
}

// connect makes a connection whose deadlock make test knows to be meant.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.RuntimeParams["application_name"] = pgtest.DeadlockMeant
	conn, err := pgx.ConnectConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
