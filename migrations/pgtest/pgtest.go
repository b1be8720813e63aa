//go:build unix

package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations"
)

// EnvURL names the superuser's address of the server to test on.
const EnvURL = "IRONHOLD_TEST_DATABASE_URL"

// AppLogin is the login that LoginURL uses, a member of the application's roles.
const AppLogin = "ironhold_app"

// DeadlockMeant is the application_name of a connection that deadlocks on purpose: make
// test fails on any other deadlock in the server's log.
const DeadlockMeant = "deadlock_meant"

// setupTimeout bounds everything this package does for one test, the start of the
// server included.
const setupTimeout = 3 * time.Minute

// DB returns a superuser's pool on a fresh migrated database, dropped at the end of
// the test. Connections are made on demand, 40 at most. About 25 ms.
func DB(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return Pool(t, URL(t))
}

// Pool opens a pool that is closed at the end of the test.
func Pool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	cfg.MaxConns = 40
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { closePool(t, pool) })
	return pool
}

// closePool does not wait for ever for a connection that the test forgot to give
// back: dropping the database ends it.
func closePool(t testing.TB, pool *pgxpool.Pool) {
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Errorf("pgtest: %d connections were not released by the test", pool.Stat().AcquiredConns())
	}
}

// URL returns the superuser's address of a fresh migrated database, dropped at the end
// of the test together with the connections still open to it.
func URL(t testing.TB) string {
	t.Helper()
	return fresh(t, true)
}

// EmptyURL is URL without the migrations.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return fresh(t, false)
}

// LoginURL turns the superuser's address of a test database into that of AppLogin,
// which has the rights of the application and no more.
func LoginURL(t testing.TB, superuser string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	s, err := use(ctx)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	u, err := url.Parse(superuser)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	sum := sha256.Sum256([]byte("login of " + s.base))
	password := hex.EncodeToString(sum[:])
	// Roles belong to the whole server: two tests at once must not change one.
	err = s.locked(ctx, "login", func() error {
		return migrations.EnsureLogin(ctx, superuser, AppLogin, password)
	})
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	u.User = url.UserPassword(AppLogin, password)
	return u.String()
}

// Tx returns a superuser's transaction that is rolled back at the end of the test, on a
// database shared by the tests of one package. About 1 ms. Tests that use it see
// nothing of each other, but wait for each other when they insert equal unique keys.
func Tx(t testing.TB) pgx.Tx {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	s, err := use(ctx)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	pool, err := s.txPool(ctx)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := tx.Rollback(context.Background()); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("pgtest: %v", err)
		}
	})
	return tx
}

// Deadlocks is the number of deadlocks that the server has found in the database of
// the pool since it was made. A session reports its own at the latest when it ends, and
// at most a second late while it goes on working: close the other pools first, or
// wait for what you expect.
func Deadlocks(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
	var n int64
	err := pool.QueryRow(ctx, `select deadlocks from pg_stat_database where datname = current_database()`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("deadlocks: %w", err)
	}
	return n, nil
}

func fresh(t testing.TB, migrated bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	s, err := use(ctx)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	template := "template0"
	if migrated {
		if template, err = s.template(ctx); err != nil {
			t.Fatalf("pgtest: %v", err)
		}
	}
	name := "ironhold_test_" + randomName()
	if err := s.create(ctx, name, template); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := s.admin.Exec(ctx, "drop database if exists "+name+" with (force)"); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return s.url(name)
}

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return hex.EncodeToString(b[:])
}

// packageName is the test binary's, to keep the packages' shared databases apart.
func packageName() string {
	sum := sha256.Sum256([]byte(strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")))
	return hex.EncodeToString(sum[:6])
}
