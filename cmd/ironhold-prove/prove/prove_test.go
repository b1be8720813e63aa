//go:build linux

package prove

import (
	"path/filepath"
	"testing"
)

// The short form of the proof: two real processes, people, and one of each fault.
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
	for _, name := range []string{"PostgreSQL killed with its children", "process killed", "connections cut at the answer of COMMIT"} {
		if report.Faults[name] == 0 {
			t.Errorf("this did not happen: %s", name)
		}
	}
}
