package holds_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// TestNoFreeInstant converts hundreds of holds while other connections look, in one statement and
// in two statements of one snapshot: none of the machines is free for an instant.
func TestNoFreeInstant(t *testing.T) {
	t.Parallel()
	b := setup(t, 8)
	const n = 300
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = b.hold(b.org, b.machine(), 10*time.Minute)
	}
	ctx := t.Context()
	var done atomic.Bool
	var looks [2]atomic.Int64
	var lookers sync.WaitGroup
	lookers.Go(func() {
		for !done.Load() {
			free := fixture.Get[int](t, b.owner, `
select count(*) from machines m
 where not exists (select from holds where machine_id = m.id and state = 'held')
   and not exists (select from services where machine_id = m.id and ended_at is null)`)
			looks[0].Add(1)
			if free > 0 {
				t.Errorf("%d machines free in one statement", free)
				return
			}
		}
	})
	lookers.Go(func() {
		for !done.Load() {
			err := pgx.BeginTxFunc(ctx, b.owner, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
				var held, sold int
				if err := tx.QueryRow(ctx, "select count(*) from holds where state = 'held'").Scan(&held); err != nil {
					return err
				}
				if err := tx.QueryRow(ctx, "select count(*) from services where ended_at is null").Scan(&sold); err != nil {
					return err
				}
				looks[1].Add(1)
				if held+sold != n {
					t.Errorf("%d held and %d in service of %d in one snapshot", held, sold, n)
					done.Store(true)
				}
				return nil
			})
			if err != nil {
				t.Errorf("look: %v", err)
				return
			}
		}
	})
	var converters sync.WaitGroup
	for part := range 3 {
		converters.Go(func() {
			for i := part; i < n; i += 3 {
				if _, created, err := b.book.Convert(ctx, actor, holds.Scope{OrgID: b.org}, ids[i]); err != nil || !created {
					t.Errorf("conversion %d: created %v, %v", i, created, err)
				}
			}
		})
	}
	converters.Wait()
	done.Store(true)
	lookers.Wait()
	if looks[0].Load() < 20 || looks[1].Load() < 20 {
		t.Errorf("only %d and %d looks", looks[0].Load(), looks[1].Load())
	}
}

// TestConvertedOnce confirms one hold three times at once, again and again.
func TestConvertedOnce(t *testing.T) { // case 21
	t.Parallel()
	b := setup(t, 6)
	for range 40 {
		hold := b.hold(b.org, b.machine(), 10*time.Minute)
		var got [3]holds.Service
		var created [3]bool
		together(3, func(i int) {
			var err error
			if got[i], created[i], err = b.book.Convert(t.Context(), actor, holds.Scope{OrgID: b.org}, hold); err != nil {
				t.Errorf("confirm: %v", err)
			}
		})
		first := 0
		for i := range got {
			if got[i].ID != got[0].ID {
				t.Fatal("two services of one hold")
			}
			if created[i] {
				first++
			}
		}
		if first != 1 {
			t.Fatalf("%d answers say that they created the service", first)
		}
	}
	if n := fixture.Get[int](t, b.owner, "select count(*) from services"); n != 40 {
		t.Errorf("%d services of 40 holds", n)
	}
}

// TestPriceOfTheHold changes the machine's price under the hold: what was promised counts.
func TestPriceOfTheHold(t *testing.T) { // case 23
	t.Parallel()
	b := setup(t, 4)
	machine := b.machine()
	hold := b.hold(b.org, machine, 10*time.Minute)
	fixture.Exec(t, b.owner, "update machines set price_month_minor = 9900 where id = $1", machine)
	h, err := b.book.Get(t.Context(), holds.Scope{OrgID: b.org}, hold)
	if err != nil || h.PriceMonthMinor != 4000 {
		t.Errorf("the hold shows %d, %v", h.PriceMonthMinor, err)
	}
	v, _, err := b.book.Convert(t.Context(), actor, holds.Scope{OrgID: b.org}, hold)
	if err != nil || v.PriceMonthMinor != 4000 {
		t.Errorf("the service costs %d, %v", v.PriceMonthMinor, err)
	}
}

