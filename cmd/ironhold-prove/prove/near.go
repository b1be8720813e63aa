//go:build linux

package prove

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"ironhold/cmd/ironhold-prove/prove/record"
	"ironhold/cmd/ironhold-prove/prove/world"
)

// deadlineWindow is how near to its deadline a confirmation is sent.
const deadlineWindow = 20 * time.Millisecond

// aim learns how long a confirmation is on its way to where it is decided, so that about half of them
// come in time: each answer says on which side of the deadline that was. What the seed decides is how far
// from there each is sent.
type aim struct {
	mu   sync.Mutex
	lead time.Duration
}

const (
	aimStep   = 500 * time.Microsecond
	aimSpread = 8 * time.Millisecond // around the point where it is even
)

// at is when to send, relative to the deadline. spread is from -1 to 1.
func (a *aim) at(spread float64) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := time.Duration(spread*float64(aimSpread)) - a.lead
	return min(max(at, time.Millisecond-deadlineWindow), deadlineWindow-time.Millisecond)
}

// came tells how one was answered.
func (a *aim) came(inTime bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if inTime {
		a.lead -= aimStep
	} else {
		a.lead += aimStep
	}
	a.lead = min(max(a.lead, -deadlineWindow), deadlineWindow)
}

// near confirms holds as near to their deadlines as it gets.
func (r *run) near(ctx context.Context) (string, error) {
	var within, confirmed, late, begun atomic.Int64
	offset := (r.low + r.high) / 2
	a := aim{lead: 5 * time.Millisecond}
	err := r.parallel(r.Deadlines, r.Parallel, func(i int) {
		// Holds that were made together end together, and their confirmations would wait for each other.
		if n := begun.Add(1); n <= int64(r.Parallel) && world.Sleep(ctx, time.Duration(n)*nearHold/time.Duration(r.Parallel)) != nil {
			return
		}
		org := i % len(r.world.Orgs)
		spread := 2*rand.New(rand.NewPCG(r.Seed, uint64(2)<<40+uint64(i))).Float64() - 1 //nolint:gosec // replayed
		actor := r.town.NewActor("deadline", i)
		for attempt := 0; ctx.Err() == nil && attempt < r.Attempts; attempt++ {
			e := actor.Order(ctx, r.simple(fmt.Sprintf("near-%d", attempt), i, org, record.Ask{CPU: nearCPU}))
			if !e.OK() {
				continue
			}
			due := e.Expires.Add(-offset)
			if world.Sleep(ctx, time.Until(due)-deadlineWindow) != nil || world.Sleep(ctx, time.Until(due.Add(a.at(spread)))) != nil {
				return
			}
			c := actor.Confirm(ctx, org, i%2, e.Hold, 20*time.Second)
			if c.OK() || c.Problem == "hold-expired" {
				a.came(c.OK())
			}
			if d := c.Sent.Sub(due); d < -deadlineWindow || d > deadlineWindow {
				continue // a busy machine woke up late: another one
			}
			within.Add(1)
			switch {
			case c.OK():
				confirmed.Add(1)
			case c.Problem == "hold-expired":
				late.Add(1)
			}
			break
		}
		r.tell("near the deadline", int(within.Load()), r.Deadlines)
	})
	return fmt.Sprintf("%d confirmations sent within %s of their deadline: %d in time, %d too late", within.Load(), deadlineWindow, confirmed.Load(), late.Load()), err
}
