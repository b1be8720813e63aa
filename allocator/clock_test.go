package allocator

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestServerClock: whatever the delays, the estimate is never before the true time, never further
// off than the best recent delay, and follows when a clock is set.
func TestServerClock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		local := time.Now()
		offset := time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(rt, "offset"))
		var c serverClock
		best := time.Hour
		for range rapid.IntRange(1, 30).Draw(rt, "readings") {
			delay := func(label string) time.Duration {
				return time.Duration(rapid.Int64Range(0, 50_000).Draw(rt, label)) * time.Microsecond
			}
			if rapid.IntRange(0, 20).Draw(rt, "set") == 0 {
				offset += time.Duration(rapid.Int64Range(-1e12, 1e12).Draw(rt, "by"))
				best = time.Hour
			}
			there, back := delay("there"), delay("back")
			sent, exec, read := local, local.Add(there), local.Add(there+back)
			c.read(exec.Add(offset), sent, read)
			best = min(best, there)
			if best == time.Hour || c.top.Before(c.low) {
				rt.Fatalf("between %s and %s", c.low, c.top)
			}
			// A clock that was set by less than the delays may go unnoticed for a reading; there is
			// no telling it from a delay.
			if off := c.when(read).Sub(read.Add(offset)); off > 100*time.Millisecond || off < -100*time.Millisecond {
				rt.Fatalf("off by %s", off)
			}
			local = read.Add(delay("pause"))
		}
	})
	// Without a clock that is set: exact bounds.
	rapid.Check(t, func(rt *rapid.T) {
		local := time.Now()
		var c serverClock
		best := time.Hour
		for range rapid.IntRange(1, 30).Draw(rt, "readings") {
			there := time.Duration(rapid.Int64Range(0, 50_000).Draw(rt, "there")) * time.Microsecond
			back := time.Duration(rapid.Int64Range(0, 50_000).Draw(rt, "back")) * time.Microsecond
			read := local.Add(there + back)
			c.read(local.Add(there), local, read)
			best = min(best, there)
			if off := c.when(read).Sub(read); off < 0 || off > best+time.Millisecond {
				rt.Fatalf("off by %s, the best delay was %s", off, best)
			}
			local = read
		}
	})
}
