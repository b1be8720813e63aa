//go:build unix

package pgembed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopOrphan stops a server that its killed starter left running on the folder, and
// clears a pid file whose number now belongs to another program. The caller
// holds the lock, so whatever runs here has no starter any more.
func (l layout) stopOrphan(ctx context.Context, log func(msg string, args ...any)) error {
	pid, err := l.postmasterPID()
	if err != nil || pid == 0 {
		return err
	}
	if !alive(pid) {
		return nil // postgres itself sees that the file is stale
	}
	if !l.isPostmaster(ctx, pid) {
		log("removed the pid file of a server that is gone", "pid", pid)
		return os.Remove(l.pidFile())
	}
	log("stopping the server that a killed process left on the data folder", "pid", pid)
	deadline := time.Now().Add(60 * time.Second)
	_ = syscall.Kill(pid, syscall.SIGINT)
	for quick := false; alive(pid); {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			if quick {
				return fmt.Errorf("data folder %s: server process %d does not stop: end it by hand", l.home, pid)
			}
			quick = true
			deadline = time.Now().Add(20 * time.Second)
			_ = syscall.Kill(pid, syscall.SIGQUIT)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

func (l layout) pidFile() string { return filepath.Join(l.pgdata(), "postmaster.pid") }

// postmasterPID reads the first line of the pid file, 0 when there is none.
func (l layout) postmasterPID() (int, error) {
	f, err := os.Open(l.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("data folder: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	line, err := bufio.NewReader(f).ReadString('\n')
	pid, convErr := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || convErr != nil || pid <= 0 {
		// Cut short by a full disk or a crash. Postgres refuses such a file, and with
		// the lock held no server is being started that could be writing it.
		return 0, os.Remove(l.pidFile())
	}
	return pid, nil
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isPostmaster tells a server on this folder from a program that got the same
// number later, say after a restart of the machine. A postmaster's working folder
// is its data folder; where that cannot be seen, its command line names it.
func (l layout) isPostmaster(ctx context.Context, pid int) bool {
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil {
		return cwd == l.pgdata()
	}
	out, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), l.pgdata())
}
