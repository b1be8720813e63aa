package notify_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
)

// envWorker makes this test binary a process that works until SIGTERM; its value is the database's
// address.
const envWorker = "IRONHOLD_TEST_WORKER"

func TestMain(m *testing.M) {
	url := os.Getenv(envWorker)
	if url == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	halt, err := work(ctx, url, fmt.Sprint("process-", os.Getpid()), nil, func() {})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("started")
	<-ctx.Done()
	stop()
	halt()
	os.Exit(0)
}

// start runs a process of its own; kill is kill -9.
func (b *bench) start() (kill func()) {
	b.t.Helper()
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envWorker+"="+pgtest.LoginURL(b.t, b.owner.Config().ConnString()))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	kill = func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	b.t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "started\n" {
		b.t.Fatalf("the process said %q: %v", line, err)
	}
	return kill
}

// A process is killed while receivers have its requests in hand; another one delivers what that one
// had not written down. Nothing is lost, what comes twice has the same id.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const events = 12
	held := make(chan struct{})
	r := newReceiver(t, func(_ http.ResponseWriter, n int) {
		if n > 3 {
			<-held // three are answered, the others are in hand when the process ends
		}
	})
	id, secret := b.endpoint(r.URL)
	r.trust(secret)
	kill := b.start()
	for range events {
		b.hold(b.org)
	}
	eventually(t, "some are in hand", func() bool { return len(r.all()) >= 5 })
	kill()
	close(held)
	// What River would do after a quarter of an hour.
	fixture.Exec(t, b.owner, "update river.river_job set attempted_at = now() - interval '1 day' where state = 'running'")
	b.start()
	eventually(t, "all are delivered", func() bool {
		b.now()
		d := b.deliveries(id)
		for _, one := range d {
			if one.State != notify.Delivered {
				return false
			}
		}
		return len(d) == events
	})
	times := map[string]int{}
	for _, g := range r.all() {
		times[g.ID]++
		if g.Verified != nil || g.Data.Sequence != 1 {
			t.Errorf("%+v", g)
		}
	}
	if len(times) != events {
		t.Errorf("%d of %d messages arrived", len(times), events)
	}
}
