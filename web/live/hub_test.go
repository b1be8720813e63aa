package live_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/web/live"
)

func TestHubTellsEveryProcess(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	app := fixture.App(t, owner, 4)
	url := pgtest.LoginURL(t, owner.Config().ConnString())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	hubs := make([]*live.Hub, 2)
	for i := range hubs {
		hubs[i] = live.New(app, url, slog.New(slog.DiscardHandler))
		go func() { hubs[i].Run(ctx); done <- struct{}{} }()
	}
	t.Cleanup(func() { stop(); <-done; <-done })
	other, cancel := hubs[1].Subscribe()
	defer cancel()
	for end := time.Now().Add(10 * time.Second); !hubs[0].Live() || !hubs[1].Live(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the hubs never listened")
		}
	}
	drain(other)
	hubs[0].Touch()
	select {
	case <-other:
	case <-time.After(5 * time.Second):
		t.Fatal("the other process was not told")
	}

	// The connection is cut: the hub says so and comes back.
	fixture.Exec(t, owner, "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %' and pid <> pg_backend_pid() and datname = current_database()")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		drain(other)
		hubs[0].Touch()
		select {
		case <-other:
			if hubs[1].Live() {
				return
			}
		case <-time.After(300 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatal("the hub did not come back")
		}
	}
}

func drain(c <-chan struct{}) {
	for {
		select {
		case <-c:
		default:
			return
		}
	}
}
