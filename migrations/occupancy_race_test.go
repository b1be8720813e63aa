package migrations_test

import (
	"fmt"
	"testing"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// Many insert a hold for one machine at one instant: at READ COMMITTED exactly one has it, at the
// higher levels nobody, since refusing is a way of holding.
func TestOneMachineManyHolds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	orgs(t, s, 6, 100, 100)
	fixture.Equal(t, s.owner, "m", 3*len(writers)*len(levels))
	n := 0
	for _, a := range writers {
		for _, level := range levels {
			for range 3 {
				n++
				tag := fmt.Sprintf("m-%d", n)
				errs := together(6, func(i int) error {
					return s.run(a, level, insertHold(fmt.Sprintf("org-%d", i+1), tag, tag, "1 hour"))
				})
				want := 0
				if level == "read committed" {
					want = 1
				}
				got := s.count("select count(*) from holds h join machines m on m.id = h.machine_id where m.asset_tag = $1", tag)
				if got != want {
					t.Errorf("%s, %s: %d holds of one machine, want %d", a.name, level, got, want)
				}
				for _, err := range errs {
					switch c := pg.Constraint(err); {
					case err == nil:
					case level == "read committed" && c == "holds_one_held_per_machine":
					case level != "read committed" && c == "occupancy_isolation":
					default:
						t.Errorf("%s, %s: %v", a.name, level, err)
					}
				}
			}
		}
	}
	s.invariant("one_occupant", "history_complete")
}

// The same with a mix of levels and roles at one instant, where some had their snapshot before.
func TestOneMachineMixedLevels(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	orgs(t, s, 6, 100, 100)
	fixture.Equal(t, s.owner, "m", 10)
	for n := range 10 {
		tag := fmt.Sprintf("m-%d", n+1)
		together(6, func(i int) error {
			return s.run(writers[i%3], levels[(i+n)%3], "select count(*) from holds", "select pg_sleep(0.005)",
				insertHold(fmt.Sprintf("org-%d", i+1), tag, tag, "1 hour"))
		})
		if got := s.count("select count(*) from holds h join machines m on m.id = h.machine_id where m.asset_tag = $1", tag); got != 1 {
			t.Errorf("%d holds of one machine", got)
		}
	}
	s.invariant("one_occupant")
}

// A hold and a service for one machine, stepped: whoever comes second is refused, in both orders.
func TestHoldBesideService(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		for _, a := range writers {
			t.Run(level+"/"+a.name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t)
				orgs(t, s, 2, 100, 100)
				fixture.Equal(t, s.owner, "m", 2)

				// The sale is under way, another's hold comes: it waits, and is refused.
				s.must(insertHold("org-1", "m-1", "k1", "1 hour"))
				first := s.begin(asOwner, "read committed")
				second := s.begin(a, level)
				mustExec(t, second, "select count(*) from services")
				mustExec(t, first, insertService("k1"))
				done := exec(second, insertHold("org-2", "m-1", "k2", "1 hour"))
				if level == "read committed" {
					s.waits(second)
				}
				mustExec(t, first, setHold("k1", "state = 'converted'"))
				mustExec(t, first, setMachine("m-1", "status = 'in_service'"))
				if err := first.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				refusedBy(t, level, <-done, "machines_ready_to_occupy")

				// Another's hold is under way on a machine whose hold ran out: the sale is refused.
				s.must(insertHold("org-1", "m-2", "k3", "1 hour"))
				s.asReplica(setHold("k3", "expires_at = clock_timestamp() - interval '1 s'"))
				first = s.begin(asOwner, "read committed")
				second = s.begin(a, level)
				mustExec(t, second, "select count(*) from services")
				mustExec(t, first, setHold("k3", "state = 'expired'"))
				mustExec(t, first, insertHold("org-2", "m-2", "k4", "1 hour"))
				done = exec(second, insertService("k3"))
				if level == "read committed" {
					s.waits(second)
				}
				if err := first.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				refusedBy(t, level, <-done, "services_live_hold")
				s.invariant("one_occupant", "converted_one_to_one", "board_sum", "status_facts")
			})
		}
	}
}

func refusedBy(t *testing.T, level string, err error, constraint string) {
	t.Helper()
	if level != "read committed" {
		constraint = "occupancy_isolation"
	}
	if pg.Constraint(err) != constraint {
		t.Errorf("%s: %v, want a refusal by %s", level, err, constraint)
	}
}

// A service that was not moved to in_service yet still occupies: the other table is looked at,
// not the machine's status.
func TestHoldDuringActiveServiceOfReadyMachine(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	orgs(t, s, 2, 100, 100)
	fixture.Equal(t, s.owner, "m", 1)
	s.must(insertHold("org-1", "m-1", "k1", "1 hour"))
	s.must(sale("k1", "m-1")...)
	s.asReplica(setMachine("m-1", "status = 'ready'"))
	for _, a := range writers {
		s.refused(a, "machines_one_occupant", insertHold("org-2", "m-1", "k2", "1 hour"))
		s.refused(a, "machines_one_occupant", insertHold("org-1", "m-1", "k3", "1 hour"))
	}
}

