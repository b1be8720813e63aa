//go:build linux

// Package fault breaks things while people buy: one fault at a time, in an order that the seed
// decides, each counted when it has really happened.
package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"ironhold/cmd/ironhold-prove/prove/judge"
	"ironhold/cmd/ironhold-prove/prove/world"
)

// Plan is how often each fault happens.
type Plan struct {
	KillPostgres, KillProcess, TermProcess      int
	PausePostgres, PauseProcess                 int
	Cut, Delay, LoseCommit                      int
	ExhaustPool, FullDisk, WrongClock, HoldRows int
	PauseLeast, PauseMost                       time.Duration
	Quiet                                       time.Duration // between two faults
}

// Saboteur carries a plan out.
type Saboteur struct {
	World *world.World
	Plan  Plan
	Seed  uint64
	Log   func(format string, args ...any)

	mu      sync.Mutex
	counts  map[string]int
	left    map[string]string
	stopped []judge.Window
}

type act struct {
	name string
	do   func(ctx context.Context) error
}

// Run carries out the whole plan. An error is one of the world, such as a process that does not
// come back.
func (s *Saboteur) Run(ctx context.Context) error {
	s.counts, s.left = map[string]int{}, map[string]string{}
	r := rand.New(rand.NewPCG(s.Seed, 1<<40)) //nolint:gosec // replayed
	acts := s.acts(r)
	r.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
	for i, a := range acts {
		s.Log("fault %d of %d: %s", i+1, len(acts), a.name)
		if err := a.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		for _, p := range s.World.Processes {
			if err := p.WaitReady(ctx); err != nil {
				return fmt.Errorf("after %s: %w", a.name, err)
			}
		}
		if err := world.Sleep(ctx, s.Plan.Quiet); err != nil {
			return err
		}
	}
	return nil
}

// Counts says how often each fault happened, Left which were left out and why.
func (s *Saboteur) Counts() (counts map[string]int, left map[string]string) { return s.counts, s.left }

// Stopped are the times in which PostgreSQL stood still or was away.
func (s *Saboteur) Stopped() []judge.Window { return s.stopped }

func (s *Saboteur) done(name string, n int) {
	s.mu.Lock()
	s.counts[name] += n
	s.mu.Unlock()
}

// while notes when the server was away.
func (s *Saboteur) while(f func() error) error {
	from := time.Now()
	err := f()
	s.mu.Lock()
	s.stopped = append(s.stopped, judge.Window{From: from, To: time.Now()})
	s.mu.Unlock()
	return err
}

