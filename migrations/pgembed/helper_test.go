//go:build unix

package pgembed

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The test binary is also the parent process that tests kill: it starts a server on
// the folder, says so, and waits for its end.
const envHelper, envHelperOrphan = "IRONHOLD_TEST_START", "IRONHOLD_TEST_ORPHAN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envHelper); dir != "" {
		opts := fast(dir)
		opts.noDeathSignal = os.Getenv(envHelperOrphan) != ""
		s, err := Start(context.Background(), opts)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready", s.proc.cmd.Process.Pid)
		time.Sleep(5 * time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fast is a volatile server that needs little memory.
func fast(dir string) Options {
	return Options{
		Dir: dir, Volatile: true, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Settings: map[string]string{"shared_buffers": "16MB", "max_connections": "20"},
	}
}

// openDir is a test's folder that other accounts can search, as root's servers need.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func start(t *testing.T, opts Options) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

// stop may be called twice.
func stop(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func exec1(t *testing.T, s *Server, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.OwnerURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatal(err)
	}
}

func query1[T any](t *testing.T, s *Server, sql string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.OwnerURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var v T
	if err := conn.QueryRow(ctx, sql).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// helper starts the other process; its first line of output tells how it went.
func helper(t *testing.T, dir string, orphan bool) (cmd *exec.Cmd, firstLine func() string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envHelper+"="+dir)
	if orphan {
		cmd.Env = append(cmd.Env, envHelperOrphan+"=1")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, func() string {
		line, _ := bufio.NewReader(out).ReadString('\n')
		return strings.TrimSpace(line)
	}
}

func kill9(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("%s did not happen in a minute", what)
}