// Caps, one row per statement and many rows per statement, at each level.
func TestCaps(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			orgs(t, s, 3, 3, 5)
			fixture.Equal(t, s.owner, "m", 60)
			many := func(slug string, from, n int) string {
				return fmt.Sprintf(`insert into holds (org_id, machine_id, idempotency_key, expires_at)
					select o.id, m.id, m.asset_tag, clock_timestamp() + interval '1 hour' from organisations o, machines m
					where o.slug = '%s' and substr(m.asset_tag, 3)::int between %d and %d`, slug, from, from+n-1)
			}
			live := func(slug string) int {
				return s.count(`select count(*) from holds h join organisations o on o.id = h.org_id where o.slug = $1 and state = 'held'`, slug)
			}
			want := 3
			if level != "read committed" {
				want = 0
			}
			for i, a := range writers {
				slug := fmt.Sprintf("org-%d", i+1)
				refusedBy(t, level, s.run(a, level, many(slug, 20*i+1, 4)), "org_limits_max_holds")
				if n := live(slug); n != 0 {
					t.Errorf("%s: %d holds of a refused statement", a.name, n)
				}
				for _, err := range together(8, func(j int) error { return s.run(a, level, many(slug, 20*i+j+1, 1)) }) {
					if err != nil {
						refusedBy(t, level, err, "org_limits_max_holds")
					}
				}
				if n := live(slug); n != want {
					t.Errorf("%s: %d live holds, want %d", a.name, n, want)
				}
				if level == "read committed" {
					refusedBy(t, level, s.run(a, level, many(slug, 20*i+10, 1)), "org_limits_max_holds")
				}
			}
			s.invariant("caps", "one_occupant", "history_complete")
		})
	}
}

// Services count against max_machines, overdue holds count against nothing.
func TestCapsCountServicesAndLiveHolds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	orgs(t, s, 1, 3, 4)
	fixture.Equal(t, s.owner, "m", 12)
	for i := 1; i <= 3; i++ {
		s.must(insertHold("org-1", fmt.Sprintf("m-%d", i), fmt.Sprintf("k%d", i), "1 hour"))
	}
	for i := 1; i <= 2; i++ {
		s.must(sale(fmt.Sprintf("k%d", i), fmt.Sprintf("m-%d", i))...)
	}
	s.must(insertHold("org-1", "m-4", "k4", "1 hour"))
	for _, a := range writers {
		s.refused(a, "org_limits_max_machines", insertHold("org-1", "m-5", "k5", "1 hour"))
	}
	s.asReplica(setHold("k4", "expires_at = clock_timestamp() - interval '1 s'"))
	s.must(insertHold("org-1", "m-5", "k5", "1 hour"))
	for _, a := range writers {
		s.refused(a, "org_limits_max_machines", insertHold("org-1", "m-6", "k6", "1 hour"))
		s.refused(a, "holds_deadline_passed", setHold("k4", "expires_at = clock_timestamp() + interval '1 hour'"))
	}
	s.invariant("caps")
}

// A cap that is lowered while holds come in: those who count after it obey it.
func TestCapLoweredBesideInserts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	orgs(t, s, 1, 10, 10)
	fixture.Equal(t, s.owner, "m", 3)
	lower := s.begin(asEngine, "read committed")
	mustExec(t, lower, "update org_limits set max_holds = 0")
	insert := s.begin(asEngine, "read committed")
	done := exec(insert, insertHold("org-1", "m-1", "k1", "1 hour"))
	s.waits(insert)
	if err := lower.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; pg.Constraint(err) != "org_limits_max_holds" {
		t.Errorf("insert after a lowered cap: %v", err)
	}
}

// An organisation without a lock row gets one, also when two come at once. A hold needs the row by
// its foreign key.
func TestLockRowIsMade(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	fixture.Equal(t, s.owner, "m", 8)
	s.must("insert into organisations (slug, name) values ('bare', 'bare')")
	for _, err := range together(8, func(i int) error {
		return s.run(asEngine, "read committed", insertHold("bare", fmt.Sprintf("m-%d", i+1), fmt.Sprintf("k%d", i), "1 hour"))
	}) {
		if err != nil && pg.Constraint(err) != "org_limits_max_holds" {
			t.Error(err)
		}
	}
	if n := s.count("select count(*) from holds"); n != 5 {
		t.Errorf("%d holds, want the default cap of 5", n)
	}
}

// The second of two orders with one key is refused by name, whether the first has committed or not.
func TestOneKeyOneHold(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	orgs(t, s, 2, 10, 10)
	fixture.Equal(t, s.owner, "m", 10)
	for _, err := range together(5, func(i int) error {
		return s.run(writers[i%3], "read committed", insertHold("org-1", fmt.Sprintf("m-%d", i+1), "same", "1 hour"))
	}) {
		if err != nil && pg.Constraint(err) != "holds_one_per_request" {
			t.Error(err)
		}
	}
	if n := s.count("select count(*) from holds"); n != 1 {
		t.Errorf("%d holds of one key", n)
	}
	if err := s.run(asEngine, "read committed", insertHold("org-2", "m-9", "same", "1 hour")); err != nil {
		t.Errorf("another organisation's key: %v", err)
	}
	s.invariant("one_key_one_hold")
}
