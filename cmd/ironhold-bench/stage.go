package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgembed"
)

// stage is a migrated database of its own on the bench's server.
type stage struct {
	owner *pgxpool.Pool
	pool  *pgxpool.Pool // of the application
	drop  func()
}

// stage copies the migrated, empty database.
func (m *measure) stage(ctx context.Context, name string) (*stage, error) {
	admin, err := pgxpool.New(ctx, m.server.URL(pgembed.Owner, "postgres"))
	if err != nil {
		return nil, err
	}
	if _, err := admin.Exec(ctx, fmt.Sprintf("create database %s template %s", name, template)); err != nil {
		admin.Close()
		return nil, fmt.Errorf("database %s: %w", name, err)
	}
	st := &stage{drop: func() {
		_, _ = admin.Exec(context.WithoutCancel(ctx), "drop database "+name+" with (force)")
		admin.Close()
	}}
	if st.owner, err = pgxpool.New(ctx, m.server.URL(pgembed.Owner, name)); err != nil {
		return nil, err
	}
	st.pool, err = pg.Connect(ctx, m.server.URL(login, name), pg.PoolOptions{Name: "bench", MaxConns: int32(m.conns)}) //nolint:gosec // a small number
	return st, err
}

func (s *stage) close() {
	s.pool.Close()
	s.owner.Close()
	s.drop()
}
