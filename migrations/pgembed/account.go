//go:build unix

package pgembed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// account is who runs initdb and postgres.
type account struct {
	uid, gid int
	name     string
	drop     bool // we are root and become this account for the server's processes
}

// defaultAccount is ourselves, or for root postgres, else nobody.
func defaultAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid(), name: "uid " + strconv.Itoa(os.Geteuid())}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return accountOf(u)
		}
	}
	return account{}, errors.New("PostgreSQL refuses to run as root, and there is no account named postgres or nobody: add one, or run as an ordinary user")
}

// accountFor is the account for a folder that may hold data already: root runs the
// server as the owner of the data.
func accountFor(pgdata string) (account, error) {
	self, err := defaultAccount()
	if err != nil {
		return account{}, err
	}
	info, err := os.Lstat(pgdata)
	if err != nil {
		return self, nil // not there or not to be seen: opening it says more
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == self.uid {
		return self, nil
	}
	if !self.drop {
		return account{}, fmt.Errorf("data in %s belong to uid %d: run as that user or as root, or choose another data folder", pgdata, st.Uid)
	}
	u, err := user.LookupId(strconv.Itoa(int(st.Uid)))
	if err != nil || st.Uid == 0 {
		return account{}, fmt.Errorf("data in %s belong to uid %d, which cannot run PostgreSQL: change the owner or choose another data folder", pgdata, st.Uid)
	}
	return accountOf(u)
}

func accountOf(u *user.User) (account, error) {
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, fmt.Errorf("account %s: %w", u.Username, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, fmt.Errorf("account %s: %w", u.Username, err)
	}
	return account{uid: uid, gid: gid, name: u.Username, drop: true}, nil
}

// command prepares a process of this account, in its own process group so that
// an interrupt typed at the terminal reaches us alone.
func (a account) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = childEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a.drop {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return cmd
}

// canEnter asks the system itself whether the account can search the folder and
// all its parents; mode bits alone would miss access lists.
func (a account) canEnter(ctx context.Context, dir string) bool {
	cmd := a.command(ctx, "/bin/sh", "-c", `cd -- "$1"`, "sh", dir)
	cmd.Dir = "/"
	return cmd.Run() == nil
}

// give makes the account the owner of a file or folder that root made.
func (a account) give(path string) error {
	if !a.drop {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// childEnv is our environment without what would change the server's behaviour or
// the language of its messages.
func childEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "PG") || strings.HasPrefix(kv, "LC_") || strings.HasPrefix(kv, "LANG")
	})
	return append(env, "LC_ALL=C")
}
