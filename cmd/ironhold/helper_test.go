package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ironhold/migrations/pgtest"
)

// binary builds the program once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ironhold-cmd")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "ironhold")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// prog runs the built program in an environment of its own.
type prog struct {
	t     *testing.T
	url   string
	extra []string // further environment
	dir   string

	binary string // "" for the one that is tested
}

// newProg works on a fresh migrated database as the application's login, as in production.
func newProg(t *testing.T) *prog {
	t.Helper()
	return &prog{t: t, url: pgtest.LoginURL(t, pgtest.URL(t)), dir: t.TempDir()}
}

func (p *prog) command(ctx context.Context, args ...string) *exec.Cmd {
	p.t.Helper()
	path := p.binary
	if path == "" {
		var err error
		if path, err = binary(); err != nil {
			p.t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + os.TempDir(), "STOP_NOTICE=0s"}
	if p.url != "" {
		cmd.Env = append(cmd.Env, "DATABASE_URL="+p.url)
	}
	cmd.Env = append(cmd.Env, p.extra...)
	return cmd
}

type outcome struct {
	code           int
	stdout, stderr string
}

func (p *prog) runWith(stdin string, args ...string) outcome {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := p.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func (p *prog) run(args ...string) outcome { p.t.Helper(); return p.runWith("", args...) }

// ok runs a command that must succeed silently on stderr and gives what it printed.
func (p *prog) ok(args ...string) string { p.t.Helper(); return p.okWith("", args...) }

func (p *prog) okWith(stdin string, args ...string) string {
	p.t.Helper()
	o := p.runWith(stdin, args...)
	if o.code != 0 || o.stderr != "" {
		p.t.Fatalf("%v: exit %d, %s", args, o.code, o.stderr)
	}
	return o.stdout
}

// okJSON decodes what must be exactly one JSON object.
func (p *prog) okJSON(args ...string) map[string]any {
	p.t.Helper()
	out := p.ok(append(args, "--json")...)
	var v map[string]any
	dec := json.NewDecoder(strings.NewReader(out))
	if err := dec.Decode(&v); err != nil || dec.More() {
		p.t.Fatalf("%v: not one JSON object: %s", args, out)
	}
	return v
}

// fails runs a command that must end with the code and one line on stderr that has all the words.
func (p *prog) fails(code int, args []string, words ...string) {
	p.t.Helper()
	p.failsWith("", code, args, words...)
}

func (p *prog) failsWith(stdin string, code int, args []string, words ...string) {
	p.t.Helper()
	o := p.runWith(stdin, args...)
	if o.code != code || strings.Count(o.stderr, "\n") != 1 || !strings.HasPrefix(o.stderr, "ironhold") {
		p.t.Errorf("%v: exit %d, want %d and one line: %q", args, o.code, code, o.stderr)
	}
	for _, w := range words {
		if !strings.Contains(o.stderr, w) {
			p.t.Errorf("%v: %q does not say %q", args, o.stderr, w)
		}
	}
}

// freeAddr is an address that nobody listens on at the moment.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// lockedBuffer may be read while a process writes it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// waitFor polls until f is true.
func waitFor(t *testing.T, what string, within time.Duration, f func() bool) {
	t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("not within %s: %s", within, what)
}
