package allocator_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// held plants a hold of org on the machine, with its deadline after left.
func (b *bench) held(org uuid.UUID, tag string, left time.Duration) uuid.UUID {
	b.t.Helper()
	return fixture.Get[uuid.UUID](b.t, b.owner, `
insert into holds (org_id, machine_id, idempotency_key, expires_at)
select $1, id, gen_random_uuid()::text, clock_timestamp() + $3::interval from machines where asset_tag = $2 returning id`, org, tag, left)
}

// TestClaimAroundTheDeadline orders a machine whose hold runs out, from one second before to one
// second after, with no sweep: before the deadline all are held, from it on the machine is had, and
// the hold that was in the way is expired with its event.
func TestClaimAroundTheDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, 12, allocator.Options{Concurrency: 12})
	var all sync.WaitGroup
	defer all.Wait()
	for n, o := range []time.Duration{-1000, -300, -100, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100, 300, 1000} {
		tag, offset := fmt.Sprint("M", n), o*time.Millisecond
		fixture.Add(t, b.owner, fixture.Machine{Tag: tag})
		first, second := fixture.Org(t, b.owner, fmt.Sprint("first-", n), 5, 50), fixture.Org(t, b.owner, fmt.Sprint("second-", n), 5, 50)
		hold := b.held(first, tag, time.Hour)
		all.Go(func() {
			t.Run(offset.String(), func(t *testing.T) {
				fixture.Exec(t, b.owner, "update holds set expires_at = clock_timestamp() + interval '1200 ms' where id = $1", hold)
				deadline := fixture.Get[time.Time](t, b.owner, "select expires_at from holds where id = $1", hold)
				now := func() time.Time { return fixture.Get[time.Time](t, b.owner, "select clock_timestamp()") }
				time.Sleep(deadline.Add(offset).Sub(now()))
				before := now()
				res := b.order(second, "k", allocator.Request{Machine: tag})
				after := now()
				switch {
				case after.Before(deadline) && res.Outcome != allocator.AllHeld:
					t.Errorf("before the deadline: %s", res.Outcome)
				case !before.Before(deadline) && res.Outcome != allocator.Held:
					t.Errorf("after the deadline: %s", res.Outcome)
				case res.Outcome != allocator.AllHeld && res.Outcome != allocator.Held:
					t.Errorf("around the deadline: %s", res.Outcome)
				}
				state := fixture.Get[string](t, b.owner, "select state from holds where id = $1", hold)
				events := fixture.Get[int](t, b.owner, "select count(*) from hold_events where hold_id = $1 and event = 'expired'", hold)
				if taken := res.Outcome == allocator.Held; taken != (state == "expired") || taken != (events == 1) {
					t.Errorf("%s, and the hold before is %s with %d events", res.Outcome, state, events)
				}
			})
		})
	}
}

// TestExtendOrOrder extends a hold at the very moment of its deadline while another organisation
// orders the machine: exactly one of them has it.
func TestExtendOrOrder(t *testing.T) { // case 17
	t.Parallel()
	b := setup(t, 12, allocator.Options{Concurrency: 12})
	book := holds.New(b.app, holds.DefaultPolicy())
	var mu sync.Mutex
	extended, ordered := 0, 0
	var lanes sync.WaitGroup
	for lane := range 4 {
		tag := fmt.Sprint("M", lane)
		fixture.Add(t, b.owner, fixture.Machine{Tag: tag})
		first, second := fixture.Org(t, b.owner, fmt.Sprint("first-", lane), 5, 50), fixture.Org(t, b.owner, fmt.Sprint("second-", lane), 5, 50)
		lanes.Go(func() {
			aim := -10 * time.Millisecond // of the extension, from the deadline: earlier when it lost, later when it won
			for round := range 40 {
				const left = 60 * time.Millisecond
				hold := b.held(first, tag, left)
				start := time.Now()
				var pair sync.WaitGroup
				var kept bool
				var answered atomic.Bool
				var got allocator.Outcome
				pair.Go(func() {
					time.Sleep(left + aim - time.Since(start))
					_, err := book.Extend(t.Context(), pg.By{Actor: "first"}, holds.Scope{OrgID: first}, hold, "k")
					r, no := errors.AsType[*holds.Refused](err)
					if err != nil && (!no || r.Kind != holds.HoldExpired) {
						t.Errorf("extend: %v", err)
					}
					kept = err == nil
					answered.Store(true)
				})
				pair.Go(func() {
					// The first tries come too early; one that begins after the answer to the
					// extension decides.
					for decided := false; got != allocator.Held && !decided; {
						decided = answered.Load()
						got = b.order(second, fmt.Sprint("k", round), allocator.Request{Machine: tag}).Outcome
					}
				})
				pair.Wait()
				if has := got == allocator.Held; has == kept {
					t.Errorf("extended: %v, ordered: %s", kept, got)
				}
				occupants := fixture.Get[int](t, b.owner, "select count(*) from holds h join machines m on m.id = h.machine_id where m.asset_tag = $1 and h.state = 'held'", tag)
				if occupants != 1 {
					t.Errorf("%d occupants", occupants)
				}
				mu.Lock()
				if kept {
					extended++
					aim += 2 * time.Millisecond
				} else {
					ordered++
					aim -= 2 * time.Millisecond
				}
				aim = max(aim, -left)
				mu.Unlock()
				fixture.Exec(t, b.owner, "update holds set state = 'cancelled' where state = 'held' and machine_id = (select id from machines where asset_tag = $1)", tag)
				fixture.Exec(t, b.owner, "update holds set created_at = created_at - interval '2 days' where machine_id = (select id from machines where asset_tag = $1)", tag)
			}
		})
	}
	lanes.Wait()
	if extended < 5 || ordered < 5 {
		t.Errorf("%d extended and %d ordered: the deadline was not met from both sides", extended, ordered)
	}
}

// TestOverdueHoldBehindALock: another connection has the overdue hold, or its machine, and rolls
// back. An order waits for it and then has the machine; it never hears that none is left.
func TestOverdueHoldBehindALock(t *testing.T) {
	t.Parallel()
	b := setup(t, 6, allocator.Options{Budget: patience})
	org, rival := fixture.Org(t, b.owner, "one", 5, 50), fixture.Org(t, b.owner, "two", 5, 50)
	for n, sql := range []string{
		"select from holds where id = $1 for no key update",
		"update holds set state = 'expired' where id = $1",
		"select from machines where id = (select machine_id from holds where id = $1) for no key update",
	} {
		tag := fmt.Sprint("M", n)
		fixture.Add(t, b.owner, fixture.Machine{Tag: tag})
		hold := b.held(org, tag, time.Millisecond)
		time.Sleep(2 * time.Millisecond)
		tx, err := b.owner.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), sql, hold); err != nil {
			t.Fatal(err)
		}
		done := make(chan allocator.Result, 1)
		go func() { done <- b.order(rival, "k"+tag, allocator.Request{Machine: tag}) }()
		select {
		case res := <-done:
			t.Errorf("%s: did not wait, but answered %s", sql, res.Outcome)
		case <-time.After(100 * time.Millisecond):
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if res := <-done; res.Outcome != allocator.Held {
			t.Errorf("%s: %s by %s", sql, res.Outcome, walked(res))
		}
	}
}
