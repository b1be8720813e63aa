package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"ironhold/migrations/pg"
)

//go:embed sql/*.sql
var files embed.FS

const (
	// RiverSchema is where River keeps its tables.
	RiverSchema = "river"
	// versionTable is goose's record of what has been applied.
	versionTable = "schema_migrations"
	// lockKey is the advisory lock of a migration run; any constant will do.
	lockKey = 727_003_001
	// lockWait bounds how long a run waits for another run.
	lockWait = 2 * time.Minute
	// statementLock bounds how long one migration waits for a table that others use, so that a
	// waiting migration does not hold up the orders that queue behind it.
	statementLock = "10s"
)

// Files returns the migration files, for those who must know when they changed.
func Files() fs.FS { return files }

// Up brings the database at url up to date: roles, schema, River's tables. The user of url must
// own the database and be allowed to create roles. Safe to run twice and by two processes at once.
func Up(ctx context.Context, url string) error {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("database address: %w", err)
	}
	pg.Settle(cfg.ConnConfig.RuntimeParams)
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = statementLock
	cfg.AfterConnect = pg.Unhurried
	cfg.MaxConns = 3
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer pool.Close()

	return locked(ctx, pool, func() error {
		if err := ensureRoles(ctx, pool); err != nil {
			return fmt.Errorf("roles: %w", err)
		}
		if err := upSchema(ctx, pool); err != nil {
			return err
		}
		return upRiver(ctx, pool)
	})
}

// locked runs f while one connection holds the advisory lock of migrations.
func locked(ctx context.Context, pool *pgxpool.Pool, f func() error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "select set_config('lock_timeout', $1, false)", fmt.Sprint(lockWait.Milliseconds())); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", lockKey); err != nil {
		return fmt.Errorf("another migration is running: %w", err)
	}
	defer func() {
		// On a connection that broke the lock is gone already.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = conn.Exec(ctx, "select pg_advisory_unlock($1)", lockKey)
	}()
	return f()
}

func upSchema(ctx context.Context, pool *pgxpool.Pool) error {
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	dir, err := fs.Sub(files, "sql")
	if err != nil {
		return nil, fmt.Errorf("migration files: %w", err)
	}
	store, err := database.NewStore(database.DialectPostgres, versionTable)
	if err != nil {
		return nil, fmt.Errorf("migration store: %w", err)
	}
	// Files do not depend on later ones: one that was merged after a higher number is applied late.
	p, err := goose.NewProvider(goose.DialectCustom, db, dir, goose.WithStore(store), goose.WithAllowOutofOrder(true))
	if err != nil {
		return nil, fmt.Errorf("migration files: %w", err)
	}
	return p, nil
}

// upRiver makes River's schema and tables; River does not create the schema itself.
func upRiver(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, "create schema if not exists "+RiverSchema); err != nil {
		return fmt.Errorf("river schema: %w", err)
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: RiverSchema})
	if err != nil {
		return fmt.Errorf("river: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("river: %w", err)
	}
	_, err = pool.Exec(ctx, `
		grant usage on schema river to ironhold_engine;
		grant select, insert, update, delete, truncate on all tables in schema river to ironhold_engine;
		grant usage on all sequences in schema river to ironhold_engine;
		grant execute on all functions in schema river to ironhold_engine`)
	if err != nil {
		return fmt.Errorf("river grants: %w", err)
	}
	return nil
}

// Current reports whether the database has every migration of this build. It may have more: a program
// runs on a newer schema.
func Current(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (bool, error) {
	want, err := versions()
	if err != nil {
		return false, err
	}
	var have int
	err = db.QueryRow(ctx, "select count(distinct version_id) from public."+versionTable+" where is_applied and version_id = any($1)", want).Scan(&have)
	if err != nil {
		return false, fmt.Errorf("schema version: %w", err)
	}
	return have == len(want), nil
}

func versions() ([]int64, error) {
	names, err := fs.Glob(files, "sql/*.sql")
	if err != nil || len(names) == 0 {
		return nil, errors.New("no migration files are built in")
	}
	out := make([]int64, 0, len(names))
	for _, name := range names {
		n, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("migration files: %w", err)
		}
		out = append(out, n)
	}
	return out, nil
}
