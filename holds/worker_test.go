package holds_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"ironhold/holds"
	"ironhold/migrations"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
)

// A worker is this test binary once more, as a process of its own that can be killed: it runs the
// jobs of this package until SIGTERM.
const (
	envWorker   = "IRONHOLD_TEST_WORKER"          // the database's address
	envInterval = "IRONHOLD_TEST_WORKER_INTERVAL" // of the sweep
)

func TestMain(m *testing.M) {
	if url := os.Getenv(envWorker); url != "" {
		if err := work(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func work(url string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	interval, err := time.ParseDuration(os.Getenv(envInterval))
	if err != nil {
		return err
	}
	client, err := newClient(ctx, url, fmt.Sprint("process-", os.Getpid()), interval)
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	fmt.Println("started")
	<-ctx.Done()
	end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return client.Stop(end)
}

// newClient is a River client as the application has it, with the jobs of this package alone.
func newClient(ctx context.Context, url, id string, interval time.Duration) (*river.Client[pgx.Tx], error) {
	db, err := pg.Connect(ctx, url, pg.PoolOptions{Name: id, MaxConns: 5, Role: migrations.RoleEngine})
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	workers := river.NewWorkers()
	holds.AddWorkers(workers, holds.New(db, holds.DefaultPolicy()), log)
	return river.NewClient(riverpgxv5.New(db), &river.Config{
		ID: id, Schema: migrations.RiverSchema, Workers: workers, Logger: log,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2}},
		PeriodicJobs:      holds.PeriodicJobs(interval),
		FetchPollInterval: 200 * time.Millisecond,
		ReindexerSchedule: river.NeverSchedule(),
	})
}

// worker is a running process.
type worker struct {
	t   *testing.T
	cmd *exec.Cmd
}

func (b *bench) startWorker(t *testing.T, interval time.Duration) *worker {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envWorker+"="+pgtest.LoginURL(t, b.owner.Config().ConnString()), envInterval+"="+interval.String())
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &worker{t: t, cmd: cmd}
	t.Cleanup(w.kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "started\n" {
		w.kill()
		t.Fatalf("the worker said %q (%v) and %s", line, err, said.String())
	}
	return w
}

func (w *worker) id() string { return fmt.Sprint("process-", w.cmd.Process.Pid) }

// kill is kill -9.
func (w *worker) kill() {
	if w.cmd.ProcessState == nil {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	}
}

// stop is an ordinary stop.
func (w *worker) stop() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("the worker ended with %v", err)
	}
}

// eventually waits until f is true.
func eventually(t testing.TB, wait time.Duration, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(wait); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", wait, what)
		}
	}
}
