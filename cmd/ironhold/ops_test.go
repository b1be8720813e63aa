package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"ironhold/migrations/pg/vitals"
)

var metricName = regexp.MustCompile(`\bironhold_[a-z_]+`)

// TestOperatorsFilesNameRealMetrics reads every metric that alarms and dashboard name and finds it in
// the program's text, and every alarm's line of the runbook in the manual.
func TestOperatorsFilesNameRealMetrics(t *testing.T) {
	t.Parallel()
	// The manual names roles and logins too.
	source := map[string]bool{"ironhold_owner": true, "ironhold_app": true, "ironhold_web": true, "ironhold_engine": true}
	for _, file := range glob(t, "*.go") {
		for _, m := range metricName.FindAllString(read(t, file), -1) {
			source[m] = true
		}
	}
	for _, file := range []string{"../../ops/prometheus/alerts.yml", "../../ops/grafana/ironhold.json", "../../docs/service-levels.md", "../../docs/operations.md"} {
		for _, m := range metricName.FindAllString(read(t, file), -1) {
			if name := strings.TrimSuffix(m, "_bucket"); !source[name] {
				t.Errorf("%s names %s, which the program does not tell", file, name)
			}
		}
	}
	manual := strings.ToLower(read(t, "../../docs/operations.md"))
	for _, m := range regexp.MustCompile(`runbook: docs/operations\.md#([a-z-]+)`).FindAllStringSubmatch(read(t, "../../ops/prometheus/alerts.yml"), -1) {
		if !strings.Contains(manual, "\n### "+strings.ReplaceAll(m[1], "-", " ")+"\n") {
			t.Errorf("the manual has no line for %s", m[1])
		}
	}
	var dashboard struct {
		Panels []struct{ Title string }
	}
	if err := json.Unmarshal([]byte(read(t, "../../ops/grafana/ironhold.json")), &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Errorf("dashboard: %v, %d panels", err, len(dashboard.Panels))
	}
}

// TestAlarmsAreWellFormed asks Prometheus's own tool, where there is one.
func TestAlarmsAreWellFormed(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed, so the alarms' syntax is not checked here")
		return
	}
	if out, err := exec.CommandContext(t.Context(), tool, "check", "rules", "../../ops/prometheus/alerts.yml").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestVitalsAreToldWithoutTwins registers the collector as a strict registry does, with sessions and
// standbys that share their names.
func TestVitalsAreToldWithoutTwins(t *testing.T) {
	t.Parallel()
	c := newVitalsCollector(&vitals.Keeper{})
	twins := vitals.Reading{
		Blockers: []vitals.Blocker{{PID: 1, Application: "a", State: "active", HoldsUp: 1}, {PID: 2, Application: "a", State: "active", HoldsUp: 2}},
		Replicas: []vitals.Replica{{Name: "walreceiver", Sync: "async"}, {Name: "walreceiver", Sync: "async"}},
		Tables:   []vitals.Table{{Name: "holds"}}, Slots: []vitals.Slot{{Name: "s", Status: "reserved"}}, Queues: []vitals.Queue{{Name: "default"}},
	}
	c.last = func() (vitals.Reading, bool) { return twins, true }
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) < 18 {
		t.Errorf("%d metrics", len(families))
	}
	c.last = func() (vitals.Reading, bool) { return vitals.Reading{}, false }
	if families, err := r.Gather(); err != nil || len(families) != 0 {
		t.Errorf("told although nothing was read: %v, %v", families, err)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
