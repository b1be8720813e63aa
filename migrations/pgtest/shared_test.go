//go:build unix

package pgtest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestKeeperEndsWhenNobodyUsesItsServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} { // root's servers need searchable folders
		if err := os.Chmod(d, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	users, err := lockFile(filepath.Join(dir, "users"), syscall.LOCK_SH)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- keep(dir, time.Second) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err = readURL(t.Context(), dir); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	time.Sleep(3 * time.Second) // longer than the idle time
	if _, err := readURL(t.Context(), dir); err != nil {
		t.Fatalf("the server ended although it has a user: %v", err)
	}
	if err := users.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the server runs on without users")
	}
	left, _ := filepath.Glob(filepath.Join(dir, "server-*"))
	if _, err := os.Stat(filepath.Join(dir, "url")); err == nil || len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestMigrationsHashIsStable(t *testing.T) {
	t.Parallel()
	a, err := migrationsHash()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := migrationsHash(); err != nil || a != b || len(a) != 16 {
		t.Fatalf("%q, %q, %v", a, b, err)
	}
}
