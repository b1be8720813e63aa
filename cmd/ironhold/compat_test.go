package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ironhold/migrations/pgtest"
)

// previous is the newest commit that has fewer migrations than what is being tested: the program that
// runs while this one is rolled out.
func previous(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("this test builds the version before: git is needed")
	}
	if git(t, "rev-parse", "--is-shallow-repository") != "false" {
		t.Fatal("this test builds the version before: the clone has no history, run git fetch --unshallow")
	}
	names := func(list string) map[string]bool {
		out := map[string]bool{}
		for name := range strings.FieldsSeq(list) {
			if strings.HasSuffix(name, ".sql") {
				out[filepath.Base(name)] = true
			}
		}
		return out
	}
	here, err := filepath.Glob("../../migrations/sql/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	now := names(strings.Join(here, "\n"))
	for commit := range strings.FieldsSeq(git(t, "log", "--format=%H %P", "--diff-filter=A", "--", "migrations/sql")) {
		before := names(git(t, "ls-tree", "-r", "--name-only", commit, "--", "migrations/sql"))
		fewer := len(before) > 0 && len(before) < len(now)
		for name := range before {
			fewer = fewer && now[name]
		}
		if fewer {
			return commit
		}
	}
	t.Fatal("no commit has fewer migrations than this one")
	return ""
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "safe.directory=*"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v (a clone with its history is needed)", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// buildAt gives the program as it was at a commit. It is built once for a commit and kept among the tools
// of the working tree, which no commit contains.
func buildAt(t *testing.T, commit string) string {
	t.Helper()
	kept, err := filepath.Abs(filepath.Join("../../.tools/compat", commit))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(kept, "ironhold")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	_ = os.RemoveAll(filepath.Dir(kept)) // of other commits
	source := filepath.Join(t.TempDir(), "source")
	if err := errors.Join(os.MkdirAll(kept, 0o755), os.Mkdir(source, 0o755)); err != nil {
		t.Fatal(err)
	}
	git(t, "archive", "-o", source+".tar", commit)
	for _, args := range [][]string{{"tar", "-xf", source + ".tar"}, {"go", "build", "-o", program + ".new", "./cmd/ironhold"}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = source
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", args[0], err, out)
		}
	}
	if err := os.Rename(program+".new", program); err != nil {
		t.Fatal(err)
	}
	return program
}

// Migrations are compatible one version back: the version before runs on beside this one, on the database
// that this one has migrated, and each goes on with what the other began.
func TestOneVersionBack(t *testing.T) {
	t.Parallel()
	commit := previous(t)
	t.Logf("beside %s", git(t, "log", "-1", "--format=%h %cI %s", commit))
	owner := pgtest.EmptyURL(t)
	old := &prog{t: t, url: owner, dir: t.TempDir(), binary: buildAt(t, commit)}
	old.ok("migrate")
	login := pgtest.LoginURL(t, owner)
	old.url = login
	old.ok("demo")
	old.ok("org", "add", "--slug", "large", "--name", "Large", "--max-holds", "1000", "--max-machines", "1000")
	token := strings.TrimSpace(old.ok("token", "add", "--name", "t", "--role", "customer", "--org", "large"))
	staff := strings.TrimSpace(old.ok("token", "add", "--name", "t", "--role", "operator"))
	old.extra = []string{"HOLD_CEILING=336h"} // they hold the same machines again and again
	before := old.serve()
	before.ready()

	fresh := &prog{t: t, url: owner, dir: t.TempDir()}
	fresh.ok("migrate") // under the feet of the one that runs
	fresh.url, fresh.extra = login, old.extra
	both := []*running{before, fresh.serve("--no-migrate")}
	both[1].ready()
	both[0].ready()

	var keys atomic.Int64
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for n := range 6 {
				step := 0
				// Each step is for the process that did not do the one before.
				ask := func(token, method, path string, body any, want int) map[string]any {
					r := both[(worker+n+step)%2]
					step++
					code, text := r.askWith(method, "http://"+r.addr+"/api/v1"+path, token, body, fmt.Sprint("compat-", keys.Add(1)))
					var doc map[string]any
					if err := json.Unmarshal([]byte(text), &doc); code != want || err != nil {
						t.Errorf("%s %s at %d: %d %s", method, path, (worker+n+step-1)%2, code, text)
						return map[string]any{}
					}
					return doc
				}
				id := func(doc map[string]any) string { s, _ := doc["id"].(string); return s }
				ask(token, http.MethodGet, "/offers", nil, http.StatusOK)
				hold := ask(token, http.MethodPost, "/holds", map[string]any{}, http.StatusCreated)
				if id(hold) == "" {
					return
				}
				ask(token, http.MethodPost, "/holds/"+id(hold)+"/extend", map[string]any{}, http.StatusOK)
				if n%2 == 0 {
					ask(token, http.MethodPost, "/holds/"+id(hold)+"/cancel", map[string]any{}, http.StatusOK)
					continue
				}
				service := ask(token, http.MethodPost, "/holds/"+id(hold)+"/convert", map[string]any{}, http.StatusCreated)
				ask(token, http.MethodGet, "/services/"+id(service), nil, http.StatusOK)
				ask(token, http.MethodPost, "/services/"+id(service)+"/end", map[string]any{}, http.StatusOK)
				machine, _ := hold["machine"].(map[string]any)
				tag, _ := machine["asset_tag"].(string)
				ask(staff, http.MethodPost, "/machines/"+tag+"/wiped", map[string]any{"reason": "it came back"}, http.StatusOK)
			}
		})
	}
	wg.Wait()
	old.ok("doctor")
	fresh.ok("doctor")
	both[0].terminate()
	again := old.serve() // it can still be started, to go back
	again.ready()
	again.terminate()
	both[1].terminate()
	for _, r := range append(both, again) {
		for line := range strings.Lines(r.stderr.String()) {
			if strings.Contains(line, `"problem":"internal"`) || strings.HasPrefix(line, "panic:") {
				t.Errorf("a fault: %s", line)
			}
		}
	}
}
