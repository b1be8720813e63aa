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

// What nobody announces shows by looking: a statement typed by hand, and a deadline that passes.
func TestHubLooksByItself(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	app := fixture.App(t, owner, 4)
	ctx, stop := context.WithCancel(t.Context())
	h := live.New(app, "postgres://nobody@127.0.0.1:1/nothing", slog.New(slog.DiscardHandler))
	ended := make(chan struct{})
	go func() { h.Run(ctx); close(ended) }()
	changes, cancel := h.Subscribe()
	defer cancel()
	told := func(what string) {
		t.Helper()
		select {
		case <-changes:
		case <-time.After(20 * time.Second):
			t.Fatalf("nobody was told of %s", what)
		}
	}
	fixture.Exec(t, owner, "update rollout_launch set launch = 'on'")
	told("a change by another program")
	if h.Live() {
		t.Error("the hub says that it is live without a connection")
	}
	stop()
	<-ended
	select {
	case <-h.Done():
	default:
		t.Error("the hub has ended and does not say so")
	}
}
