package pg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// PoolOptions bound what one pool may do. Zero values take the defaults named beside them.
type PoolOptions struct {
	Name             string        // shown by the server as application_name
	MaxConns         int32         // 10
	LockTimeout      time.Duration // 2 s
	StatementTimeout time.Duration // 30 s
	IdleInTx         time.Duration // 10 s
	// Tracer is told of each statement before it is sent; a test can hold it up there.
	Tracer pgx.QueryTracer
	// Role makes every session of the pool act as that role outside transactions too: River needs
	// it, since it begins its own.
	Role string
}

// Connect makes a pool whose sessions do not depend on how the server or the database is
// configured, see Settle. It does not wait for the server.
func Connect(ctx context.Context, url string, o PoolOptions) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	cfg.MaxConns = max(o.MaxConns, 2)
	if o.MaxConns == 0 {
		cfg.MaxConns = 10
	}
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.ConnConfig.Tracer = o.Tracer
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		return errors.Join(registerUUID(ctx, conn), Unhurried(ctx, conn))
	}
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	p := cfg.ConnConfig.RuntimeParams
	Settle(p)
	p["application_name"] = "ironhold " + o.Name
	p["lock_timeout"] = millis(o.LockTimeout, 2*time.Second)
	p["statement_timeout"] = millis(o.StatementTimeout, 30*time.Second)
	p["idle_in_transaction_session_timeout"] = millis(o.IdleInTx, 10*time.Second)
	// A statement's plan does not depend on its arguments here, and planning anew costs more than
	// the statement.
	p["plan_cache_mode"] = "force_generic_plan"
	if o.Role != "" {
		p["role"] = o.Role
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	return pool, nil
}

func millis(d, fallback time.Duration) string {
	if d == 0 {
		d = fallback
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}