func (s *Saboteur) acts(r *rand.Rand) []act {
	w := s.World
	var out []act
	add := func(n int, name string, make func() func(ctx context.Context) error) {
		for range n {
			do := make() // draws now: the seed alone decides
			out = append(out, act{name, func(ctx context.Context) error {
				err := do(ctx)
				if err == nil {
					s.done(name, 1)
				}
				return err
			}})
		}
	}
	between := func(a, b time.Duration) time.Duration { return a + time.Duration(r.Int64N(int64(b-a)+1)) }
	victim := func() *world.Process { return w.Processes[r.IntN(len(w.Processes))] }
	add(s.Plan.KillPostgres, "PostgreSQL killed with its children", func() func(context.Context) error {
		away := between(0, 800*time.Millisecond)
		return func(ctx context.Context) error {
			return s.while(func() error { return w.Postgres.Kill(ctx, away) })
		}
	})
	end := func(n int, name string, sig syscall.Signal, wrong bool) {
		add(n, name, func() func(context.Context) error {
			p, away, shift := victim(), between(0, 600*time.Millisecond), time.Duration(0)
			if wrong {
				shift = 5 * time.Minute
				if r.IntN(2) == 0 {
					shift = -shift
				}
			}
			return func(ctx context.Context) error {
				if err := p.End(sig); err != nil {
					return err
				}
				if err := world.Sleep(ctx, away); err != nil {
					return err
				}
				return p.Start(ctx, shift)
			}
		})
	}
	end(s.Plan.KillProcess, "process killed", syscall.SIGKILL, false)
	end(s.Plan.TermProcess, "process asked to end", syscall.SIGTERM, false)
	if w.NoTime == "" {
		end(s.Plan.WrongClock, "process started with a clock wrong by five minutes", syscall.SIGTERM, true)
	} else if s.Plan.WrongClock > 0 {
		s.left["process started with a clock wrong by five minutes"] = w.NoTime
	}
	add(s.Plan.PausePostgres, "PostgreSQL stopped for a while", func() func(context.Context) error {
		d := between(s.Plan.PauseLeast, s.Plan.PauseMost)
		return func(ctx context.Context) error {
			return s.while(func() error { return w.Postgres.Pause(ctx, d) })
		}
	})
	add(s.Plan.PauseProcess, "process stopped for a while", func() func(context.Context) error {
		p, d := victim(), between(s.Plan.PauseLeast, s.Plan.PauseMost)
		return func(ctx context.Context) error { return p.Pause(ctx, d) }
	})
	add(s.Plan.Cut, "connections cut", func() func(context.Context) error {
		p, d := victim(), between(0, 700*time.Millisecond)
		return func(ctx context.Context) error { return p.Proxy.Cut(ctx, d) }
	})
	add(s.Plan.Delay, "connections delayed", func() func(context.Context) error {
		p, by, d := victim(), between(20*time.Millisecond, 400*time.Millisecond), between(time.Second, 3*time.Second)
		return func(ctx context.Context) error { return p.Proxy.Delay(ctx, by, d) }
	})
	add(s.Plan.LoseCommit, "connections cut at the answer of COMMIT", func() func(context.Context) error {
		p, n := victim(), 1+r.Int64N(8)
		return func(ctx context.Context) error {
			lost, err := p.Proxy.LoseCommits(ctx, n, 10*time.Second)
			s.done("answers of COMMIT lost", int(lost))
			if err == nil && lost == 0 {
				err = fmt.Errorf("no commit came by")
			}
			return err
		}
	})
	add(s.Plan.ExhaustPool, "pool exhausted", func() func(context.Context) error {
		return func(ctx context.Context) error {
			return s.outside(ctx, 2500*time.Millisecond, "lock table org_limits in exclusive mode")
		}
	})
	add(s.Plan.HoldRows, "outside session with rows locked and a transaction left open", func() func(context.Context) error {
		d, n := between(2*time.Second, 5*time.Second), 5+r.IntN(40)
		return func(ctx context.Context) error {
			return s.outside(ctx, d, fmt.Sprintf("select count(*) from (select from machines where status = 'ready' order by lot limit %d for update) x", n))
		}
	})
	if w.Mount == "" && s.Plan.FullDisk > 0 {
		s.left["disk full"] = w.NoDisk
	} else {
		add(s.Plan.FullDisk, "disk full", func() func(context.Context) error {
			d := between(2*time.Second, 4*time.Second)
			return func(ctx context.Context) error {
				return s.while(func() error { return s.fillDisk(ctx, d) })
			}
		})
	}
	return out
}

// outside is somebody else's session that keeps locks for a while and rolls back.
func (s *Saboteur) outside(ctx context.Context, d time.Duration, sql string) error {
	conn, err := s.World.Postgres.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is lost with it
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sql); err != nil {
		return err
	}
	err = world.Sleep(ctx, d)
	_ = tx.Rollback(context.WithoutCancel(ctx))
	return err
}

// fillDisk takes all that is free on PostgreSQL's disk for a while.
func (s *Saboteur) fillDisk(ctx context.Context, d time.Duration) error {
	path := filepath.Join(s.World.Mount, "ballast")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer os.Remove(path) //nolint:errcheck // again below, in time
	var st syscall.Statfs_t
	for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
		if err := syscall.Statfs(s.World.Mount, &st); err != nil {
			return err
		}
		free := int64(st.Bavail) * st.Bsize //nolint:unconvert // its type differs between systems
		if info, err := f.Stat(); err == nil && free > 0 {
			_ = syscall.Fallocate(int(f.Fd()), 0, info.Size(), free)
		}
		_ = world.Sleep(ctx, 20*time.Millisecond)
	}
	_ = f.Close()
	if err := os.Remove(path); err != nil {
		return err
	}
	// The server may have ended by it; it is started again by itself.
	conn, err := s.World.Postgres.Connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
