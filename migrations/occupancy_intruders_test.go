package migrations_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// intruder is a transaction of random plain SQL on a few machines and organisations. It takes the
// locks in the documented order, since plain SQL that does not may deadlock, which the server
// resolves and which proves nothing.
func intruder(r *rand.Rand, machines, orgs int) []string {
	org := fmt.Sprintf("org-%d", r.IntN(orgs)+1)
	tag := fmt.Sprintf("m-%d", r.IntN(machines)+1)
	lock := []string{
		fmt.Sprintf("select from org_limits where org_id = (select id from organisations where slug = '%s') for no key update", org),
		fmt.Sprintf("select from machines where asset_tag = '%s' for no key update", tag),
	}
	// The hold or service of this organisation on this machine, whatever its state.
	own := fmt.Sprintf(`org_id = (select id from organisations where slug = '%s') and machine_id = (select id from machines where asset_tag = '%s')`, org, tag)
	newHold := func(lasts string) string { return insertHold(org, tag, fmt.Sprintf("k%d", r.Int64()), lasts) }
	service := `insert into services (org_id, machine_id, hold_id, price_month_minor, setup_minor, currency)
		select org_id, machine_id, id, price_month_minor, setup_minor, currency from holds where state = 'held' and ` + own
	convert := "update holds set state = 'converted', closed_at = clock_timestamp() where state = 'held' and " + own
	move := func(to string) string { return setMachine(tag, "status = '"+to+"'") }
	end := "update services set ended_at = clock_timestamp() where ended_at is null and " + own
	steps := [][]string{
		{newHold("30 ms")},
		{newHold("1 hour")},
		{"update holds set state = 'expired' where state = 'held' and expires_at <= clock_timestamp() and machine_id = (select id from machines where asset_tag = '" + tag + "')", newHold("40 ms")},
		{service, convert, move("in_service")},
		{convert, service, move("in_service")},
		{service},
		{convert},
		{service, "update holds set state = 'cancelled' where state = 'held' and " + own, newHold("1 hour")},
		{"update holds set state = 'cancelled' where state = 'held' and " + own},
		{"update holds set state = 'held' where " + own},
		{"update holds set expires_at = clock_timestamp() + interval '50 ms' where " + own + " and state = 'held'"},
		{"update holds set machine_id = (select id from machines order by random() limit 1) where " + own},
		{end, move("cleaning")},
		{end},
		{move("maintenance")},
		{move("in_service")},
		{move("ready")},
		{setMachine(tag, "wiped_at = clock_timestamp()"), move("ready")},
		{move("cleaning"), setMachine(tag, "wiped_at = clock_timestamp()"), move("ready")},
		{"delete from machines where asset_tag = '" + tag + "'"},
	}
	statements := steps[r.IntN(len(steps))]
	if r.IntN(4) == 0 {
		statements = append(append([]string{"select count(*) from holds", "select count(*) from services"}, statements...), "select pg_sleep(0.002)")
	}
	return append(lock, statements...)
}

// Seconds of random plain SQL at random levels and as random roles, many at once: whatever was
// let through, everything that must be true is true, seen while it runs and afterwards.
func TestIntruders(t *testing.T) {
	t.Parallel()
	const machines, organisations = 5, 2
	s := newScene(t)
	orgs(t, s, organisations, 2, 3)
	fixture.Equal(t, s.owner, "m", machines)
	// All but one have a past, or else a seed that begins with their deletion leaves nothing to fight
	// for: a machine that was ever held cannot be deleted.
	for i := range machines - 1 {
		past := insertHold("org-1", fmt.Sprintf("m-%d", i+1), fmt.Sprintf("past-%d", i), "1 hour")
		if err := s.run(writers[0], levels[0], past, "update holds set state = 'cancelled' where state = 'held'"); err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	var committed, refused atomic.Int64
	together(9, func(i int) error {
		if i == 0 {
			for ctx.Err() == nil {
				n := s.count(`select count(*) from (select machine_id from (select machine_id from holds where state = 'held'
					union all select machine_id from services where ended_at is null) o group by 1 having count(*) > 1) two`)
				if n > 0 {
					t.Errorf("%d machines had two occupants", n)
				}
				time.Sleep(2 * time.Millisecond)
			}
			return nil
		}
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		for ctx.Err() == nil {
			level := levels[0]
			if r.IntN(4) == 0 {
				level = levels[r.IntN(3)]
			}
			err := s.run(writers[r.IntN(3)], level, intruder(r, machines, organisations)...)
			switch pg.Code(err) {
			case "":
				if err != nil {
					t.Errorf("%v", err)
				}
				committed.Add(1)
			case pg.CodeCheckViolation, pg.CodeExclusionViolation, pg.CodeUniqueViolation, pg.CodeForeignKeyViolation,
				pg.CodeSerializationFailure, "25000", "42501":
				refused.Add(1)
			default:
				t.Errorf("%v", err)
			}
		}
		return nil
	})
	if committed.Load() < 50 || refused.Load() < 50 {
		t.Errorf("%d transactions were committed and %d refused: too few to prove anything", committed.Load(), refused.Load())
	}
	s.invariant("one_occupant", "board_sum", "status_facts", "held_machine_stays", "converted_one_to_one", "converted_in_time",
		"one_end", "one_key_one_hold", "caps", "wiped_before_sale", "history_complete", "arbiters", "occupying_states")
	t.Logf("%d committed, %d refused; %d holds, %d services", committed.Load(), refused.Load(),
		s.count("select count(*) from holds"), s.count("select count(*) from services"))
}
