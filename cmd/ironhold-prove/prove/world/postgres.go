//go:build linux

package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pgembed"
)

// settings of the server: durable, and with the time of each commit for the judgement.
func settings() map[string]string {
	return map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
		"track_commit_timestamp": "on", "shared_buffers": "128MB", "max_wal_size": "512MB"}
}

// Postgres is a server that may be killed, paused and started again.
type Postgres struct {
	options pgembed.Options
	relay   net.Listener

	mu      sync.Mutex
	server  *pgembed.Server
	seen    int64 // bytes of its log that were read
	deadlog []string
	socket  string
}

func startPostgres(ctx context.Context, dir string) (*Postgres, error) {
	p := &Postgres{options: pgembed.Options{Dir: dir, Settings: settings()}}
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	var err error
	// The proxy speaks TCP only, the server listens on a socket in its folder only.
	if p.relay, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go p.relaying()
	return p, nil
}

func (p *Postgres) start(ctx context.Context) error {
	server, err := pgembed.Start(ctx, p.options)
	if err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	cfg, err := pgx.ParseConfig(server.OwnerURL())
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server, p.socket = server, filepath.Join(cfg.Host, ".s.PGSQL."+strconv.Itoa(int(cfg.Port)))
	return nil
}

func (p *Postgres) relaying() {
	for {
		in, err := p.relay.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			p.mu.Lock()
			path := p.socket
			p.mu.Unlock()
			out, err := net.Dial("unix", path)
			if err != nil {
				return
			}
			defer out.Close()
			ended := make(chan struct{}, 2)
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					_, _ = io.Copy(way[1], way[0])
					ended <- struct{}{}
				}()
			}
			<-ended
		}()
	}
}

// OwnerURL is the superuser's address, past the proxies.
func (p *Postgres) OwnerURL() string { return p.current().OwnerURL() }

// LoginURL is the application's address through a proxy.
func (p *Postgres) LoginURL(proxy string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", login, p.current().Password(login), proxy, pgembed.Database)
}

func (p *Postgres) current() *pgembed.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server
}

// pids are the server's process and its children: all that work in its data folder. Parents do not
// tell: a child that was being made while its parent was killed belongs to nobody's list.
func (p *Postgres) pids() []int {
	data := filepath.Join(p.current().Dir(), "pgdata")
	if real, err := filepath.EvalSymlinks(data); err == nil {
		data = real
	}
	var all []int
	list, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, path := range list {
		if at, err := os.Readlink(path); err == nil && at == data {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			all = append(all, pid)
		}
	}
	return all
}

// signalAll signals until a look finds nobody new. Killed processes are waited for: the server does
// not start while one of them still has its memory.
func (p *Postgres) signalAll(ctx context.Context, s syscall.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	told := map[int]bool{}
	for {
		left, fresh := p.pids(), false
		for _, pid := range left {
			if !told[pid] {
				told[pid], fresh = true, true
				_ = syscall.Kill(pid, s)
			}
		}
		if !fresh && (s != syscall.SIGKILL || len(left) == 0) {
			break
		}
		if err := Sleep(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("PostgreSQL still has processes after %s: %w", s, err)
		}
	}
	if len(told) == 0 {
		return errors.New("PostgreSQL has no process to signal")
	}
	return nil
}

// Kill ends the server and its children at once, and starts it again after the pause.
func (p *Postgres) Kill(ctx context.Context, away time.Duration) error {
	if err := p.signalAll(ctx, syscall.SIGKILL); err != nil {
		return err
	}
	old := p.current()
	if err := old.Stop(ctx); err != nil {
		return err
	}
	if err := Sleep(ctx, away); err != nil {
		return err
	}
	p.readLog()
	return p.start(ctx)
}

// Pause stops the server and its children for a while, sockets open.
func (p *Postgres) Pause(ctx context.Context, d time.Duration) error {
	if err := p.signalAll(ctx, syscall.SIGSTOP); err != nil {
		return err
	}
	err := Sleep(ctx, d)
	return errors.Join(err, p.signalAll(context.WithoutCancel(ctx), syscall.SIGCONT))
}

// readLog looks for deadlocks in what is new of the server's log.
func (p *Postgres) readLog() {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := os.Open(p.server.LogFile())
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	if info.Size() < p.seen { // a new file
		p.seen = 0
	}
	b, _ := io.ReadAll(io.NewSectionReader(f, p.seen, info.Size()-p.seen))
	p.seen = info.Size()
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "deadlock") {
			p.deadlog = append(p.deadlog, strings.TrimSpace(line))
		}
	}
}

// Deadlocks are the lines of the server's log that tell of one.
func (p *Postgres) Deadlocks() []string {
	p.readLog()
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.deadlog...)
}

// Connect opens a superuser's connection, past the proxies; it waits while the server is away.
func (p *Postgres) Connect(ctx context.Context) (*pgx.Conn, error) {
	for {
		conn, err := pgx.Connect(ctx, p.OwnerURL())
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
		if err := Sleep(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func (p *Postgres) stop(ctx context.Context) error {
	if p.relay != nil {
		_ = p.relay.Close()
	}
	s := p.current()
	return errors.Join(s.Stop(ctx), os.RemoveAll(s.Dir()))
}

// Sleep waits, or answers why not.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
