//go:build unix

package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations"
)

// server is the PostgreSQL that the tests of this process run on.
type server struct {
	base  string // superuser's address
	admin *pgxpool.Pool

	templateOnce func() (string, error)
	txOnce       func() (*pgxpool.Pool, error)
}

var theServer struct {
	mu sync.Mutex
	s  *server
}

// use connects to the server once per process; a failure is tried again by the next
// test, so that every one fails with the reason.
func use(ctx context.Context) (*server, error) {
	theServer.mu.Lock()
	defer theServer.mu.Unlock()
	if theServer.s != nil {
		return theServer.s, nil
	}
	base := os.Getenv(EnvURL)
	if base == "" {
		var err error
		if base, err = sharedServer(ctx); err != nil {
			return nil, err
		}
	}
	if u, err := url.Parse(base); err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil, fmt.Errorf("%s must be an address such as postgres://user:password@host/database", EnvURL)
	}
	cfg, err := pgxpool.ParseConfig(base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvURL, err)
	}
	cfg.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("test server: %w", err)
	}
	s := &server{base: base, admin: pool}
	// Not the test's context: what is made here serves all tests of the process.
	s.templateOnce = sync.OnceValues(func() (string, error) { return s.makeTemplate(context.Background()) })
	s.txOnce = sync.OnceValues(func() (*pgxpool.Pool, error) { return s.makeTxPool(context.Background()) })
	theServer.s = s
	return s, nil
}

// url is the superuser's address of another database of the server.
func (s *server) url(database string) string {
	u, err := url.Parse(s.base)
	if err != nil {
		panic(err) // use has parsed it
	}
	u.Path = "/" + database
	return u.String()
}

// create copies the template's files: a quarter of the time that writing every page
// through the log takes.
func (s *server) create(ctx context.Context, name, template string) error {
	_, err := s.admin.Exec(ctx, "create database "+name+" template "+template+" strategy file_copy")
	return err
}

func (s *server) exists(ctx context.Context, name string) (bool, error) {
	var exists bool
	err := s.admin.QueryRow(ctx, `select exists (select from pg_database where datname = $1)`, name).Scan(&exists)
	return exists, err
}

// locked runs f while no other test process of the server is inside the same name.
func (s *server) locked(ctx context.Context, name string, f func() error) error {
	conn, err := s.admin.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	h := fnv.New64a()
	_, _ = h.Write([]byte("pgtest " + name))
	if _, err := conn.Exec(ctx, `select pg_advisory_lock($1)`, int64(h.Sum64())); err != nil {
		return err
	}
	defer conn.Exec(context.WithoutCancel(ctx), `select pg_advisory_unlock($1)`, int64(h.Sum64())) //nolint:errcheck // a broken connection has no lock
	return f()
}

func (s *server) template(context.Context) (string, error) { return s.templateOnce() }

// makeTemplate migrates a database and gives it its name only when it is whole.
func (s *server) makeTemplate(ctx context.Context) (string, error) {
	hash, err := migrationsHash()
	if err != nil {
		return "", err
	}
	name := "ironhold_tmpl_" + hash
	err = s.locked(ctx, "template", func() error {
		if done, err := s.exists(ctx, name); err != nil || done {
			return err
		}
		half := name + "_half"
		if _, err := s.admin.Exec(ctx, "drop database if exists "+half+" with (force)"); err != nil {
			return err
		}
		if err := s.create(ctx, half, "template0"); err != nil {
			return err
		}
		if err := migrations.Up(ctx, s.url(half)); err != nil {
			return fmt.Errorf("migrate the template: %w", err)
		}
		// Nobody may connect, or it could not be copied.
		if _, err := s.admin.Exec(ctx, "alter database "+half+" allow_connections false"); err != nil {
			return err
		}
		if _, err := s.admin.Exec(ctx, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1`, half); err != nil {
			return err
		}
		_, err := s.admin.Exec(ctx, "alter database "+half+" rename to "+name)
		return err
	})
	return name, err
}

func (s *server) txPool(context.Context) (*pgxpool.Pool, error) { return s.txOnce() }

// makeTxPool opens the database that this package's Tx tests share. It outlives the
// process: its next run finds it, and nothing was ever committed to it.
func (s *server) makeTxPool(ctx context.Context) (*pgxpool.Pool, error) {
	template, err := s.template(ctx)
	if err != nil {
		return nil, err
	}
	name := strings.Replace(template, "_tmpl_", "_tx_", 1) + "_" + packageName()
	err = s.locked(ctx, name, func() error {
		if done, err := s.exists(ctx, name); err != nil || done {
			return err
		}
		return s.create(ctx, name, template)
	})
	if err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(s.url(name))
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 40
	return pgxpool.NewWithConfig(ctx, cfg)
}

// migrationsHash changes with anything that a migration run depends on: the files, the
// Go sources beside them where they can be read, and the modules that bring tables.
func migrationsHash() (string, error) {
	h := sha256.New()
	add := func(fsys fs.FS, pattern string) error {
		names, err := fs.Glob(fsys, pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			b, err := fs.ReadFile(fsys, name)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(h, "%s %d\n%s", name, len(b), b)
		}
		return nil
	}
	if err := add(migrations.Files(), "sql/*.sql"); err != nil {
		return "", fmt.Errorf("migration files: %w", err)
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		dir := os.DirFS(filepath.Dir(filepath.Dir(file)))
		if err := add(dir, "*.go"); err != nil {
			return "", fmt.Errorf("migration sources: %w", err)
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if strings.HasPrefix(dep.Path, "github.com/riverqueue/river") {
				_, _ = fmt.Fprintln(h, dep.Path, dep.Version)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}
