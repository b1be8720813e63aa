package browsertest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"riverqueue.com/riverui"

	"ironhold/migrations"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/rollout"
	"ironhold/web"
)

// flags serves the switches from the database, as the program does. state is "READY", "STALE" (the
// database went away after it was read) or "ERROR" (it never answered); "" is none.
func (s *Site) flags(t testing.TB, state string) *rollout.Flags {
	t.Helper()
	if state == "" {
		return nil
	}
	db, err := pg.Connect(context.Background(), pgtest.LoginURL(t, s.Owner.Config().ConnString()), pg.PoolOptions{Name: "flags", MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	if state == "ERROR" {
		db.Close()
	}
	f := rollout.NewFlags(t.Context(), rollout.NewProvider(db, 10*time.Millisecond, nil), nil, nil)
	t.Cleanup(func() {
		_ = f.Close(context.Background())
		db.Close()
	})
	if state == "STALE" {
		db.Close()
	}
	for deadline := time.Now().Add(20 * time.Second); f.State() != state; time.Sleep(5 * time.Millisecond) { //nolint:forbidigo // only how long to wait
		if time.Now().After(deadline) { //nolint:forbidigo // only how long to wait
			t.Fatalf("the flags are %s, want %s", f.State(), state)
		}
	}
	return f
}

// jobs are River's own pages, as the program mounts them.
func (s *Site) jobs(t testing.TB, on bool) http.Handler {
	t.Helper()
	if !on {
		return nil
	}
	db, err := pg.Connect(context.Background(), pgtest.LoginURL(t, s.Owner.Config().ConnString()),
		pg.PoolOptions{Name: "jobs", MaxConns: 2, Role: migrations.RoleEngine})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{Schema: migrations.RiverSchema, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(client, nil), Logger: log, Prefix: web.JobsPrefix})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	if err := pages.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		db.Close()
	})
	return pages
}
