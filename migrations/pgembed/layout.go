//go:build unix

package pgembed

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxSocketPath stays under the 104 bytes that the smallest supported system allows.
const maxSocketPath = 100

const socketName = ".s.PGSQL.5432"

// layout is where everything of one server lives.
type layout struct {
	home    string // the data folder, absolute
	sockDir string
	acct    account
}

func (l layout) pgdata() string   { return filepath.Join(l.home, "pgdata") }
func (l layout) logFile() string  { return filepath.Join(l.home, "postgres.log") }
func (l layout) lockFile() string { return filepath.Join(l.home, "lock") }
func (l layout) password() string { return filepath.Join(l.home, "password") }

// resolve finds the folder without creating anything. Root's folder must be
// reachable by the account that runs the server, else it is elsewhere.
func resolve(ctx context.Context, dir string, log *slog.Logger) (layout, error) {
	if dir == "" {
		dir = ".ironhold"
	}
	home, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, fmt.Errorf("data folder %q: %w", dir, err)
	}
	// A folder reached through two names must be one folder, with one lock.
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	} else if parent, err := filepath.EvalSymlinks(filepath.Dir(home)); err == nil {
		home = filepath.Join(parent, filepath.Base(home))
	}
	acct, err := accountFor(filepath.Join(home, "pgdata"))
	if err != nil {
		return layout{}, err
	}
	outer := existingParent(home)
	if outer == home && (layout{home: home}).ours() {
		outer = filepath.Dir(home) // create opens the folder itself
	}
	if acct.drop && !acct.canEnter(ctx, outer) {
		elsewhere := filepath.Join("/var/lib/ironhold", "data-"+shortHash(home))
		log.Info("data are kept elsewhere: the folder is closed to the account that runs PostgreSQL",
			"folder", home, "account", acct.name, "data", elsewhere)
		home = elsewhere
		if acct, err = accountFor(filepath.Join(home, "pgdata")); err != nil {
			return layout{}, err
		}
	}
	l := layout{home: home, acct: acct}
	l.sockDir = socketDir(home)
	return l, nil
}

func existingParent(path string) string {
	for path != "/" {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// socketDir is inside the data folder while the path fits into a socket address and
// into a list of hosts, else a folder with a stable name of its own.
func socketDir(home string) string {
	dir := filepath.Join(home, "run")
	if len(filepath.Join(dir, socketName)) <= maxSocketPath && !strings.Contains(dir, ",") {
		return dir
	}
	name := "ironhold-" + shortHash(home)
	dir = filepath.Join(os.TempDir(), name)
	if len(filepath.Join(dir, socketName)) > maxSocketPath {
		dir = filepath.Join("/tmp", name)
	}
	return dir
}

// create makes the data folder: closed to others for an ordinary user; for root
// its own, searchable, with everything inside closed.
func (l layout) create(ctx context.Context) error {
	mode := fs.FileMode(0o700)
	if l.acct.drop {
		mode = 0o711
	}
	if err := os.MkdirAll(l.home, 0o755); err != nil {
		return l.explain(fmt.Errorf("data folder: %w", err))
	}
	owner, err := ownerOf(l.home)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if owner != os.Geteuid() && owner != l.acct.uid {
		return fmt.Errorf("data folder %s belongs to uid %d: run as that user or as root, or choose another data folder", l.home, owner)
	}
	if owner == os.Geteuid() && l.ours() {
		if err := os.Chmod(l.home, mode); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	if l.acct.drop && !l.acct.canEnter(ctx, l.home) {
		return fmt.Errorf("data folder %s is closed to account %s, which runs PostgreSQL: choose another data folder", l.home, l.acct.name)
	}
	return l.privateDir(l.sockDir)
}

// ours tells a new or used data folder from a folder full of other things, whose
// mode is not ours to change.
func (l layout) ours() bool {
	if _, err := os.Lstat(l.lockFile()); err == nil {
		return true
	}
	entries, err := os.ReadDir(l.home)
	return err == nil && len(entries) == 0
}

// privateDir makes or checks a folder of the account, mode 0700. A folder of the
// same name planted by somebody else is refused.
func (l layout) privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := l.acct.give(dir); err != nil {
			return fmt.Errorf("folder %s: %w", dir, err)
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return l.explain(fmt.Errorf("folder %s: %w", dir, err))
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("folder %s: %w", dir, err)
	}
	owner, err := ownerOf(dir)
	if err != nil {
		return fmt.Errorf("folder %s: %w", dir, err)
	}
	if owner == 0 && l.acct.drop && info.IsDir() { // made by a start that was killed before giving it away
		if err := l.acct.give(dir); err != nil {
			return fmt.Errorf("folder %s: %w", dir, err)
		}
		owner = l.acct.uid
	}
	if !info.IsDir() || owner != l.acct.uid {
		return fmt.Errorf("%s must be a folder of %s: move it away", dir, l.acct.name)
	}
	if info.Mode().Perm() != 0o700 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

func ownerOf(path string) (int, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: owner unknown", path)
	}
	return int(st.Uid), nil
}

// openFile opens a file of the data folder, mode 0600, never through a link. Root
// working in a user's folder leaves the file to that user.
func (l layout) openFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, l.explain(err)
	}
	if owner, err := ownerOf(l.home); err == nil && l.acct.drop && owner == l.acct.uid {
		if err := f.Chown(l.acct.uid, l.acct.gid); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return f, nil
}

// loadPassword reads the password; with create it makes one when there is none.
func (l layout) loadPassword(create bool) (string, error) {
	f, err := l.openFile(l.password(), os.O_RDONLY)
	if err == nil {
		defer f.Close() //nolint:errcheck // read only
		b, err := io.ReadAll(io.LimitReader(f, 200))
		if err != nil {
			return "", fmt.Errorf("password file: %w", err)
		}
		if pw := strings.TrimSpace(string(b)); pw != "" {
			return pw, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("password file: %w", err)
	}
	if !create {
		return "", fmt.Errorf("password file %s is missing: restore it, or move the data folder away to begin anew", l.password())
	}
	var raw [24]byte
	_, _ = rand.Read(raw[:]) // never fails, by its contract
	pw := hex.EncodeToString(raw[:])
	return pw, l.writeFile(l.password(), pw+"\n")
}

// writeFile replaces a file so that a crash leaves the old or the new one whole.
func (l layout) writeFile(path, content string) error {
	tmp := path + ".new"
	_ = os.Remove(tmp)
	f, err := l.openFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return l.explain(fmt.Errorf("write %s: %w", path, err))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// explain turns "no space left" into the error that says what to do.
func (l layout) explain(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &DiskFullError{Dir: l.home, Free: l.free()}
	}
	return err
}

// free is the room left for ordinary users, in bytes.
func (l layout) free() uint64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(existingParent(l.home), &st); err != nil {
		return 1 << 62 // unknown: no reason to call it full
	}
	return uint64(st.Bavail) * uint64(st.Bsize) //nolint:unconvert // the types differ between systems
}
