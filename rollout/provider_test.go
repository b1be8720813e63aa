package rollout_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	of "github.com/open-feature/go-sdk/openfeature"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/rollout"
)

// line is the way to the database, which a test can cut.
type line struct {
	pg.DB
	cut atomic.Bool
}

func (l *line) Begin(ctx context.Context) (pgx.Tx, error) {
	if l.cut.Load() {
		return nil, errors.New("the line is cut")
	}
	return l.DB.Begin(ctx)
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatal("never: " + what)
}

func TestProviderServesRowsAndTheirChanges(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	org := fixture.Org(t, owner, "acme", 5, 50)
	db := &line{DB: fixture.App(t, owner, 3)}
	var asked atomic.Int64
	f := rollout.NewFlags(t.Context(), rollout.NewProvider(db, 20*time.Millisecond, nil), nil,
		func(bool, string) { asked.Add(1) })
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	expect := func(on bool, reason string) {
		t.Helper()
		var got rollout.Ordering
		eventually(t, reason, func() bool {
			got = f.Ordering(t.Context(), org, "customer")
			return got.On == on && got.Reason == reason && got.Known
		})
	}
	expect(false, rollout.ReasonLaunchOff)
	fixture.Exec(t, owner, "update rollout_launch set launch = 'on'")
	expect(true, rollout.ReasonLaunchOn)
	fixture.Exec(t, owner, "update org_limits set rollout = 'off'")
	expect(false, rollout.ReasonOrgOff)
	fixture.Exec(t, owner, "update org_limits set rollout = 'on'")
	expect(true, rollout.ReasonOrgOn)

	// The database goes away: the last value counts and is called stale.
	db.cut.Store(true)
	eventually(t, "stale", func() bool { return f.State() == string(of.StaleState) })
	if got := f.Ordering(t.Context(), org, "customer"); !got.On || !got.Stale || !got.Known {
		t.Errorf("with the database away: %+v", got)
	}
	db.cut.Store(false)
	eventually(t, "ready again", func() bool { return f.State() == string(of.ReadyState) })
	if got := f.Ordering(t.Context(), org, "customer"); !got.On || got.Stale {
		t.Errorf("with the database back: %+v", got)
	}
	if asked.Load() == 0 {
		t.Error("the hook saw no evaluation")
	}
}

func TestProviderThatNeverKnewIsOff(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	org := fixture.Org(t, owner, "acme", 5, 50)
	fixture.Exec(t, owner, "update rollout_launch set launch = 'on'")
	db := &line{DB: fixture.App(t, owner, 3)}
	db.cut.Store(true)
	f := rollout.NewFlags(t.Context(), rollout.NewProvider(db, 20*time.Millisecond, nil), nil, nil)
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	if got := f.Ordering(t.Context(), org, "customer"); got.On || got.Known {
		t.Errorf("never known: %+v", got)
	}
	db.cut.Store(false)
	eventually(t, "on", func() bool { return f.Ordering(t.Context(), org, "customer").On })
}

func TestProviderRefusesWhatItDoesNotServe(t *testing.T) {
	t.Parallel()
	p := rollout.NewProvider(fixture.App(t, pgtest.DB(t), 2), 0, nil)
	if err := p.Init(of.EvaluationContext{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Shutdown)
	for name, got := range map[string]of.BoolResolutionDetail{
		"other flag": p.BooleanEvaluation(t.Context(), "colour", true, of.FlattenedContext{of.TargetingKey: uuid.NewString()}),
		"no key":     p.BooleanEvaluation(t.Context(), rollout.FlagOrdering, true, of.FlattenedContext{}),
		"bad key":    p.BooleanEvaluation(t.Context(), rollout.FlagOrdering, true, of.FlattenedContext{of.TargetingKey: "acme"}),
	} {
		if got.Error() == nil || !got.Value {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := p.StringEvaluation(t.Context(), rollout.FlagOrdering, "x", nil); got.Error() == nil || got.Value != "x" {
		t.Errorf("as a string: %+v", got)
	}
}
