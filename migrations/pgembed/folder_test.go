//go:build unix

package pgembed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestInitdbKilledInTheMiddleIsRedone(t *testing.T) {
	t.Parallel()
	opts := fast(openDir(t))
	cmd, _ := helper(t, opts.Dir, false)
	leftovers := func() int {
		old, _ := filepath.Glob(filepath.Join(opts.Dir, "pgdata.new-*"))
		return len(old)
	}
	eventually(t, "initdb", func() bool {
		old, _ := filepath.Glob(filepath.Join(opts.Dir, "pgdata.new-*", "base"))
		return len(old) > 0
	})
	kill9(t, cmd)
	if leftovers() == 0 {
		t.Fatal("initdb had ended, nothing to test")
	}
	s := start(t, opts)
	if n := query1[int](t, s, `select 1`); n != 1 {
		t.Fatal(n)
	}
	if n := leftovers(); n != 0 {
		t.Fatalf("%d leftovers", n)
	}
}

func TestEmptyDataFolderIsInitialised(t *testing.T) {
	t.Parallel()
	opts := fast(openDir(t))
	if err := os.Mkdir(filepath.Join(opts.Dir, "pgdata"), 0o700); err != nil {
		t.Fatal(err)
	}
	acct, err := defaultAccount()
	if err != nil {
		t.Fatal(err)
	}
	if err := acct.give(filepath.Join(opts.Dir, "pgdata")); err != nil {
		t.Fatal(err)
	}
	start(t, opts)
}

func TestForeignContentIsLeftAlone(t *testing.T) {
	t.Parallel()
	opts := fast(openDir(t))
	pgdata := filepath.Join(opts.Dir, "pgdata")
	if err := os.Mkdir(pgdata, 0o755); err != nil {
		t.Fatal(err)
	}
	letter := filepath.Join(pgdata, "letter")
	if err := os.WriteFile(letter, []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	acct, err := defaultAccount()
	if err != nil {
		t.Fatal(err)
	}
	if err := acct.give(pgdata); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(context.Background(), opts); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Fatalf("err = %v", err)
	}
	if b, err := os.ReadFile(letter); err != nil || string(b) != "dear" {
		t.Fatalf("%q, %v", b, err)
	}
}

func TestStalePidFiles(t *testing.T) {
	t.Parallel()
	opts := fast(openDir(t))
	s := start(t, opts)
	stop(t, s)
	// The number of a living program (this one), of a dead one, and a file cut short.
	for _, content := range []string{
		fmt.Sprintf("%d\n%s\n1700000000\n5432\n%s\n\n  1 1\nready\n", os.Getpid(), s.layout.pgdata(), s.layout.sockDir),
		fmt.Sprintf("%d\n%s\n1700000000\n5432\n%s\n\n  1 1\nready\n", 1<<22-3, s.layout.pgdata(), s.layout.sockDir),
		"12",
		"",
	} {
		if err := os.WriteFile(s.layout.pidFile(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.layout.acct.give(s.layout.pidFile()); err != nil {
			t.Fatal(err)
		}
		again := start(t, opts)
		stop(t, again)
	}
}

func TestLostPasswordFileIsNamed(t *testing.T) {
	t.Parallel()
	opts := fast(openDir(t))
	stop(t, start(t, opts))
	if err := os.Remove(filepath.Join(opts.Dir, "password")); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(context.Background(), opts); err == nil || !strings.Contains(err.Error(), "password file") {
		t.Fatalf("err = %v", err)
	}
}

func TestDataOfAnotherVersion(t *testing.T) {
	t.Parallel()
	opts := fast(openDir(t))
	s := start(t, opts)
	stop(t, s)
	version := filepath.Join(s.layout.pgdata(), "PG_VERSION")
	if err := os.WriteFile(version, []byte("99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mismatch *VersionError
	if _, err := Start(context.Background(), opts); !errors.As(err, &mismatch) || mismatch.Need != 99 || len(mismatch.Have) == 0 {
		t.Fatalf("err = %v", err)
	}
	if err := os.WriteFile(version, fmt.Appendf(nil, "%d\n", s.bin.Major), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, opts)
}

func TestRootUsesAnotherAccount(t *testing.T) {
	t.Parallel()
	s := start(t, fast(openDir(t)))
	uid, err := ownerOf(fmt.Sprintf("/proc/%d", s.current().cmd.Process.Pid))
	if err != nil {
		t.Log("no /proc here")
	} else if uid == 0 || uid != s.layout.acct.uid {
		t.Errorf("postgres runs as uid %d", uid)
	}
	if os.Geteuid() != 0 {
		if s.layout.acct.drop {
			t.Error("an ordinary user tries to become another")
		}
		t.Log("not root: the folder closed to others is not tried")
		return
	}
	closed := filepath.Join(openDir(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	opts := fast(filepath.Join(closed, "data"))
	elsewhere := start(t, opts)
	t.Cleanup(func() { _ = os.RemoveAll(elsewhere.Dir()) })
	if !strings.HasPrefix(elsewhere.Dir(), "/var/lib/ironhold/") {
		t.Fatalf("data are in %s", elsewhere.Dir())
	}
	exec1(t, elsewhere, `create table kept ()`)
	a, err := Attach(context.Background(), opts)
	if err != nil || a.Dir() != elsewhere.Dir() {
		t.Fatalf("attach: %v", err)
	}
	stop(t, elsewhere)
	again := start(t, opts)
	if !query1[bool](t, again, `select to_regclass('kept') is not null`) {
		t.Fatal("the data were not found again")
	}
}

func TestRootRunsAUsersDataAsThatUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("not root: only the folder of another account is tried")
		if _, err := accountFor("/etc"); err == nil || !strings.Contains(err.Error(), "belong to uid 0") {
			t.Fatalf("err = %v", err)
		}
		return
	}
	opts := fast(openDir(t))
	stop(t, start(t, opts))
	// As if an account with the number of "daemon" had made all of it.
	const daemon = 1
	err := filepath.WalkDir(opts.Dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, daemon, daemon))
	})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, opts)
	if s.layout.acct.uid != daemon {
		t.Fatalf("runs as %s", s.layout.acct.name)
	}
	for _, file := range []string{"lock", "password", "postgres.log", "pgdata/postmaster.pid"} {
		if uid, err := ownerOf(filepath.Join(opts.Dir, file)); err != nil || uid != daemon {
			t.Errorf("%s belongs to uid %d, %v", file, uid, err)
		}
	}
}

// A device that is always full gives the error that a full file system gives.
func TestFullDiskIsNamed(t *testing.T) {
	t.Parallel()
	l := layout{home: t.TempDir()}
	var full *DiskFullError
	if err := l.explain(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}); !errors.As(err, &full) {
		t.Fatalf("err = %v", err)
	}
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Logf("no /dev/full here: %v", err)
		return
	}
	defer f.Close()
	_, err = f.WriteString("x")
	if !errors.As(l.explain(err), &full) {
		t.Fatalf("err = %v", err)
	}
}
