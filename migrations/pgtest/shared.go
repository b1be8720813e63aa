//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pgembed"
)

// envServe turns a copy of the test binary into the shared server's keeper.
const envServe = "IRONHOLD_PGTEST_KEEPER"

// idleTime is how long the keeper waits for a next user.
const idleTime = 10 * time.Minute

// usersLock says that this process uses the shared server. It is never closed; the
// variable keeps the garbage collector from doing that.
var usersLock *os.File

// The keeper is the test binary started once more, since there is no other program that
// is sure to be there; it must take over before any test runs.
func init() {
	if dir := os.Getenv(envServe); dir != "" {
		if err := keep(dir, idleTime); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// sharedDir is this user's folder of the shared server; another choice of binaries
// gets another server.
func sharedDir() (string, error) {
	name := "ironhold-pgtest-" + strconv.Itoa(os.Getuid())
	if bin := os.Getenv("IRONHOLD_PG_BIN"); bin != "" {
		name += "-" + strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, bin)
	}
	dir := filepath.Join(os.TempDir(), name)
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(st.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s belongs to somebody else: remove it or set TMPDIR", dir)
	}
	return dir, os.Chmod(dir, 0o711)
}

// sharedServer returns the address of the running shared server, starting it when
// there is none. This process counts as a user of it until it ends.
func sharedServer(ctx context.Context) (string, error) {
	dir, err := sharedDir()
	if err != nil {
		return "", fmt.Errorf("shared test server: %w", err)
	}
	users, err := lockFile(filepath.Join(dir, "users"), syscall.LOCK_SH)
	if err != nil {
		return "", fmt.Errorf("shared test server: %w", err)
	}
	usersLock = users
	if url, err := readURL(ctx, dir); err == nil {
		return url, nil
	}
	starting, err := lockFile(filepath.Join(dir, "starting"), syscall.LOCK_EX)
	if err != nil {
		return "", fmt.Errorf("shared test server: %w", err)
	}
	defer starting.Close() //nolint:errcheck // frees the lock
	if url, err := readURL(ctx, dir); err == nil {
		return url, nil
	}
	return startKeeper(ctx, dir)
}

func startKeeper(ctx context.Context, dir string) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("shared test server: %w", err)
	}
	outPath := filepath.Join(dir, "keeper.log")
	out, err := os.OpenFile(outPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", fmt.Errorf("shared test server: %w", err)
	}
	defer out.Close() //nolint:errcheck // the keeper has its own descriptor
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envServe+"="+dir)
	// Not our output: `go test` would wait for the keeper to close it.
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("shared test server: %w", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	for {
		url, err := readURL(ctx, dir)
		if err == nil {
			return url, nil
		}
		select {
		case <-exited:
			said, _ := os.ReadFile(outPath)
			return "", fmt.Errorf("shared test server: %s", strings.TrimSpace(string(said)))
		case <-ctx.Done():
			return "", fmt.Errorf("shared test server: %w: %w", ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// readURL answers only with the address of a server that accepts connections.
func readURL(ctx context.Context, dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "url"))
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, string(b))
	if err != nil {
		return "", err
	}
	return string(b), conn.Close(ctx)
}

// keep runs the shared server until nobody has used it for the idle time.
func keep(dir string, idle time.Duration) error {
	ctx := context.Background()
	atOnce, cancel := context.WithCancel(ctx)
	cancel()
	users, err := os.OpenFile(filepath.Join(dir, "users"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	// Closed last: who comes while the server stops waits, and then starts a new one.
	defer users.Close() //nolint:errcheck // frees the lock
	urlFile := filepath.Join(dir, "url")
	_ = os.Remove(urlFile)
	// Each server has a folder of its own; those of killed keepers are removed.
	old, _ := filepath.Glob(filepath.Join(dir, "server-*"))
	for _, path := range old {
		_ = os.RemoveAll(path)
	}
	home, err := os.MkdirTemp(dir, "server-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home) //nolint:errcheck // the next keeper tries again
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	srv, err := pgembed.Start(ctx, pgembed.Options{Dir: home, Logger: log, Volatile: true, Settings: Settings()})
	if err != nil {
		return err
	}
	defer os.RemoveAll(srv.Dir()) //nolint:errcheck // as above
	defer srv.Stop(atOnce)        //nolint:errcheck // its data are thrown away
	if err := os.WriteFile(urlFile+".new", []byte(srv.OwnerURL()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(urlFile+".new", urlFile); err != nil {
		return err
	}
	defer os.Remove(urlFile) //nolint:errcheck // a wrong address is noticed by its readers
	for lastUse := time.Now(); ; time.Sleep(time.Second) {
		if syscall.Flock(int(users.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			lastUse = time.Now()
			continue
		}
		if time.Since(lastUse) >= idle {
			return nil // with the lock held
		}
		if err := syscall.Flock(int(users.Fd()), syscall.LOCK_UN); err != nil {
			return err
		}
	}
}

// Settings are those of a server for tests, to be used with pgembed's Volatile.
func Settings() map[string]string {
	return map[string]string{
		"max_connections":  "400",
		"log_min_messages": "error",
		"wal_compression":  "off",
	}
}

func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
	}
}
