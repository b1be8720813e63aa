package holds_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/holds"
	"ironhold/migrations/pgtest/fixture"
)

// overdue plants n overdue holds on machines of their own.
func (b *bench) overdue(n int) {
	b.t.Helper()
	prefix := uuid.NewString()[:8]
	fixture.Equal(b.t, b.owner, prefix, n)
	b.force(`
insert into holds (org_id, machine_id, idempotency_key, created_at, expires_at)
select $1, id, asset_tag, clock_timestamp() - interval '1 hour', clock_timestamp() - interval '1 minute'
  from machines where asset_tag like $2`, b.org, prefix+"-%")
}

func (b *bench) count(state holds.State) int {
	b.t.Helper()
	return fixture.Get[int](b.t, b.owner, "select count(*) from holds where state = $1", string(state))
}

func TestSweep(t *testing.T) {
	t.Parallel()
	b := setup(t, 6)
	live := b.hold(b.org, b.machine(), 10*time.Minute)
	b.overdue(1200)
	locked := fixture.Get[uuid.UUID](t, b.owner, "select id from holds where state = 'held' and id <> $1 limit 1", live)
	tx, err := b.owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "select from holds where id = $1 for no key update", locked); err != nil {
		t.Fatal(err)
	}
	if age, err := b.book.OldestOverdue(t.Context()); err != nil || age < 60 || age > 600 {
		t.Errorf("age of the oldest: %v, %v", age, err)
	}
	// Three at once share the work and wait for nobody, neither for each other nor for the lock.
	var swept [3]int
	together(3, func(i int) {
		var err error
		if swept[i], err = b.book.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if n := swept[0] + swept[1] + swept[2]; n != 1199 || b.count(holds.Expired) != 1199 {
		t.Errorf("swept %v, expired %d", swept, b.count(holds.Expired))
	}
	if b.state(live) != holds.Held || b.state(locked) != holds.Held {
		t.Errorf("live %s, locked %s", b.state(live), b.state(locked))
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := b.book.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("afterwards swept %d, %v", n, err)
	}
	b.eachOnce(1200)
	if age, err := b.book.OldestOverdue(t.Context()); err != nil || age != 0 {
		t.Errorf("age of the oldest when none is: %v, %v", age, err)
	}
}

// eachOnce checks that n holds expired, each with one event of the sweep.
func (b *bench) eachOnce(n int) {
	b.t.Helper()
	events := fixture.Get[int](b.t, b.owner, "select count(*) from hold_events where event = 'expired' and actor = 'sweep'")
	apart := fixture.Get[int](b.t, b.owner, "select count(distinct hold_id) from hold_events where event = 'expired'")
	if events != n || apart != n || b.count(holds.Expired) != n {
		b.t.Errorf("%d expired, with %d events of %d holds, want %d", b.count(holds.Expired), events, apart, n)
	}
}

// TestKilledInMidSweep runs two workers and kills the one that sweeps 5,000 holds, in the middle of
// it: the other one does the rest, and no hold expires twice.
func TestKilledInMidSweep(t *testing.T) { // case 27
	t.Parallel()
	b := setup(t, 4)
	const n = 5000
	// Slow enough to be met in the middle.
	fixture.Exec(t, b.owner, `
create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.002); return null; end $$;
create trigger slow after update on holds for each row execute function slow()`)
	b.overdue(n)
	workers := map[string]*worker{}
	for range 2 {
		w := b.startWorker(t, time.Second)
		workers[w.id()] = w
	}
	eventually(t, 30*time.Second, "the first batch", func() bool { return b.count(holds.Expired) > 0 })
	busy := fixture.Get[string](t, b.owner, `
select attempted_by[array_upper(attempted_by, 1)] from river.river_job where kind = 'holds_sweep' and state = 'running' order by id limit 1`)
	if workers[busy] == nil {
		t.Fatalf("the sweep runs in %q", busy)
	}
	workers[busy].kill()
	left := b.count(holds.Held)
	if left == 0 || left == n {
		t.Fatalf("%d are left: killed before or after the sweep, not in it", left)
	}
	// What the killed one had begun is rolled back by the server.
	fixture.Exec(t, b.owner, "drop trigger slow on holds")
	eventually(t, 60*time.Second, "the rest", func() bool { return b.count(holds.Held) == 0 })
	b.eachOnce(n)
}

// TestRestartsMoreFrequentThanTheInterval: a schedule that is kept in memory alone never comes to
// its first run when the process is restarted all the time; the sweep also runs at each start. A
// finished sweep of the same period is no reason to leave one out.
func TestRestartsMoreFrequentThanTheInterval(t *testing.T) { // case 28
	t.Parallel()
	b := setup(t, 4)
	const rounds = 4
	for round := range rounds {
		b.overdue(3)
		w := b.startWorker(t, time.Hour)
		eventually(t, 40*time.Second, "the sweep at the start", func() bool { return b.count(holds.Held) == 0 })
		if round%2 == 0 {
			w.stop()
			continue
		}
		// Killed, right after the work and before it is noted: the job stays "running", and the
		// leader's seat taken for as long as River gives a leader.
		w.kill()
	}
	b.eachOnce(3 * rounds)
}

// TestScheduleSurvivesItsLeader stops the process that has the schedule in its memory: the other
// one, which is configured alike, goes on.
func TestScheduleSurvivesItsLeader(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	first := b.startWorker(t, time.Second)
	eventually(t, 20*time.Second, "a leader", func() bool {
		return fixture.Get[int](t, b.owner, "select count(*) from river.river_leader where leader_id = $1", first.id()) == 1
	})
	b.startWorker(t, time.Second)
	b.overdue(3)
	eventually(t, 20*time.Second, "a sweep by the first leader", func() bool { return b.count(holds.Held) == 0 })
	first.stop()
	for range 2 { // not only the one at the start
		b.overdue(3)
		eventually(t, 20*time.Second, "a sweep by the second leader", func() bool { return b.count(holds.Held) == 0 })
	}
	b.eachOnce(9)
	if failed := fixture.Get[int](t, b.owner, "select count(*) from river.river_job where errors is not null and cardinality(errors) > 0"); failed > 0 {
		t.Errorf("%d sweeps failed", failed)
	}
}
