package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgembed"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// Who is asked to end says that it is not ready first, and serves on meanwhile.
func TestNotReadyComesBeforeTheEnd(t *testing.T) {
	t.Parallel()
	p := newProg(t)
	p.ok("demo")
	token := strings.TrimSpace(p.ok("token", "add", "--name", "t", "--role", "customer", "--org", "meridian"))
	p.extra = []string{"STOP_NOTICE=3s"}
	r := p.serve()
	r.ready()
	began := time.Now()
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	waitFor(t, "not ready", 3*time.Second, func() bool { code, _ := r.get("/readyz"); return code == http.StatusServiceUnavailable })
	code, _ := r.ask(http.MethodGet, "http://"+r.metrics+"/readyz", "", nil)
	if code != http.StatusServiceUnavailable {
		t.Errorf("the worker's readiness answers %d", code)
	}
	if code, body := r.ask(http.MethodPost, "http://"+r.addr+"/api/v1/holds", token, map[string]any{}); code != http.StatusCreated && time.Since(began) < 2*time.Second {
		t.Errorf("an order meanwhile: %d %s", code, body)
	}
	select { // a second signal would end it at once
	case <-r.exited:
	case <-time.After(10*time.Second - time.Since(began)):
		t.Fatal("still running 10 s after SIGTERM")
	}
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// Two processes are replaced one after the other while people order. Whoever spreads the requests asks
// /readyz, as a load balancer does. Each order ends with one hold, and the only answer on the way besides
// that is one that says to come again.
func TestRollingRestartLosesNoOrder(t *testing.T) {
	t.Parallel()
	owner := pgtest.URL(t)
	db := pgtest.Pool(t, owner)
	fixture.Org(t, db, "acme", 100_000, 100_000)
	fixture.Equal(t, db, "m", 400)
	p := &prog{t: t, url: pgtest.LoginURL(t, owner), dir: t.TempDir(), extra: []string{"STOP_NOTICE=300ms"}}
	p.ok("rollout", "set", "--global", "on")
	token := strings.TrimSpace(p.ok("token", "add", "--name", "t", "--role", "customer", "--org", "acme"))
	var mu sync.Mutex
	ready := map[*running]bool{}
	pool := []*running{p.serve("--no-migrate"), p.serve("--no-migrate")}
	for _, r := range pool {
		r.ready()
		ready[r] = true
	}
	var over atomic.Bool
	var wg sync.WaitGroup
	watch := func(r *running) {
		wg.Go(func() {
			for !over.Load() {
				code, _ := r.get("/readyz")
				mu.Lock()
				ready[r] = code == http.StatusOK
				mu.Unlock()
				select {
				case <-r.exited:
					return
				case <-time.After(30 * time.Millisecond):
				}
			}
		})
	}
	watch(pool[0])
	watch(pool[1])
	pick := func(n int) *running {
		mu.Lock()
		defer mu.Unlock()
		for i := range pool {
			if r := pool[(n+i)%len(pool)]; ready[r] {
				return r
			}
		}
		return pool[n%len(pool)]
	}
	var ordered, again, unanswered atomic.Int64
	for worker := range 4 {
		wg.Go(func() {
			for n := 0; !over.Load(); n++ {
				key, done := fmt.Sprintf("rolling-%d-%d", worker, n), false
				for try := 0; try < 200 && !done; try++ {
					r := pick(n + try)
					code, body := r.askWith(http.MethodPost, "http://"+r.addr+"/api/v1/holds", token, map[string]any{}, key)
					switch code {
					case http.StatusCreated, http.StatusOK:
						done = true
					case http.StatusServiceUnavailable:
						again.Add(1)
					case 0:
						unanswered.Add(1) // as retriable as the other: the key is sent again
					default:
						t.Errorf("an order was answered %d %s", code, body)
						done = true
					}
					if !done {
						time.Sleep(20 * time.Millisecond)
					}
				}
				if !done {
					t.Errorf("the order %s was never answered", key)
				}
				ordered.Add(1)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	enough := func(n int64) {
		waitFor(t, "orders", 60*time.Second, func() bool { return ordered.Load() >= n })
	}
	enough(20)
	for i := range pool {
		mu.Lock()
		old := pool[i]
		mu.Unlock()
		old.terminate()
		fresh := p.serve("--no-migrate")
		fresh.ready()
		mu.Lock()
		pool[i], ready[fresh] = fresh, true
		mu.Unlock()
		watch(fresh)
		enough(ordered.Load() + 20)
	}
	over.Store(true)
	wg.Wait()
	holds := fixture.Get[int64](t, db, "select count(*) from holds where idempotency_key like 'rolling-%'")
	if holds != ordered.Load() {
		t.Errorf("%d orders have %d holds", ordered.Load(), holds)
	}
	t.Logf("%d orders, %d answers to come again, %d without an answer", ordered.Load(), again.Load(), unanswered.Load())
	p.ok("doctor")
}

// PostgreSQL goes and comes back: the process stays the same, says so, and serves again with the first
// request that the database can serve.
func TestTheDatabaseGoesAndComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // for the account that runs it
		t.Fatal(err)
	}
	options := pgembed.Options{Dir: filepath.Join(dir, "data")}
	server, err := pgembed.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop(t.Context()) }()
	p := &prog{t: t, url: server.OwnerURL(), dir: dir}
	p.ok("migrate")
	p.ok("demo")
	p.ok("org", "add", "--slug", "large", "--name", "Large", "--max-holds", "50")
	token := strings.TrimSpace(p.ok("token", "add", "--name", "t", "--role", "customer", "--org", "large"))
	r := p.serve()
	r.ready()
	order := func(key string) (int, string) {
		return r.askWith(http.MethodPost, "http://"+r.addr+"/api/v1/holds", token, map[string]any{}, key)
	}
	if code, body := order("before"); code != http.StatusCreated {
		t.Fatalf("%d %s", code, body)
	}
	for round := range 2 {
		if err := server.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "not ready", 10*time.Second, func() bool { code, _ := r.get("/readyz"); return code == http.StatusServiceUnavailable })
		if code, _ := r.get("/healthz"); code != http.StatusOK {
			t.Errorf("not alive without its database: %d", code)
		}
		if code, body := order("meanwhile"); code != http.StatusServiceUnavailable || !strings.Contains(body, "/problems/busy") {
			t.Errorf("an order without the database: %d %s", code, body)
		}
		if code, body := r.page("/order"); code != http.StatusServiceUnavailable || !strings.Contains(body, `data-outcome="busy"`) {
			t.Errorf("a page without the database: %d %.300s", code, body)
		}
		if server, err = pgembed.Start(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		// The server accepts connections: nothing of ours may have to be waited for, beyond connections
		// that broke and are found broken when they are used.
		back := time.Now()
		tries := 0
		waitFor(t, "an order", 10*time.Second, func() bool {
			tries++
			code, _ := order(fmt.Sprintf("after-%d", round))
			return code == http.StatusCreated || code == http.StatusOK
		})
		t.Logf("served again at the %d. try, %s after the server accepted connections", tries, time.Since(back).Round(time.Millisecond))
		r.ready()
		select {
		case <-r.exited:
			t.Fatal("the process ended")
		default:
		}
	}
	conn, err := pg.Dial(t.Context(), server.OwnerURL())
	if err != nil {
		t.Fatal(err)
	}
	var keys string
	if err := conn.QueryRow(t.Context(), "select string_agg(idempotency_key, ' ' order by idempotency_key) from holds where idempotency_key in ('before', 'meanwhile', 'after-0', 'after-1')").Scan(&keys); err != nil && err != pgx.ErrNoRows {
		t.Error(err)
	}
	_ = conn.Close(t.Context())
	if keys != "after-0 after-1 before" {
		t.Errorf("holds of the orders: %s", keys)
	}
	r.terminate()
}

// page asks as somebody who was signed in.
func (r *running) page(path string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.addr+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.AddCookie(&http.Cookie{Name: "session", Value: "a-session-that-only-the-database-can-judge"})
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}
