//go:build unix

package pgembed

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Options says where the server lives and how it behaves.
type Options struct {
	// Dir is the data folder, ".ironhold" when empty.
	Dir string
	// Logger gets what a person should know; nil is silent. The server's own log is a
	// file in the data folder.
	Logger *slog.Logger
	// Volatile gives up safety for speed, for tests: a crash of the machine may lose
	// all data.
	Volatile bool
	// Settings override the server's settings by name.
	Settings map[string]string

	// noDeathSignal lets tests see an orphan on every system.
	noDeathSignal bool
}

func (o Options) log() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// Server is a running server, started by this process or attached to.
type Server struct {
	layout   layout
	bin      Binaries
	password string
	options  Options

	lock *os.File // nil when attached
	done chan struct{}
	quit chan struct{}

	mu      sync.Mutex
	proc    *postmaster
	stopped bool
}

// Start runs a server on the data folder and returns when it accepts connections and
// the database exists. It answers RunningError when another process runs one there,
// DiskFullError or VersionError for those reasons. An orphaned server of a killed
// process is stopped first. The context bounds the start only.
func Start(ctx context.Context, options Options) (*Server, error) {
	l, err := resolve(ctx, options.Dir, options.log())
	if err != nil {
		return nil, err
	}
	if err := l.create(ctx); err != nil {
		return nil, err
	}
	lock, err := l.acquire()
	if err != nil {
		return nil, err
	}
	s := &Server{layout: l, options: options, lock: lock, done: make(chan struct{}), quit: make(chan struct{})}
	if err := s.start(ctx); err != nil {
		if s.proc != nil {
			s.proc.stop(context.WithoutCancel(ctx), 10*time.Second)
		}
		_ = lock.Close()
		return nil, err
	}
	go s.supervise()
	return s, nil
}

// Attach uses the server that another process runs on the data folder, or answers
// NotRunningError. It waits while that server is still starting.
func Attach(ctx context.Context, options Options) (*Server, error) {
	l, err := resolve(ctx, options.Dir, options.log())
	if err != nil {
		return nil, err
	}
	for {
		locked, err := l.lockedByOther()
		if err != nil {
			return nil, err
		}
		if !locked {
			return nil, &NotRunningError{Dir: l.home}
		}
		if pw, err := l.loadPassword(false); err == nil {
			s := &Server{layout: l, options: options, password: pw}
			conn, err := pgx.Connect(ctx, s.OwnerURL())
			if err == nil {
				return s, conn.Close(ctx)
			}
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return nil, fmt.Errorf("server on data folder %s is not ready: %w", l.home, err)
		}
	}
}

// StartOrAttach uses a running server, or starts one when there is none.
func StartOrAttach(ctx context.Context, options Options) (*Server, error) {
	for {
		s, err := Start(ctx, options)
		var running *RunningError
		if !errors.As(err, &running) {
			return s, err
		}
		s, err = Attach(ctx, options)
		var gone *NotRunningError // it ended between the two looks
		if !errors.As(err, &gone) {
			return s, err
		}
	}
}

// OwnerURL connects as the superuser to the database.
func (s *Server) OwnerURL() string { return s.URL(Owner, Database) }

// URL connects as the user to a database of this server. Whoever makes a login gives
// it the password that Password tells. The address holds that password: do not log it.
func (s *Server) URL(user, database string) string {
	q := "host=" + strings.ReplaceAll(url.QueryEscape(s.layout.sockDir), "+", "%20") + "&port=5432"
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, s.Password(user)), Path: "/" + database, RawQuery: q}
	return u.String()
}

// Password is the password of a login, derived from the one in the data folder, so
// that no login knows another's. It stays the same for the life of the data.
func (s *Server) Password(user string) string {
	if user == Owner {
		return s.password
	}
	mac := hmac.New(sha256.New, []byte(s.password))
	mac.Write([]byte(user))
	return hex.EncodeToString(mac.Sum(nil))
}

// Dir is the data folder in use, which for root may not be the one asked for.
func (s *Server) Dir() string { return s.layout.home }

// LogFile is the server's own log.
func (s *Server) LogFile() string { return s.layout.logFile() }

// Attached tells that another process started the server and will stop it.
func (s *Server) Attached() bool { return s.lock == nil }

