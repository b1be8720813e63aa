package holds_test

import (
	"slices"
	"testing"
	"time"

	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// TestOneEnd lets the customer's cancel, the staff's cancel, a conversion and the sweep meet at the
// deadline: the hold ends once, and the others are told how.
func TestOneEnd(t *testing.T) { // case 26
	t.Parallel()
	b := setup(t, 8)
	winners := map[string]int{}
	for range 60 {
		hold := b.hold(b.org, b.machine(), 15*time.Millisecond)
		var answers [4]holds.RefusedKind
		var swept int
		together(4, func(i int) {
			for b.now().Before(fixture.Get[time.Time](t, b.owner, "select expires_at - interval '2 ms' from holds where id = $1", hold)) {
				continue
			}
			switch i {
			case 0:
				_, err := b.book.Cancel(t.Context(), pg.By{Actor: "customer"}, holds.Scope{OrgID: b.org}, hold, "not needed")
				answers[i] = kind(t, err)
			case 1:
				_, err := b.book.Cancel(t.Context(), pg.By{Actor: "staff"}, holds.Scope{}, hold, "gave back")
				answers[i] = kind(t, err)
			case 2:
				_, _, err := b.book.Convert(t.Context(), pg.By{Actor: "convert"}, holds.Scope{OrgID: b.org}, hold)
				answers[i] = kind(t, err)
			case 3:
				for swept == 0 && b.state(hold) == holds.Held {
					n, err := b.book.Sweep(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					swept = n
				}
			}
		})
		end := b.state(hold)
		want := map[holds.State][]holds.RefusedKind{
			// Whoever asked late is told the end; cancelling what is cancelled changes nothing.
			holds.Cancelled: {"", "", holds.HoldCancelled},
			holds.Converted: {holds.HoldConverted, holds.HoldConverted, ""},
			holds.Expired:   {holds.HoldExpired, holds.HoldExpired, holds.HoldExpired},
		}[end]
		if !slices.Equal(answers[:3], want) || (swept == 1) != (end == holds.Expired) {
			// The deadline may have passed for one of them before another ended the hold.
			t.Errorf("%s, but the answers are %q and the sweep did %d", end, answers[:3], swept)
		}
		ends := fixture.Get[int](t, b.owner, "select count(*) from hold_events where hold_id = $1 and event <> 'held'", hold)
		if ends != 1 {
			t.Errorf("the history has %d ends", ends)
		}
		winners[fixture.Get[string](t, b.owner, "select closed_by from holds where id = $1", hold)]++
	}
	t.Logf("winners: %v", winners)
}

// TestEndedHoldsStay: what expired and what was cancelled remains visible, apart, with who did it.
func TestEndedHoldsStay(t *testing.T) { // case 25
	t.Parallel()
	b := setup(t, 4)
	scope := holds.Scope{OrgID: b.org}
	late, back := b.hold(b.org, b.machine(), 10*time.Minute), b.hold(b.org, b.machine(), 10*time.Minute)
	b.pass(late)
	if _, err := b.book.Cancel(t.Context(), pg.By{Actor: "user:1", RequestID: "r-1"}, scope, back, "not needed"); err != nil {
		t.Fatal(err)
	}
	h, err := b.book.Get(t.Context(), scope, late)
	if err != nil || !h.Overdue || h.Shown() != holds.Expired || h.State != holds.Held {
		t.Errorf("before the sweep: %+v, %v", h, err)
	}
	for _, swept := range []bool{false, true} {
		if swept {
			if n, err := b.book.Sweep(t.Context()); n != 1 || err != nil {
				t.Fatalf("swept %d, %v", n, err)
			}
		}
		for state, id := range map[holds.State]any{holds.Expired: late, holds.Cancelled: back} {
			list, err := b.book.List(t.Context(), holds.Filter{Scope: scope, State: state, Limit: 10})
			if err != nil || len(list) != 1 || any(list[0].ID) != id {
				t.Errorf("list of %s, swept %v: %+v, %v", state, swept, list, err)
			}
		}
	}
	events, err := b.book.Events(t.Context(), scope, late)
	if err != nil || len(events) != 2 || events[1].Event != "expired" || events[1].Actor != "sweep" {
		t.Errorf("history of the expired: %+v, %v", events, err)
	}
	events, err = b.book.Events(t.Context(), scope, back)
	if err != nil || len(events) != 2 || events[1].Event != "cancelled" || events[1].Actor != "user:1" {
		t.Errorf("history of the cancelled: %+v, %v", events, err)
	}
}

// TestForeignHolds: another organisation's hold is missing, for every step, and unchanged after.
func TestForeignHolds(t *testing.T) { // case 36
	t.Parallel()
	b := setup(t, 4)
	other := holds.Scope{OrgID: fixture.Org(t, b.owner, "other", 5, 50)}
	hold := b.hold(b.org, b.machine(), 10*time.Minute)
	ctx := t.Context()
	for name, err := range map[string]error{
		"get":        second(b.book.Get(ctx, other, hold)),
		"extend":     second(b.book.Extend(ctx, actor, other, hold, "k")),
		"cancel":     second(b.book.Cancel(ctx, actor, other, hold, "r")),
		"convert":    third(b.book.Convert(ctx, actor, other, hold)),
		"substitute": second(b.book.Substitute(ctx, actor, other, hold)),
	} {
		if got := kind(t, err); got != holds.NotFound {
			t.Errorf("%s: %q", name, got)
		}
	}
	if events, err := b.book.Events(ctx, other, hold); err != nil || len(events) != 0 {
		t.Errorf("history: %v, %v", events, err)
	}
	if list, err := b.book.List(ctx, holds.Filter{Scope: other, Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("list: %v, %v", list, err)
	}
	v, _, err := b.book.Convert(ctx, actor, holds.Scope{OrgID: b.org}, hold)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"service": second(b.book.GetService(ctx, other, v.ID)),
		"end":     second(b.book.EndService(ctx, actor, other, v.ID, "r")),
	} {
		if got := kind(t, err); got != holds.NotFound {
			t.Errorf("%s: %q", name, got)
		}
	}
}
