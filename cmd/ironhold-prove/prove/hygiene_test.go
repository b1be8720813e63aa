//go:build linux

package prove

import (
	"strings"
	"testing"
)

// What processes tell is added up as they write it.
func TestHoldTimesAreRead(t *testing.T) {
	t.Parallel()
	var h hygiene
	for line := range strings.Lines(`# HELP ironhold_lock_hold_seconds How long.
ironhold_lock_hold_seconds_bucket{caller="POST /order",lock="machine",le="0.001"} 10
ironhold_lock_hold_seconds_bucket{caller="POST /order",lock="machine",le="0.01"} 199
ironhold_lock_hold_seconds_bucket{caller="POST /order",lock="machine",le="0.05"} 200
ironhold_lock_hold_seconds_bucket{caller="POST /order",lock="machine",le="+Inf"} 200
ironhold_lock_hold_seconds_sum{caller="POST /order",lock="machine"} 0.5
ironhold_lock_hold_seconds_count{caller="POST /order",lock="machine"} 200
ironhold_connection_hold_seconds_count{caller="POST /order",pool="interactive"} 3
`) {
		h.read(lockLine, "rush", strings.TrimSpace(line))
	}
	want := HoldTime{When: "rush", What: "machine", Caller: "POST /order", Count: 200, Mean: 0.0025, Most: 0.01}
	if got := h.table(); len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	var c hygiene
	c.read(connectionLine, "rush", `ironhold_connection_hold_seconds_bucket{caller="POST /order",pool="interactive",le="0.02"} 5`)
	c.read(connectionLine, "rush", `ironhold_connection_hold_seconds_count{caller="POST /order",pool="interactive"} 5`)
	if got := c.table(); len(got) != 1 || got[0].Most != 0.02 {
		t.Errorf("%+v", got)
	}
}
