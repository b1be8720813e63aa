package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ironhold/migrations/pgtest"
)

// running is a serve process.
type running struct {
	*prog

	cmd            *exec.Cmd
	addr, metrics  string
	stdout, stderr *lockedBuffer
	exited         chan struct{}
}

// serve starts the program with free addresses. It is killed at the end of the test.
func (p *prog) serve(args ...string) *running {
	p.t.Helper()
	r := &running{prog: p, addr: freeAddr(p.t), metrics: freeAddr(p.t), stdout: &lockedBuffer{}, stderr: &lockedBuffer{}, exited: make(chan struct{})}
	r.cmd = p.command(context.Background(), append([]string{"serve"}, args...)...)
	r.cmd.Env = append(r.cmd.Env, "LISTEN_ADDR="+r.addr, "METRICS_ADDR="+r.metrics)
	r.cmd.Stdout, r.cmd.Stderr = r.stdout, r.stderr
	if err := r.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.exited) }()
	p.t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.exited
		if p.t.Failed() {
			p.t.Logf("stderr of serve:\n%s", r.stderr)
		}
	})
	return r
}

// get answers 0 when there is no answer.
func (r *running) get(path string) (int, string) {
	r.t.Helper()
	return r.ask(http.MethodGet, "http://"+r.addr+path, "", nil)
}

func (r *running) ask(method, url, token string, body any) (int, string) {
	r.t.Helper()
	return r.askWith(method, url, token, body, "key")
}

func (r *running) askWith(method, url, token string, body any, key string) (int, string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	data, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(text)
}

func (r *running) ready() {
	r.t.Helper()
	waitFor(r.t, "ready", 30*time.Second, func() bool {
		select {
		case <-r.exited:
			r.t.Fatal("serve ended by itself")
		default:
		}
		code, _ := r.get("/readyz")
		return code == http.StatusOK
	})
}

// terminate sends SIGTERM and wants exit 0 within 10 s.
func (r *running) terminate() {
	r.t.Helper()
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.exited:
	case <-time.After(10 * time.Second):
		r.t.Fatal("still running 10 s after SIGTERM")
	}
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		r.t.Fatalf("exit %d after SIGTERM", code)
	}
}

func TestServeSellsAndStops(t *testing.T) {
	t.Parallel()
	p := newProg(t)
	p.ok("demo")
	p.fails(1, []string{"demo"}, "not empty")
	token := strings.TrimSpace(p.ok("token", "add", "--name", "t", "--role", "customer", "--org", "meridian"))
	r := p.serve()
	r.ready()
	if code, _ := r.get("/healthz"); code != http.StatusOK {
		t.Errorf("healthz answers %d", code)
	}
	code, body := r.ask(http.MethodPost, "http://"+r.addr+"/api/v1/holds", token, map[string]any{})
	if code != http.StatusCreated {
		t.Errorf("an order answers %d %s", code, body)
	}
	code, body = r.ask(http.MethodGet, "http://"+r.metrics+"/metrics", "", nil)
	for _, name := range []string{"ironhold_overdue_hold_age_seconds 0", "ironhold_database_up 1", "ironhold_relay_lag_seconds ", "go_goroutines", "process_open_fds"} {
		if code != http.StatusOK || !strings.Contains(body, "\n"+name) {
			t.Errorf("metrics answer %d without %s", code, name)
		}
	}
	if code, _ := r.get("/metrics"); code == http.StatusOK {
		t.Error("metrics are on the public listener")
	}
	second := &prog{t: t, url: p.url, dir: p.dir, extra: []string{"LISTEN_ADDR=" + r.addr, "METRICS_ADDR="}}
	second.fails(1, []string{"serve"}, "LISTEN_ADDR", r.addr, "in use")
	second.extra = []string{"LISTEN_ADDR=" + freeAddr(t), "METRICS_ADDR=" + r.metrics}
	second.fails(1, []string{"serve"}, "METRICS_ADDR", "in use")
	r.terminate()
	for line := range strings.Lines(r.stderr.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not a JSON line: %s", line)
		}
	}
	p.ok("doctor")
}

