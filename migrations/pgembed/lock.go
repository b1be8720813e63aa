//go:build unix

package pgembed

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// acquire takes the data folder's lock, or answers RunningError. The lock goes
// with the process, however it ends.
func (l layout) acquire() (*os.File, error) {
	f, err := l.openFile(l.lockFile(), os.O_RDWR|os.O_CREATE)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("data folder %s is in use by another user: %w", l.home, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock of data folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	// Somebody who merely looks (lockedByOther) holds it for an instant.
	for i := 0; errors.Is(err, syscall.EWOULDBLOCK) && i < 5; i++ {
		time.Sleep(20 * time.Millisecond)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		pid := readPID(f)
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &RunningError{Dir: l.home, PID: pid}
		}
		return nil, fmt.Errorf("lock of data folder %s: %w", l.home, err)
	}
	// The number is only for messages: a full disk must not stop the start here.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// lockedByOther tells whether some process holds the lock now.
func (l layout) lockedByOther() (bool, error) {
	f, err := l.openFile(l.lockFile(), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock of data folder: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

func readPID(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}
