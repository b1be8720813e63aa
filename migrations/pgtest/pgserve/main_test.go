//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"ironhold/migrations/pgtest"
)

func TestExitCodeAndAddress(t *testing.T) {
	t.Setenv(pgtest.EnvURL, "")
	t.Setenv("OUT", filepath.Join(t.TempDir(), "out"))
	code, err := run([]string{"sh", "-c", `printf %s "$` + pgtest.EnvURL + `" > "$OUT"; exit 7`}, true)
	if code != 7 || err != nil {
		t.Fatalf("code %d, %v", code, err)
	}
	if b, err := os.ReadFile(os.Getenv("OUT")); err != nil || len(b) == 0 {
		t.Fatalf("address %q, %v", b, err)
	}
}

func TestServerOfSomebodyElseIsUsed(t *testing.T) {
	t.Setenv(pgtest.EnvURL, "postgres://elsewhere/x")
	code, err := run([]string{"sh", "-c", `test "$` + pgtest.EnvURL + `" = postgres://elsewhere/x`}, true)
	if code != 0 || err != nil {
		t.Fatalf("code %d, %v", code, err)
	}
}

func TestOnlyUnmeantDeadlocksAreFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	log := `2026-01-01 00:00:00.000 UTC [1] o@d/app ERROR:  deadlock detected
2026-01-01 00:00:00.000 UTC [1] o@d/app DETAIL:  Process 1 waits
	Process 2 waits
2026-01-01 00:00:00.000 UTC [1] o@d/app HINT:  See server log.
2026-01-01 00:00:00.000 UTC [2] o@d/deadlock_meant ERROR:  deadlock detected
2026-01-01 00:00:00.000 UTC [2] o@d/deadlock_meant DETAIL:  Process 3 waits
2026-01-01 00:00:00.000 UTC [3] o@d/app ERROR:  duplicate key
`
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := unmeantDeadlocks(path); len(got) != 3 {
		t.Fatalf("%q", got)
	}
}