// The sweep has no flag: it runs in a worker alone, and a web process does without.
func TestWorkerSweeps(t *testing.T) {
	t.Parallel()
	owner := pgtest.URL(t)
	db := pgtest.Pool(t, owner)
	p := newProg(t)
	p.url = pgtest.LoginURL(t, owner)
	p.ok("demo")
	p.ok("rollout", "set", "--global", "off")
	held := func(state string) (n int) {
		if err := db.QueryRow(t.Context(), "select count(*) from holds where state = $1", state).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := db.Exec(t.Context(), "set session_replication_role = replica; update holds set expires_at = clock_timestamp() - interval '1 minute' where state = 'held'; set session_replication_role = origin"); err != nil {
		t.Fatal(err)
	}
	overdue, expired := held("held"), held("expired")
	if overdue == 0 {
		t.Fatal("the sample has no live hold")
	}
	p.extra = []string{"SWEEP_INTERVAL=1s"}
	w := p.serve("--role", "worker")
	waitFor(t, "the worker is ready", 30*time.Second, func() bool {
		code, _ := w.ask(http.MethodGet, "http://"+w.metrics+"/readyz", "", nil)
		return code == http.StatusOK
	})
	waitFor(t, "swept", 30*time.Second, func() bool { return held("held") == 0 })
	if got := held("expired"); got != expired+overdue {
		t.Errorf("%d expired, want %d", got, expired+overdue)
	}
	if code, _ := w.get("/healthz"); code != 0 {
		t.Errorf("a worker listens for pages: %d", code)
	}
	w.terminate()
}

func TestWebAloneStopsToo(t *testing.T) {
	t.Parallel()
	r := newProg(t).serve("--role", "web")
	r.ready()
	r.terminate()
}

// With the database away the server stays up, says so and keeps trying.
func TestServeWaitsForItsDatabase(t *testing.T) {
	t.Parallel()
	p := &prog{t: t, url: "postgres://x:verysecret@" + freeAddr(t) + "/x", dir: t.TempDir()}
	r := p.serve()
	waitFor(t, "alive", 10*time.Second, func() bool { code, _ := r.get("/healthz"); return code == http.StatusOK })
	for _, path := range []string{"/readyz", "/", "/api/v1/holds"} {
		if code, body := r.get(path); code != http.StatusServiceUnavailable {
			t.Errorf("%s answers %d %s", path, code, body)
		}
	}
	waitFor(t, "it says so", 10*time.Second, func() bool { return strings.Contains(r.stderr.String(), "database unreachable") })
	if strings.Contains(r.stderr.String(), "verysecret") {
		t.Error("the password is in the log")
	}
	r.terminate()
}

// Without migrating, it waits until somebody else has.
func TestServeWithoutMigrating(t *testing.T) {
	t.Parallel()
	p := &prog{t: t, url: pgtest.EmptyURL(t), dir: t.TempDir()}
	r := p.serve("--no-migrate")
	waitFor(t, "it says what it waits for", 20*time.Second, func() bool { return strings.Contains(r.stderr.String(), "ironhold migrate") })
	if code, _ := r.get("/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("readyz answers %d", code)
	}
	p.ok("migrate")
	r.ready()
	r.terminate()
}

// Without an address: the embedded server of the data folder, from the first start to the second.
func TestServeEmbedded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The account that runs PostgreSQL for root must get through.
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	p := &prog{t: t, dir: dir}
	p.ok("org", "add", "--slug", "early", "--name", "Before any serve") // starts it and stops it
	if err := os.RemoveAll(filepath.Join(dir, ".ironhold")); err != nil {
		t.Fatal(err)
	}
	r := p.serve("--demo")
	r.ready()
	waitFor(t, "the sign-ins", 20*time.Second, func() bool { return strings.Contains(r.stdout.String(), "Ctrl-C") })
	first := r.stdout.String()
	for _, want := range []string{strings.Replace("http://"+r.addr, "127.0.0.1", "localhost", 1), "ada@nordlys.example", "nordlys customer demo", "operator", filepath.Join(dir, ".ironhold")} {
		if !strings.Contains(first, want) {
			t.Errorf("the banner lacks %q:\n%s", want, first)
		}
	}
	p.ok("org", "add", "--slug", "beside", "--name", "Beside a running serve")
	p.fails(1, []string{"demo"}, "not empty")
	second := &prog{t: t, dir: dir, extra: []string{"LISTEN_ADDR=" + freeAddr(t), "METRICS_ADDR="}}
	if o := second.run("serve"); o.code != 1 || !strings.Contains(o.stderr, "already running") || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("a second server on the folder: %+v", o)
	}
	r.terminate()

	p.fails(1, []string{"org", "add", "--slug", "beside", "--name", "Kept"}, "taken")
	r = p.serve("--demo")
	r.ready()
	waitFor(t, "the sign-ins again", 20*time.Second, func() bool { return strings.Contains(r.stdout.String(), "Ctrl-C") })
	if !strings.Contains(r.stdout.String(), "ada@nordlys.example") {
		t.Errorf("the second banner lacks the sign-ins:\n%s", r.stdout)
	}
	_ = r.cmd.Process.Kill()
	<-r.exited
	r = p.serve()
	r.ready()
	r.terminate()
	p.ok("doctor")

	p.extra = []string{"IRONHOLD_DATA=/proc/no/where"}
	p.fails(1, []string{"sweep"}, "/proc/no")
}
