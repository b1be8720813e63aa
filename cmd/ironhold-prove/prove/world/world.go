//go:build linux

// Package world brings up what a proof attacks: a PostgreSQL server of its own, a proxy before it
// for each process, and two processes of the real program.
//
//	people -- HTTP --> ironhold serve A -- proxy A --.
//	people -- HTTP --> ironhold serve B -- proxy B --+-- PostgreSQL (durable, on a disk of its own
//	judge, outside sessions -------------------------'   where that can be mounted)
package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/migrations"
	"ironhold/migrations/pg"
)

const login = "ironhold_app"

// Options of a world.
type Options struct {
	Orgs       int
	WrongClock bool // also build the program with a wrong clock
	OwnDisk    bool // put PostgreSQL on a file-backed mount, where that is possible
	DiskMB     int
}

// World is everything that runs.
type World struct {
	Dir       string
	Postgres  *Postgres
	Processes []*Process
	Env       map[string]string // settings of the processes at their next start

	Orgs   []Org
	Forms  []Person // one for each of the first organisations
	Wiper  string   // token of an operator
	Mount  string   // PostgreSQL's own disk, "" without
	NoDisk string   // why there is none
	NoTime string   // why there is no wrong clock

	binary, wrong string
}

// Org is a customer with a token.
type Org struct{ ID, Slug, Token string }

// Person signs in to the pages.
type Person struct{ Email, Password string }

// New builds the program, starts PostgreSQL, migrates and adds organisations. The processes are
// not running yet.
func New(ctx context.Context, o Options) (w *World, err error) {
	dir, err := os.MkdirTemp("", "ironhold-prove-")
	if err != nil {
		return nil, err
	}
	w = &World{Dir: dir, Env: map[string]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	// The account that runs PostgreSQL has to come through to its folder.
	if err := os.Chmod(dir, 0o711); err != nil {
		return w, err
	}
	w.binary = filepath.Join(dir, "ironhold")
	if err := build(ctx, w.binary); err != nil {
		return w, err
	}
	if o.WrongClock {
		w.wrong = filepath.Join(dir, "ironhold-wrong")
		if err := buildWrong(ctx, dir, w.wrong); err != nil {
			w.wrong, w.NoTime = "", err.Error()
		}
	}
	home := dir
	if o.OwnDisk {
		if err := w.mount(ctx, o.DiskMB); err != nil {
			w.NoDisk = err.Error()
		} else {
			home = w.Mount
		}
	}
	if w.Postgres, err = startPostgres(ctx, filepath.Join(home, "data")); err != nil {
		return w, err
	}
	if err := w.fill(ctx, o.Orgs); err != nil {
		return w, err
	}
	for _, name := range []string{"A", "B"} {
		p, err := w.newProcess(name)
		if err != nil {
			return w, err
		}
		w.Processes = append(w.Processes, p)
	}
	return w, nil
}

func (w *World) newProcess(name string) (*Process, error) {
	proxy, err := newProxy(name, w.Postgres.relay.Addr().String())
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(w.Dir, "serve-"+name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p := &Process{Name: name, Proxy: proxy, world: w, log: log}
	if p.addr, err = freeAddr(); err != nil {
		return nil, err
	}
	if p.Metrics, err = freeAddr(); err != nil {
		return nil, err
	}
	p.URL = "http://" + p.addr
	return p, nil
}

// mount makes a disk of its own from a file.
func (w *World) mount(ctx context.Context, megabytes int) error {
	if os.Geteuid() != 0 {
		return errors.New("only root may mount")
	}
	image, at := filepath.Join(w.Dir, "disk.img"), filepath.Join(w.Dir, "disk")
	f, err := os.Create(image)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(int64(megabytes)<<20), f.Close(), os.Mkdir(at, 0o711)); err != nil {
		return err
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, at}} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
	}
	w.Mount = at
	return os.Chmod(at, 0o711)
}

// Run runs a command of the program on the database, past the proxies.
func (w *World) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, w.binary, args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+w.Postgres.OwnerURL(), "MIGRATE_DATABASE_URL=", "LOG_LEVEL=error")
	for name, value := range w.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("ironhold %s: %w: %s%s", strings.Join(args, " "), err, stderr.String(), out)
	}
	return string(out), nil
}