// Stop ends the server if this process started it, and frees the data folder. When
// the context ends before everything is written out, the server stops at once and
// recovers at its next start. May be called again.
func (s *Server) Stop(ctx context.Context) error {
	if s.Attached() {
		return nil
	}
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		<-s.done
		return nil
	}
	s.stopped = true
	close(s.quit)
	proc := s.proc
	s.mu.Unlock()
	proc.stop(ctx, 30*time.Second)
	<-s.done
	return s.lock.Close()
}

// start brings the server up once, from whatever the folder holds.
func (s *Server) start(ctx context.Context) error {
	l, log := s.layout, s.options.log()
	major, err := l.dataMajor()
	if err != nil {
		return err
	}
	if major != 0 {
		if err := l.stopOrphan(ctx, log.Info); err != nil {
			return err
		}
	}
	if s.bin, err = binariesFor(l.acct, l.home, major); err != nil {
		return err
	}
	if s.password, err = l.loadPassword(major == 0); err != nil {
		return err
	}
	if major == 0 {
		if err := l.initialise(ctx, s.bin, s.password, !s.options.Volatile); err != nil {
			return err
		}
	}
	l.removeLeftovers()
	began := time.Now()
	if err := s.launch(ctx); err != nil {
		return err
	}
	if err := s.ensureDatabase(ctx); err != nil {
		return l.blame("postgres", s.proc.output(), err)
	}
	log.Info("PostgreSQL is ready", "version", s.bin.Version, "data", l.home, "account", l.acct.name,
		"took", time.Since(began).Round(time.Millisecond).String())
	return nil
}

// launch starts the process and waits until it answers. Children of a killed server
// may hold its shared memory for a moment, so a refused launch is tried again.
func (s *Server) launch(ctx context.Context) error {
	for try := 1; ; try++ {
		deathSignal := syscall.SIGINT
		if s.options.noDeathSignal {
			deathSignal = 0
		}
		proc, err := s.layout.launch(s.bin, s.settings(), deathSignal)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.proc = proc
		stopped := s.stopped
		s.mu.Unlock()
		if stopped {
			proc.stop(ctx, 10*time.Second)
			return errors.New("stopped")
		}
		err = s.waitReady(ctx, proc)
		if err == nil || try == 10 || !strings.Contains(proc.output(), "shared memory block") {
			return err
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *Server) waitReady(ctx context.Context, proc *postmaster) error {
	began, said := time.Now(), time.Now()
	for {
		conn, err := pgx.Connect(ctx, s.URL(Owner, "postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		var refused *pgconn.PgError
		if errors.As(err, &refused) && strings.HasPrefix(refused.Code, "28") {
			return fmt.Errorf("the server on data folder %s does not accept the password in %s: restore that file: %w", s.layout.home, s.layout.password(), err)
		}
		select {
		case <-proc.exited:
			return s.layout.blame("postgres", proc.output(), proc.err)
		case <-ctx.Done():
			return fmt.Errorf("postgres on data folder %s is not ready after %s: %w", s.layout.home, time.Since(began).Round(time.Second), ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			s.options.log().Info("waiting for PostgreSQL, which may be recovering", "data", s.layout.home, "error", err.Error())
		}
	}
}

func (s *Server) ensureDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL(Owner, "postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is lost with it
	var exists bool
	if err := conn.QueryRow(ctx, `select exists (select from pg_database where datname = $1)`, Database).Scan(&exists); err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, "create database "+Database)
	return err
}

// supervise starts the server again when it ends by itself (say the disk was full),
// with pauses that grow to 30 s, until Stop.
func (s *Server) supervise() {
	defer close(s.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-s.quit
		cancel()
	}()
	pause := time.Second
	for {
		began := time.Now()
		<-s.current().exited
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > time.Minute {
			pause = time.Second
		}
		proc := s.current()
		s.options.log().Error("PostgreSQL ended by itself, starting it again",
			"error", s.layout.blame("postgres", proc.output(), proc.err).Error(), "in", pause.String())
		if sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, 30*time.Second)
		if err := s.launch(ctx); err == nil {
			s.options.log().Info("PostgreSQL is ready again", "data", s.layout.home)
		}
	}
}

func (s *Server) current() *postmaster {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
