package holds_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/holds"
	"ironhold/migrations/pgtest/fixture"
)

// TestDeadline takes every step from one second before to one second after the deadline, with no
// sweep. Before it the step is taken, after it the answer is hold-expired and nothing is written.
func TestDeadline(t *testing.T) { // cases 13, 19
	t.Parallel()
	b := setup(t, 30)
	offsets := []time.Duration{-1000, -500, -200, -100, -50, -20, -10, -5, -2, -1, 0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
	var all sync.WaitGroup // at the same time, not on one of a few turns: they mostly sleep
	defer all.Wait()
	for _, step := range steps {
		for _, o := range offsets {
			offset := o * time.Millisecond
			org := fixture.Org(t, b.owner, fmt.Sprint("org-", b.keys.Add(1)), 5, 50)
			hold := b.hold(org, b.machine(), time.Hour)
			all.Go(func() {
				t.Run(fmt.Sprint(step.name, offset), func(t *testing.T) {
					fixture.Exec(t, b.owner, "update holds set expires_at = clock_timestamp() + interval '1200 ms' where id = $1", hold)
					deadline := fixture.Get[time.Time](t, b.owner, "select expires_at from holds where id = $1", hold)
					time.Sleep(deadline.Add(offset).Sub(b.now()))

					before := b.now()
					got := kind(t, step.run(t.Context(), b.book, holds.Scope{OrgID: org}, hold))
					after := b.now()

					switch {
					case after.Before(deadline) && got != "":
						t.Errorf("before the deadline: %s", got)
					case !before.Before(deadline) && got != holds.HoldExpired:
						t.Errorf("at or after the deadline: %q", got)
					case got != "" && got != holds.HoldExpired:
						t.Errorf("around the deadline: %q", got)
					}
					b.settled(t, step.name, step.after, hold, deadline, got)
				})
			})
		}
	}
}

// settled checks that the database says what the answer said.
func (b *bench) settled(t *testing.T, step string, taken holds.State, hold uuid.UUID, deadline time.Time, answer holds.RefusedKind) {
	t.Helper()
	want := holds.Held
	if answer == "" {
		want = taken
	}
	if got := b.state(hold); got != want {
		t.Errorf("answer %q, but the hold is %s", answer, got)
	}
	services := fixture.Get[int](t, b.owner, "select count(*) from services where hold_id = $1", hold)
	if (services == 1) != (step == "convert" && answer == "") {
		t.Errorf("answer %q, but %d services", answer, services)
	}
	moved := !fixture.Get[time.Time](t, b.owner, "select expires_at from holds where id = $1", hold).Equal(deadline)
	if moved != (step == "extend" && answer == "") {
		t.Errorf("answer %q, deadline moved: %v", answer, moved)
	}
	events := fixture.Get[int](t, b.owner, `
select count(*) from hold_events where hold_id = $1 and actor = 'test'`, hold)
	if (events == 1) != (answer == "") {
		t.Errorf("answer %q, but %d events", answer, events)
	}
}

// TestDeadlineBehindALock lets another connection have a row that the step needs, and change it,
// and roll back: either across the deadline, which the step must then not miss, or before it.
func TestDeadlineBehindALock(t *testing.T) {
	t.Parallel()
	b := setup(t, 30)
	locks := []struct{ row, sql string }{
		{"hold", "update holds set close_reason = 'meanwhile' where id = $1"},
		{"hold-locked", "select from holds where id = $1 for update"},
		{"machine", "update machines set status_reason = 'meanwhile' where id = (select machine_id from holds where id = $1)"},
		{"organisation", "update org_limits set changed_by = 'meanwhile' where org_id = (select org_id from holds where id = $1)"},
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, step := range steps {
		for _, lock := range locks {
			for _, across := range []bool{true, false} {
				org := fixture.Org(t, b.owner, fmt.Sprint("org-", b.keys.Add(1)), 5, 50)
				hold := b.hold(org, b.machine(), time.Hour)
				all.Go(func() {
					t.Run(fmt.Sprintf("%s/%s/across=%v", step.name, lock.row, across), func(t *testing.T) {
						ctx := t.Context()
						left := time.Second
						if !across {
							left = 30 * time.Second
						}
						fixture.Exec(t, b.owner, "update holds set expires_at = clock_timestamp() + $2::interval where id = $1", hold, left)
						deadline := fixture.Get[time.Time](t, b.owner, "select expires_at from holds where id = $1", hold)
						tx, err := b.owner.Begin(ctx)
						if err != nil {
							t.Fatal(err)
						}
						defer tx.Rollback(ctx)
						if _, err := tx.Exec(ctx, lock.sql, hold); err != nil {
							t.Fatal(err)
						}
						began := b.now()
						answer := make(chan error, 1)
						go func() { answer <- step.run(ctx, b.book, holds.Scope{OrgID: org}, hold) }()
						wait := 50 * time.Millisecond
						if across {
							wait = deadline.Sub(b.now()) + 30*time.Millisecond
						}
						time.Sleep(wait)
						if err := tx.Rollback(ctx); err != nil {
							t.Fatal(err)
						}
						got := kind(t, <-answer)
						if across && !began.Before(deadline) {
							t.Fatal("the step began too late to tell anything")
						}
						want := holds.RefusedKind("")
						// An extension needs no lock on the machine: it was taken at once.
						if across && !(step.name == "extend" && lock.row == "machine") {
							want = holds.HoldExpired
						}
						if got != want {
							t.Errorf("got %q, want %q", got, want)
						}
						b.settled(t, step.name, step.after, hold, deadline, got)
					})
				})
			}
		}
	}
}
