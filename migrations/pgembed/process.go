//go:build unix

package pgembed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// process is one child of ours.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of Wait; set before exited closes
}

// spawn starts a child that dies with us where the system can do that. The signal
// comes when the *thread* that started the child ends, so the thread stays with
// this child until it has exited.
func spawn(cmd *exec.Cmd, onDeath syscall.Signal) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		if onDeath != 0 {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			setDeathSignal(cmd.SysProcAttr, onDeath)
		}
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		p.err = cmd.Wait()
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run executes a helper program of the server to its end.
func (l layout) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := l.acct.command(ctx, name, args...)
	cmd.Dir = l.home
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// initdb removes what it made when it is told to end.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	p, err := spawn(cmd, syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	<-p.exited
	if ctx.Err() != nil {
		return out.Bytes(), ctx.Err()
	}
	return out.Bytes(), p.err
}

// maxLog is the size from which a start sets the old log aside.
const maxLog = 16 << 20

// postmaster is a running server process and where its log of this run begins.
type postmaster struct {
	*process
	logPath string
	logFrom int64
}

// launch starts postgres on the data folder. The caller holds the lock.
func (l layout) launch(bin Binaries, settings map[string]string, onDeath syscall.Signal) (*postmaster, error) {
	if info, err := os.Lstat(l.logFile()); err == nil && info.Size() > maxLog {
		_ = os.Rename(l.logFile(), l.logFile()+".1")
	}
	log, err := l.openFile(l.logFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("log of the server: %w", err)
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("log of the server: %w", err)
	}
	args := []string{"-D", l.pgdata()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	// Not bound to a context: only Stop ends the server.
	cmd := l.acct.command(context.Background(), filepath.Join(bin.Dir, "postgres"), args...)
	cmd.Dir = l.home
	cmd.Stdout, cmd.Stderr = log, log
	p, err := spawn(cmd, onDeath)
	if err != nil {
		return nil, l.explain(fmt.Errorf("start postgres: %w", err))
	}
	return &postmaster{process: p, logPath: l.logFile(), logFrom: from}, nil
}

// output is what the server has logged since its launch, the last 64 KiB at most.
func (p *postmaster) output() string {
	f, err := os.Open(p.logPath)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // read only
	from := p.logFrom
	if info, err := f.Stat(); err == nil {
		from = max(from, info.Size()-64<<10)
	}
	b, _ := io.ReadAll(io.NewSectionReader(f, from, 64<<10))
	return string(b)
}

// stop ends the server: first the way that lets it write everything out, then, when
// the context or the patience ends, at once (the next start recovers).
func (p *postmaster) stop(ctx context.Context, patience time.Duration) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-p.exited:
		return
	case <-ctx.Done():
	case <-timer.C:
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	var once sync.Once
	for {
		select {
		case <-p.exited:
			return
		case <-time.After(10 * time.Second):
			once.Do(func() { _ = p.cmd.Process.Kill() })
		}
	}
}
