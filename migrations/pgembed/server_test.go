//go:build unix

package pgembed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestRestartKeepsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data")
	opts := fast(dir)
	opts.Volatile = false
	s := start(t, opts)
	exec1(t, s, `create table kept as select 42 as n`)
	for name, want := range map[string]string{"fsync": "on", "listen_addresses": "", "log_lock_waits": "on", "timezone": "UTC"} {
		if got := query1[string](t, s, "show "+name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	for path, want := range map[string]os.FileMode{"pgdata": 0o700, "run": 0o700, "password": 0o600, "lock": 0o600, "postgres.log": 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	stop(t, s)
	s = start(t, opts)
	if n := query1[int](t, s, `select n from kept`); n != 42 {
		t.Fatalf("n = %d", n)
	}
}

func TestWrongPasswordIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, fast(openDir(t)))
	url := strings.Replace(s.OwnerURL(), s.password, "wrong", 1)
	if _, err := pgx.Connect(context.Background(), url); err == nil {
		t.Fatal("connected with a wrong password")
	}
	if s.Password("one") == s.Password("two") || s.Password("one") == s.password {
		t.Fatal("two logins share a password")
	}
}

func TestSecondStartIsRefusedAndAttachUsesTheFirst(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	opts := fast(openDir(t))
	var gone *NotRunningError
	if _, err := Attach(ctx, opts); !errors.As(err, &gone) {
		t.Fatalf("attach to nothing: %v", err)
	}
	s := start(t, opts)
	var running *RunningError
	if _, err := Start(ctx, opts); !errors.As(err, &running) || running.PID != os.Getpid() {
		t.Fatalf("second start here: %v", err)
	}
	if _, line := helper(t, opts.Dir, false); !strings.Contains(line(), "already running") {
		t.Fatal("second start in another process was not refused")
	}
	a, err := StartOrAttach(ctx, opts)
	if err != nil || !a.Attached() {
		t.Fatalf("attach: %v", err)
	}
	if a.OwnerURL() != s.OwnerURL() || a.URL("x", "y") != s.URL("x", "y") {
		t.Fatal("addresses differ")
	}
	stop(t, a)
	if n := query1[int](t, s, `select 1`); n != 1 {
		t.Fatal("stopping the attached one stopped the server")
	}
	stop(t, s)
	if _, err := Attach(ctx, opts); !errors.As(err, &gone) {
		t.Fatalf("attach after the stop: %v", err)
	}
}

func TestManyStartOrAttachMakeOneServer(t *testing.T) {
	t.Parallel()
	opts := fast(openDir(t))
	var mu sync.Mutex
	var wg sync.WaitGroup
	servers := map[bool][]*Server{}
	for range 5 {
		wg.Go(func() {
			s, err := StartOrAttach(context.Background(), opts)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			servers[s.Attached()] = append(servers[s.Attached()], s)
		})
	}
	wg.Wait()
	if len(servers[false]) != 1 || len(servers[true]) != 4 {
		t.Errorf("%d started, %d attached", len(servers[false]), len(servers[true]))
	}
	for _, s := range servers[false] {
		stop(t, s)
	}
}

func TestParentKilled(t *testing.T) {
	t.Parallel()
	for _, orphan := range []bool{false, true} {
		t.Run(fmt.Sprintf("orphan=%v", orphan), func(t *testing.T) {
			t.Parallel()
			opts := fast(openDir(t))
			cmd, line := helper(t, opts.Dir, orphan)
			var pid int
			if said := line(); scan(said, &pid) != nil {
				t.Fatal(said)
			}
			a, err := Attach(context.Background(), opts)
			if err != nil {
				t.Fatal(err)
			}
			exec1(t, a, `create table kept as select 7 as n`)
			kill9(t, cmd)
			if orphan {
				time.Sleep(300 * time.Millisecond)
				if !alive(pid) {
					t.Fatal("the server did not survive its parent, nothing to test")
				}
			}
			s := start(t, opts) // at once: it may still be shutting down
			if n := query1[int](t, s, `select n from kept`); n != 7 {
				t.Fatalf("n = %d", n)
			}
			if s.current().cmd.Process.Pid == pid {
				t.Fatal("same process")
			}
			eventually(t, "end of the old server", func() bool { return !alive(pid) || !s.layout.isPostmaster(t.Context(), pid) })
		})
	}
}

func scan(said string, pid *int) error {
	_, err := fmt.Sscanf(said, "ready %d", pid)
	return err
}

// The signal of the parent's death comes when the starting thread ends.
func TestServerOutlivesTheThreadThatStartedIt(t *testing.T) {
	t.Parallel()
	opts := fast(openDir(t))
	started := make(chan *Server)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		s, err := Start(context.Background(), opts)
		if err != nil {
			t.Error(err)
		}
		started <- s
	}()
	s := <-started
	if s == nil {
		return
	}
	defer stop(t, s)
	pid := s.current().cmd.Process.Pid
	for range 20 {
		time.Sleep(50 * time.Millisecond)
		runtime.GC()
	}
	if s.current().cmd.Process.Pid != pid || query1[int](t, s, `select 1`) != 1 {
		t.Fatal("the server ended with the thread")
	}
}

func TestCrashedServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := start(t, fast(openDir(t)))
	exec1(t, s, `create table kept as select 3 as n`)
	exec1(t, s, `checkpoint`)
	pid := s.current().cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "restart", func() bool {
		conn, err := pgx.Connect(t.Context(), s.OwnerURL())
		return err == nil && conn.Close(t.Context()) == nil && s.current().cmd.Process.Pid != pid
	})
	if n := query1[int](t, s, `select n from kept`); n != 3 {
		t.Fatalf("n = %d", n)
	}
}

func TestPathsWithSpacesAndLongPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		`a b "c" 'd' ü%20+\`,
		`one,two`,
		strings.Repeat("long/", 30) + "data",
	} {
		t.Run(name[:4], func(t *testing.T) {
			t.Parallel()
			s := start(t, fast(filepath.Join(openDir(t), name)))
			if n := query1[int](t, s, `select 1`); n != 1 {
				t.Fatal(n)
			}
			if len(filepath.Join(s.layout.sockDir, socketName)) > maxSocketPath {
				t.Fatal("socket path too long")
			}
			if s.layout.sockDir != filepath.Join(s.Dir(), "run") {
				t.Cleanup(func() { _ = os.RemoveAll(s.layout.sockDir) })
			}
		})
	}
}

func TestSocketFolderOfSomebodyElseIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "data")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/tmp", filepath.Join(dir, "run")); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(context.Background(), fast(dir)); err == nil || !strings.Contains(err.Error(), "must be a folder of") {
		t.Fatalf("err = %v", err)
	}
}