const formPassword = "a password for the proof"

func (w *World) fill(ctx context.Context, orgs int) error {
	if _, err := w.Run(ctx, "migrate"); err != nil {
		return err
	}
	if err := migrations.EnsureLogin(ctx, w.Postgres.OwnerURL(), login, w.Postgres.current().Password(login)); err != nil {
		return err
	}
	if _, err := w.Run(ctx, "rollout", "set", "--global", "on"); err != nil {
		return err
	}
	db, err := pgxpool.New(ctx, w.Postgres.OwnerURL())
	if err != nil {
		return err
	}
	defer db.Close()
	people, by := accounts.New(db), pg.By{Actor: "command:prove"}
	for i := range orgs {
		slug := "org-" + strconv.Itoa(i)
		org, err := people.AddOrg(ctx, by, slug, "Organisation "+strconv.Itoa(i), 100_000, 100_000)
		if err != nil {
			return err
		}
		token, err := people.AddToken(ctx, by, "prove", accounts.Customer, slug)
		if err != nil {
			return err
		}
		w.Orgs = append(w.Orgs, Org{ID: org.ID.String(), Slug: slug, Token: token})
		if i >= 2 {
			continue
		}
		who := Person{Email: "person@" + slug + ".example", Password: formPassword}
		if _, err := people.AddUser(ctx, by, accounts.NewUser{Email: who.Email, Name: "Person", Role: accounts.OrgAdmin, OrgSlug: slug, Password: who.Password}); err != nil {
			return err
		}
		w.Forms = append(w.Forms, who)
	}
	w.Wiper, err = people.AddToken(ctx, by, "prove", accounts.Operator, "")
	return err
}

// Import takes machines in by the command, and prepares the statistics.
func (w *World) Import(ctx context.Context, machines []Machine) error {
	var csv strings.Builder
	csv.WriteString("asset_tag,site,cpu,cores,ram_gb\n")
	for _, m := range machines {
		fmt.Fprintf(&csv, "%s,SITE1,%s,16,%d\n", m.Tag, m.CPU, m.RAMGB)
	}
	path := filepath.Join(w.Dir, "fleet.csv")
	if err := os.WriteFile(path, []byte(csv.String()), 0o600); err != nil {
		return err
	}
	_, err := w.Run(ctx, "import", "--format", "csv", path)
	return err
}

// Machine is one of the fleet.
type Machine struct {
	Tag, CPU string
	RAMGB    int
}

// StartAll starts both processes with what Env says now.
func (w *World) StartAll(ctx context.Context) error {
	for _, p := range w.Processes {
		if err := p.Start(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// StopAll asks both to end and waits.
func (w *World) StopAll() error {
	var errs []error
	for _, p := range w.Processes {
		errs = append(errs, p.End(syscall.SIGTERM))
	}
	return errors.Join(errs...)
}

// Close ends and removes everything, the logs included.
func (w *World) Close() error {
	var errs []error
	for _, p := range w.Processes {
		_ = p.End(syscall.SIGKILL)
		p.Proxy.proxy.Stop()
		_ = p.log.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if w.Postgres != nil {
		errs = append(errs, w.Postgres.stop(ctx))
	}
	if w.Mount != "" {
		if out, err := exec.CommandContext(ctx, "umount", w.Mount).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("umount: %w: %s", err, out))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(w.Dir))...)
}

// Faults are the lines of the processes' logs that nothing excuses.
func (w *World) Faults() []string {
	var out []string
	for _, p := range w.Processes {
		b, err := os.ReadFile(p.LogFile())
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, `"problem":"internal"`) || strings.HasPrefix(line, "panic:") || strings.Contains(line, "fatal error:") {
				out = append(out, p.Name+": "+strings.TrimSpace(line))
			}
		}
	}
	return out
}

// LogFile is what the process reports.
func (p *Process) LogFile() string { return p.log.Name() }

// LogFile is what the server reports.
func (p *Postgres) LogFile() string { return p.current().LogFile() }
