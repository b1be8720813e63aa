//go:build linux

package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Process is one `ironhold serve`, killed and started again on the same address.
type Process struct {
	Name    string
	URL     string
	Metrics string

	Proxy *Proxy
	world *World
	addr  string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	log    *os.File
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Start runs the process and waits until it is ready. wrong shifts its clock, which needs the
// build for it.
func (p *Process) Start(ctx context.Context, wrong time.Duration) error {
	binary := p.world.binary
	env := append(os.Environ(),
		"DATABASE_URL="+p.world.Postgres.LoginURL(p.Proxy.Addr()), "LISTEN_ADDR="+p.addr, "METRICS_ADDR="+p.Metrics, "MIGRATE_DATABASE_URL=",
		"BASE_URL=", "ORDER_RATE=0", "STAFF_SECOND_FACTOR=optional", "LOG_LEVEL=info", "STOP_NOTICE=200ms")
	for name, value := range p.world.Env {
		env = append(env, name+"="+value)
	}
	if wrong != 0 {
		if p.world.wrong == "" {
			return errors.New("there is no build with a wrong clock")
		}
		binary = p.world.wrong
		env = append(env, wrongEnv+"="+strconv.Itoa(int(wrong.Seconds())))
	}
	cmd := exec.Command(binary, "serve", "--no-migrate")
	cmd.Env, cmd.Stderr = env, p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	exited := make(chan struct{})
	started := make(chan error, 1)
	go func() { // its thread lives as long as the process, see Pdeathsig
		lockThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(exited)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("process %s: %w", p.Name, err)
	}
	p.mu.Lock()
	p.cmd, p.exited = cmd, exited
	p.mu.Unlock()
	return p.WaitReady(ctx)
}

// WaitReady waits until it serves and its database answers.
func (p *Process) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	for {
		ask, done := context.WithTimeout(ctx, 3*time.Second)
		req, _ := http.NewRequestWithContext(ask, http.MethodGet, p.URL+"/readyz", nil)
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		done()
		if err == nil && resp.StatusCode == http.StatusOK {
			return nil
		}
		p.mu.Lock()
		exited := p.exited
		p.mu.Unlock()
		select {
		case <-exited:
			return fmt.Errorf("process %s ended while it started, see %s", p.Name, p.log.Name())
		default:
		}
		if Sleep(ctx, 30*time.Millisecond) != nil {
			return fmt.Errorf("process %s is not ready: %w", p.Name, ctx.Err())
		}
	}
}

// End sends the signal and waits for the end; SIGTERM has 12 s for it.
func (p *Process) End(s syscall.Signal) error {
	p.mu.Lock()
	cmd, exited := p.cmd, p.exited
	p.mu.Unlock()
	if cmd == nil {
		return nil
	}
	_ = cmd.Process.Signal(s)
	select {
	case <-exited:
		return nil
	case <-time.After(12 * time.Second):
		_ = cmd.Process.Kill()
		<-exited
		return fmt.Errorf("process %s did not end within 12 s of %s", p.Name, s)
	}
}

// Pause stops the process for a while, its connections open.
func (p *Process) Pause(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	pid := p.cmd.Process.Pid
	p.mu.Unlock()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	err := Sleep(ctx, d)
	return errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
}
