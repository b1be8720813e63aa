//go:build linux

package prove

import (
	"path/filepath"
	"slices"
	"testing"
)

// The short form of the proof: two real processes, people, and each of its faults.
func TestThePromiseHolds(t *testing.T) {
	t.Parallel()
	o := Short()
	o.Seed, o.LogFile = 20, filepath.Join(t.TempDir(), "requests.jsonl")
	o.Progress = func(text string) { t.Log(text) }
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range report.Violations {
		if i < 20 {
			t.Error(v)
		}
	}
	if report.Verdict.Counts["acknowledged orders"] == 0 || report.Verdict.Counts["machines with a history"] == 0 {
		t.Errorf("nothing was judged: %v", report.Verdict.Counts)
	}
	for _, name := range []string{
		"PostgreSQL killed with its children", "process killed", "process asked to end", "PostgreSQL stopped for a while", "connections cut",
		"connections cut at the answer of COMMIT", "answers of COMMIT lost", "pool exhausted", "outside session with rows locked and a transaction left open",
	} {
		if report.Faults[name] == 0 {
			t.Errorf("this did not happen: %s", name)
		}
	}
	if !slices.ContainsFunc(report.Hygiene, func(h HoldTime) bool { return h.Caller == "POST /api/v1/holds" }) {
		t.Errorf("nobody told how long an order keeps a connection: %v", report.Hygiene)
	}
	for _, lock := range []string{"organisation", "machine"} {
		if !slices.ContainsFunc(report.Locks, func(h HoldTime) bool {
			return h.What == lock && h.Caller == "POST /api/v1/holds" && h.When == "rush, last machine" && h.Mean > 0
		}) {
			t.Errorf("nobody told how long an order keeps the lock of the %s: %v", lock, report.Locks)
		}
	}
}
