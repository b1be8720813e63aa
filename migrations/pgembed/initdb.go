//go:build unix

package pgembed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Owner is the superuser of an embedded server, Database its database.
const (
	Owner    = "ironhold_owner"
	Database = "ironhold"
)

// initRoom is what a new data folder needs, its first write-ahead log included.
const initRoom = 120 << 20

// dataMajor is the major version that wrote the data, 0 when there are none yet.
// A folder that is neither is left alone.
func (l layout) dataMajor() (int, error) {
	b, err := os.ReadFile(filepath.Join(l.pgdata(), "PG_VERSION"))
	if err == nil {
		major, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return 0, fmt.Errorf("%s holds data of an unknown PostgreSQL version %q", l.pgdata(), strings.TrimSpace(string(b)))
		}
		return major, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("data folder: %w", err)
	}
	// An empty folder goes; os.Remove refuses one with content.
	if err := os.Remove(l.pgdata()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s is not a PostgreSQL data folder and not empty: move it away", l.pgdata())
	}
	return 0, nil
}

// initialise makes pgdata. It appears whole under its name or not at all: a start
// that is killed in the middle leaves only a folder that the next one removes.
// The caller holds the lock.
func (l layout) initialise(ctx context.Context, bin Binaries, password string, sync bool) error {
	if free := l.free(); free < initRoom {
		return &DiskFullError{Dir: l.home, Free: free}
	}
	l.removeLeftovers()
	tmp, err := os.MkdirTemp(l.home, "pgdata.new-")
	if err != nil {
		return l.explain(fmt.Errorf("data folder: %w", err))
	}
	pwfile := tmp + ".pw"
	defer os.RemoveAll(tmp) //nolint:errcheck // gone after the rename; else the next start removes it
	defer os.Remove(pwfile) //nolint:errcheck // as above
	if err := l.acct.give(tmp); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if err := os.WriteFile(pwfile, []byte(password+"\n"), 0o600); err != nil {
		return l.explain(fmt.Errorf("data folder: %w", err))
	}
	if err := l.acct.give(pwfile); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	// Locale C: the order of texts, and so every index, is the same on every system.
	args := []string{
		"-D", tmp, "-U", Owner, "--pwfile", pwfile, "-A", "scram-sha-256",
		"-E", "UTF8", "--no-locale", "--data-checksums", "--no-instructions",
	}
	if !sync {
		args = append(args, "--no-sync")
	}
	if out, err := l.run(ctx, filepath.Join(bin.Dir, "initdb"), args...); err != nil {
		return l.blame("initdb", string(out), err)
	}
	if err := os.Rename(tmp, l.pgdata()); err != nil {
		return l.explain(fmt.Errorf("data folder: %w", err))
	}
	return syncDir(l.home)
}

// removeLeftovers clears what a killed initialise left.
func (l layout) removeLeftovers() {
	old, _ := filepath.Glob(filepath.Join(escapeGlob(l.home), "pgdata.new-*"))
	for _, path := range old {
		_ = os.RemoveAll(path)
	}
}

// failurePattern finds what a server program says of its own end; a session's FATAL,
// behind user and database, is not about the server.
var failurePattern = regexp.MustCompile(`(?:(?:^|\] )FATAL: |PANIC: |^[a-z_]+: (?:error|fatal): )\s*(.+)`)

// blame makes one line of a server program's failure: a full disk by its name,
// else the last line that says what was wrong.
func (l layout) blame(program, output string, err error) error {
	if strings.Contains(output, "No space left on device") || strings.Contains(output, "Disk quota exceeded") || l.free() < 1<<20 {
		return &DiskFullError{Dir: l.home, Free: l.free()}
	}
	reason := ""
	for line := range strings.Lines(output) {
		if m := failurePattern.FindStringSubmatch(line); m != nil {
			reason = m[1]
		}
	}
	if reason != "" {
		return fmt.Errorf("%s on data folder %s: %s (%w)", program, l.home, reason, err)
	}
	return fmt.Errorf("%s on data folder %s: %w, see %s", program, l.home, err, l.logFile())
}