// TestWithdrawnMachine sets the machine to maintenance just before the confirmation: the answer
// says so and whether there is another, and that other one is had under the same terms.
func TestWithdrawnMachine(t *testing.T) { // case 20
	t.Parallel()
	b := setup(t, 4)
	scope := holds.Scope{OrgID: b.org}
	machine := b.machine()
	hold := b.hold(b.org, machine, 10*time.Minute)
	fixture.Exec(t, b.owner, "update machines set status = 'maintenance', status_reason = 'fan' where id = $1", machine)

	_, _, err := b.book.Convert(t.Context(), actor, scope, hold)
	if r := refused(t, err); r.Kind != holds.MachineWithdrawn || r.Substitute {
		t.Errorf("without another machine: %+v", r)
	}
	if got := kind(t, second(b.book.Substitute(t.Context(), actor, scope, hold))); got != holds.NoSubstitute {
		t.Errorf("no other machine is there, but the answer is %q", got)
	}
	b.machine()
	_, _, err = b.book.Convert(t.Context(), actor, scope, hold)
	if r := refused(t, err); r.Kind != holds.MachineWithdrawn || !r.Substitute {
		t.Errorf("with another machine: %+v", r)
	}
	old, err := b.book.Get(t.Context(), scope, hold)
	if err != nil || !old.Withdrawn() {
		t.Fatalf("the hold does not stay visible as withdrawn: %+v, %v", old, err)
	}
	got, err := b.book.Substitute(t.Context(), actor, scope, hold)
	if err != nil {
		t.Fatal(err)
	}
	if !got.ExpiresAt.Equal(old.ExpiresAt) || got.PriceMonthMinor != old.PriceMonthMinor || got.SubstituteOf == nil || *got.SubstituteOf != hold {
		t.Errorf("other terms: %+v", got)
	}
	if again, err := b.book.Substitute(t.Context(), actor, scope, hold); err != nil || again.ID != got.ID {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	if b.state(hold) != holds.Cancelled {
		t.Error("the first hold was not given back")
	}
	if _, created, err := b.book.Convert(t.Context(), actor, scope, got.ID); err != nil || !created {
		t.Errorf("the substitute cannot be confirmed: %v", err)
	}
}

// TestSubstituteAndCaps: a cap that was lowered does not take the substitute away, and that is no
// way to more than the cap allows.
func TestSubstituteAndCaps(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	org := fixture.Org(t, b.owner, "capped", 1, 1)
	machine := b.machine()
	hold := b.hold(org, machine, 10*time.Minute)
	fixture.Exec(t, b.owner, "update org_limits set max_holds = 0, max_machines = 0 where org_id = $1", org)
	fixture.Exec(t, b.owner, "update machines set status = 'maintenance' where id = $1", machine)
	b.machine()
	if _, err := b.book.Substitute(t.Context(), actor, holds.Scope{OrgID: org}, hold); err != nil {
		t.Errorf("substitute at a lowered cap: %v", err)
	}
	more, third := b.machine(), b.machine()
	for name, sql := range map[string]string{
		"cancelled earlier": `insert into holds (org_id, machine_id, idempotency_key, expires_at, substitute_of)
			select org_id, '` + more.String() + `', 'x', expires_at, id from holds where id = '` + hold.String() + `'`,
		"a second one": `
			with gone as (update holds set state = 'cancelled' where org_id = '` + org.String() + `' and state = 'held' returning *)
			insert into holds (org_id, machine_id, idempotency_key, expires_at, substitute_of)
			select org_id, '` + more.String() + `', 'y', expires_at, substitute_of from gone`,
		// The place of the hold that was given back is taken by another before it is replaced.
		"beside an ordinary one": `
			begin; update org_limits set max_holds = 1, max_machines = 1 where org_id = '` + org.String() + `';
			update holds set state = 'cancelled' where org_id = '` + org.String() + `' and state = 'held';
			savepoint nested;
			insert into holds (org_id, machine_id, idempotency_key, expires_at)
			values ('` + org.String() + `', '` + more.String() + `', 'o', clock_timestamp() + interval '1 hour');
			release nested;
			insert into holds (org_id, machine_id, idempotency_key, expires_at, substitute_of)
			select org_id, '` + third.String() + `', 'z', expires_at, id from holds where org_id = '` + org.String() + `' and state = 'cancelled'
			order by closed_at desc nulls first, id desc limit 1`,
	} {
		if _, err := b.owner.Exec(t.Context(), sql); pg.Constraint(err) != "org_limits_max_holds" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
