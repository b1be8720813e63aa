package allocator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

func order(t *testing.T, a *Allocator, org uuid.UUID, key string, r Request) Result {
	t.Helper()
	res, err := a.Order(t.Context(), Order{OrgID: org, By: pg.By{Actor: "test", RequestID: "req-" + key}, Key: key, Request: r})
	if err != nil {
		t.Fatalf("order %s: %v", key, err)
	}
	return res
}

func TestRefusalsAreReadableWithinASecond(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	a := New(fixture.App(t, owner, 4), Options{})
	t.Cleanup(func() { a.Close(context.Background()) })
	me := fixture.Org(t, owner, "me", 2, 50)
	fixture.Add(t, owner, fixture.Machine{Tag: "A1", RAM: 32}, fixture.Machine{Tag: "A2"})

	refused := order(t, a, me, "k1", Request{MinRAMGB: 128, Features: []string{"ipmi"}})
	if refused.Outcome != NoneLeft {
		t.Fatalf("%+v", refused)
	}
	answered := time.Now()
	var got Attempt
	for {
		var err error
		if got, err = a.Attempt(t.Context(), refused.AttemptID); err == nil {
			break
		}
		if _, ok := errors.AsType[*NotFound](err); !ok || time.Since(answered) > time.Second {
			t.Fatalf("after %s: %v", time.Since(answered), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got.ID != refused.AttemptID || got.OrgID != me || got.OrgSlug != "me" || got.Actor != "test" || got.RequestID != "req-k1" ||
		got.Key != "k1" || got.Outcome != NoneLeft || got.Considered != 2 || got.Eligible != 0 || got.HoldID != nil || got.TookUS <= 0 {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(got.Reasons, refused.Survey.Reasons) || len(got.NearMisses) != len(refused.Survey.NearMisses) {
		t.Errorf("recorded %v %v, answered %v %v", got.Reasons, got.NearMisses, refused.Survey.Reasons, refused.Survey.NearMisses)
	}
	var r Request
	if err := json.Unmarshal(got.Request, &r); err != nil || r.MinRAMGB != 128 || got.Faster == nil || got.ArrivedAt == nil || got.At.Before(*got.ArrivedAt) {
		t.Errorf("%s %v %+v", got.Request, err, got)
	}
	_, err := a.Attempt(t.Context(), uuid.New())
	if _, ok := errors.AsType[*NotFound](err); !ok {
		t.Errorf("of an unknown attempt: %v", err)
	}
}

// TestAttemptOfAHold: it is there when the order is answered, written by the same transaction.
func TestAttemptOfAHold(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	a := New(fixture.App(t, owner, 4), Options{})
	t.Cleanup(func() { a.Close(context.Background()) })
	me := fixture.Org(t, owner, "me", 10, 50)
	fixture.Equal(t, owner, "m", 3)
	res := order(t, a, me, "k1", Request{})
	got, err := a.Attempt(t.Context(), res.AttemptID)
	if err != nil || got.Outcome != Held || got.HoldID == nil || *got.HoldID != res.Hold.ID || len(got.Walk) != 1 || got.Walk[0].Result != "won" {
		t.Fatalf("%+v, %v", got, err)
	}
	if !fixture.Get[bool](t, owner, `
select h.xmin = t.xmin and h.created_at >= t.arrived_at and h.attempt_id = t.id
  from holds h join allocation_attempts t on t.hold_id = h.id where h.id = $1`, res.Hold.ID) {
		t.Error("hold and attempt were written by different transactions")
	}
	// A transaction that ends without its hold leaves no such attempt.
	fixture.Exec(t, owner, "alter table holds add constraint nobody check (idempotency_key <> 'k2')")
	if _, err := a.Order(t.Context(), Order{OrgID: me, Key: "k2"}); err == nil {
		t.Error("the hold was written")
	}
	if n := fixture.Get[int](t, owner, "select count(*)::int from allocation_attempts where idempotency_key = 'k2'"); n != 0 {
		t.Errorf("%d attempts of a transaction that was rolled back", n)
	}
}

func TestAttemptsFiltered(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	app := fixture.App(t, owner, 4)
	a := New(app, Options{})
	orgs := fixture.Orgs(t, owner, "org", 2)
	fixture.Equal(t, owner, "m", 1)
	var ids []uuid.UUID
	for i := range 6 {
		res := order(t, a, orgs[i%2], fmt.Sprintf("k%d", i), Request{MinCores: 8 + i/4*8}) // the last two fit nothing
		ids = append(ids, res.AttemptID)
	}
	a.Close(t.Context()) // writes what waits
	a.Close(t.Context()) // and does no harm when called again
	reader := New(app, Options{})
	t.Cleanup(func() { reader.Close(context.Background()) })
	list := func(f AttemptFilter) []uuid.UUID {
		t.Helper()
		if f.Limit == 0 {
			f.Limit = 100
		}
		found, err := reader.Attempts(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var out []uuid.UUID
		for _, x := range found {
			out = append(out, x.ID)
		}
		return out
	}
	// Five minutes between them: on a busy machine the estimates of the server's clock may cross.
	for i, id := range ids {
		fixture.Exec(t, owner, "update allocation_attempts set at = at + $2 * interval '5 min' where id = $1", id, i)
	}
	at := fixture.Get[time.Time](t, owner, "select at from allocation_attempts where id = $1", ids[3])
	for _, c := range []struct {
		name string
		f    AttemptFilter
		want []int
	}{
		{"all, newest first", AttemptFilter{}, []int{5, 4, 3, 2, 1, 0}},
		{"outcome", AttemptFilter{Outcome: NoneLeft}, []int{5, 4}},
		{"held", AttemptFilter{Outcome: Held}, []int{0}},
		{"all held", AttemptFilter{Outcome: AllHeld}, []int{3, 2, 1}},
		{"refused", AttemptFilter{Refused: true}, []int{5, 4, 3, 2, 1}},
		{"organisation", AttemptFilter{OrgID: orgs[1]}, []int{5, 3, 1}},
		{"from", AttemptFilter{From: at}, []int{5, 4, 3}},
		{"to", AttemptFilter{To: at}, []int{2, 1, 0}},
		{"page", AttemptFilter{Limit: 2}, []int{5, 4}},
		{"next page", AttemptFilter{Limit: 2, Before: ids[4]}, []int{3, 2}},
		{"together", AttemptFilter{Outcome: AllHeld, OrgID: orgs[1], Before: ids[3]}, []int{1}},
		{"no such outcome", AttemptFilter{Outcome: "x' or true"}, nil},
	} {
		var want []uuid.UUID
		for _, i := range c.want {
			want = append(want, ids[i])
		}
		if got := list(c.f); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

// TestWhoWasFaster: the rival gets the machine after the loser has seen it, or has arrived but not
// seen it. Either way the loser's record tells whose hold it was and by how much it was earlier.
func TestWhoWasFaster(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before string // the statement before which the rival acts
		walk   int
	}{{"after the look", "select max_holds", 1}, {"before the look", findCandidates, 0}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			owner := pgtest.DB(t)
			app := fixture.App(t, owner, 4)
			loser, rival := fixture.Org(t, owner, "loser", 5, 5), fixture.Org(t, owner, "rival", 5, 5)
			fixture.Add(t, owner, fixture.Machine{Tag: "A1"}, fixture.Machine{Tag: "B1", RAM: 32})
			other := New(app, Options{})
			t.Cleanup(func() { other.Close(context.Background()) })
			var won Result
			act := func() {
				if won.Hold == nil {
					won = order(t, other, rival, "k", Request{MinRAMGB: 64})
					order(t, other, rival, "k2", Request{Machine: "B1"}) // of no interest to the loser
				}
			}
			db := tracedPool(t, owner, func(sql string) {
				if strings.HasPrefix(sql, c.before) {
					act()
				}
			})
			a := New(db, Options{})
			t.Cleanup(func() { a.Close(context.Background()) })
			res, err := a.Order(pg.Unbatched(t.Context()), Order{OrgID: loser, By: pg.By{Actor: "test"}, Key: "k", Request: Request{MinRAMGB: 64}})
			if err != nil {
				t.Fatal(err)
			}
			if res.Outcome != SomeoneFaster || len(res.Walk) != c.walk {
				t.Fatalf("%+v", res)
			}
			time.Sleep(2 * logEvery)
			got, err := a.Attempt(t.Context(), res.AttemptID)
			if err != nil || len(got.Faster) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			f := got.Faster[0]
			by := got.At.Sub(won.Hold.CreatedAt).Milliseconds()
			if f.AssetTag != "A1" || f.HoldID != won.Hold.ID || f.OrgSlug != "rival" || !f.At.Equal(won.Hold.CreatedAt) || f.ByMS != by || by < 0 {
				t.Errorf("%+v, want hold %s by %d ms", f, won.Hold.ID, by)
			}
			// The winner's own record tells nothing of the kind.
			if got, err = a.Attempt(t.Context(), won.AttemptID); err != nil || len(got.Faster) != 0 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestWhoWasFasterUncommitted: while the rival's transaction is open nothing is known of it; the
// record tells once it has committed.
func TestWhoWasFasterUncommitted(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	a := New(fixture.App(t, owner, 4), Options{Budget: 150 * time.Millisecond})
	t.Cleanup(func() { a.Close(context.Background()) })
	loser, rival := fixture.Org(t, owner, "loser", 5, 5), fixture.Org(t, owner, "rival", 5, 5)
	m := fixture.Add(t, owner, fixture.Machine{Tag: "A1"})[0]
	tx, err := owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	var hold uuid.UUID
	err = tx.QueryRow(t.Context(), `
insert into holds (org_id, machine_id, idempotency_key, expires_at) values ($1, $2, 'k', clock_timestamp() + interval '15 min') returning id`,
		rival, m).Scan(&hold)
	if err != nil {
		t.Fatal(err)
	}
	res := order(t, a, loser, "k", Request{})
	if res.Outcome != TryAgain || len(res.Walk) == 0 || res.Walk[0].Result != "skipped" {
		t.Fatalf("%+v", res)
	}
	time.Sleep(2 * logEvery)
	if got, err := a.Attempt(t.Context(), res.AttemptID); err != nil || len(got.Faster) != 0 || got.Skipped == 0 {
		t.Errorf("before the commit: %+v, %v", got, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := a.Attempt(t.Context(), res.AttemptID)
	if err != nil || len(got.Faster) != 1 || got.Faster[0].HoldID != hold || got.Faster[0].ByMS < 100 || got.Faster[0].ByMS > 5000 {
		t.Errorf("after the commit: %+v, %v", got.Faster, err)
	}
}
