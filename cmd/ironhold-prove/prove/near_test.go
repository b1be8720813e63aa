//go:build linux

package prove

import (
	"testing"
	"time"
)

// Wherever a confirmation is decided, about half of them come in time.
func TestTheAimFindsTheDeadline(t *testing.T) {
	t.Parallel()
	for _, way := range []time.Duration{0, 3 * time.Millisecond, 9 * time.Millisecond, 14 * time.Millisecond} {
		a := aim{lead: 5 * time.Millisecond}
		inTime := 0
		for i := range 2000 {
			spread := float64(i%21-10) / 10
			at := a.at(spread)
			if at <= -deadlineWindow || at >= deadlineWindow {
				t.Fatalf("sent %s from the deadline", at)
			}
			ok := at+way < 0
			a.came(ok)
			if ok {
				inTime++
			}
		}
		if inTime < 800 || inTime > 1200 {
			t.Errorf("on its way for %s: %d of 2000 in time", way, inTime)
		}
	}
}
