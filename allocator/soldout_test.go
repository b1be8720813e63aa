package allocator

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// TestSoldOutTogether: while a request is being refused, orders for it ask together first. Whatever
// would be said before "nothing is left" is said still, and what came free is given.
func TestSoldOutTogether(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	var locks atomic.Int32
	db := tracedPool(t, owner, func(sql string) {
		if strings.Contains(sql, "from org_limits where org_id = $1 for no key update") {
			locks.Add(1)
		}
	})
	off := fixture.Org(t, owner, "off", 5, 5)
	a := New(db, Options{Precondition: func(_ *pgx.Batch, org uuid.UUID) func() *RolloutRefusal {
		return func() *RolloutRefusal {
			if org == off {
				return &RolloutRefusal{Reason: "org_off"}
			}
			return nil
		}
	}})
	t.Cleanup(func() { a.Close(context.Background()) })
	fixture.Add(t, owner, fixture.Machine{Tag: "A1", RAM: 64}, fixture.Machine{Tag: "B1", RAM: 32})
	holder, plain, full := fixture.Org(t, owner, "holder", 5, 5), fixture.Org(t, owner, "plain", 5, 5), fixture.Org(t, owner, "full", 1, 1)
	suspended := fixture.Org(t, owner, "suspended", 5, 5)
	fixture.Exec(t, owner, "update organisations set suspended_at = now(), suspended_by = 'x', suspended_reason = 'x' where id = $1", suspended)
	cooling := fixture.Org(t, owner, "cooling", 5, 5)
	fixture.Exec(t, owner, `
insert into holds (org_id, machine_id, state, idempotency_key, created_at, expires_at, closed_at, closed_by)
select $1, id, 'cancelled', 'past', now() - interval '2 hours', now() - interval '1 hour', now() - interval '1 hour', 'x'
  from machines where asset_tag = 'A1'`, cooling)
	want := Request{MinRAMGB: 64}
	won := order(t, a, holder, "k", want)
	order(t, a, full, "other", Request{})
	if res := order(t, a, plain, "first", want); res.Outcome != AllHeld {
		t.Fatalf("%+v", res)
	}
	ask := func(name string, org uuid.UUID, key string, want Outcome, alone bool) Result {
		t.Helper()
		locks.Store(0)
		res := order(t, a, org, key, Request{MinRAMGB: 64})
		if res.Outcome != want || (locks.Load() > 0) != alone {
			t.Errorf("%s: %s, want %s; locked its organisation %d times", name, res.Outcome, want, locks.Load())
		}
		return res
	}
	if res := ask("anybody", plain, "second", AllHeld, false); res.Survey == nil || res.Survey.Considered != 2 || res.NextFreeAt == nil {
		t.Errorf("%+v", res)
	}
	if res := ask("the same request again", holder, "k", Replayed, true); res.Hold == nil || res.Hold.ID != won.Hold.ID {
		t.Errorf("%+v", res)
	}
	ask("at its cap", full, "k", LimitReached, true)
	ask("suspended", suspended, "k", Suspended, true)
	ask("not rolled out", off, "k", NotRolledOut, true)
	ask("with a machine that is cooling down", cooling, "k", AllHeld, true)
	if _, err := holds.New(db, holds.DefaultPolicy()).Cancel(t.Context(), pg.By{Actor: "test"}, holds.Scope{OrgID: holder}, won.Hold.ID, "x"); err != nil {
		t.Fatal(err)
	}
	ask("after a release", plain, "second", Held, true)
	ask("after the last", holder, "k3", AllHeld, true)
}
