package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/allocator"
	"ironhold/cmd/ironhold-bench/bench"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/holds/invariants"
	"ironhold/migrations/pg"
	"ironhold/rollout"
	"ironhold/web"
)

// site is the web server in this process on loopback, with a token for each organisation. Server,
// clients and PostgreSQL share the machine.
type site struct {
	url    string
	tokens []string
	client *http.Client
	server *http.Server
	alloc  *allocator.Allocator
}

func (m *measure) site(ctx context.Context) (*site, error) {
	people, switches := accounts.New(m.pool), rollout.New(m.pool)
	a := allocator.New(m.pool, allocator.Options{Precondition: switches.Precondition(), Concurrency: m.concurrency})
	handler, err := web.New(web.Config{Accounts: people, Rollout: switches, Allocator: a, Holds: holds.New(m.pool, holds.DefaultPolicy()),
		Fleet: fleet.New(m.pool), Invariants: invariants.New(m.pool), DB: m.pool, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := m.fleet.Owner.Exec(ctx, "update rollout_launch set launch = 'on'"); err != nil {
		return nil, err
	}
	s := &site{alloc: a, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10_000}}}
	for _, org := range m.fleet.Orgs {
		token, err := people.AddOrgToken(ctx, pg.By{Actor: "bench"}, org, "bench", accounts.Customer)
		if err != nil {
			return nil, err
		}
		s.tokens = append(s.tokens, token)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + l.Addr().String()
	s.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func (s *site) close(ctx context.Context) {
	s.client.CloseIdleConnections()
	_ = s.server.Close()
	s.alloc.Close(ctx)
}

const orderBody = `{"min_ram_gb":32,"min_cores":8}`

// order sends one order and gives the status.
func (s *site) order(ctx context.Context, token string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/v1/holds", bytes.NewReader([]byte(orderBody)))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Idempotency-Key", uuid.NewString())
	r.Header.Set("Content-Type", "application/json")
	return s.send(r)
}

func (s *site) health(ctx context.Context) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/healthz", nil)
	if err != nil {
		return 0, err
	}
	return s.send(r)
}

func (s *site) send(r *http.Request) (int, error) {
	res, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// load is what so many clients got in a time.
type load struct {
	rate     float64
	took     []time.Duration // sorted
	statuses map[int]int
}

// during lets clients send as fast as they are answered.
func during(clients int, d time.Duration, send func(client int) (int, error)) (load, error) {
	var mu sync.Mutex
	out := load{statuses: map[int]int{}}
	var failed error
	var wg sync.WaitGroup
	began := time.Now()
	for c := range clients {
		wg.Go(func() {
			statuses := map[int]int{}
			var took []time.Duration
			for time.Since(began) < d {
				start := time.Now()
				status, err := send(c)
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
				statuses[status]++
				took = append(took, time.Since(start))
			}
			mu.Lock()
			defer mu.Unlock()
			out.took = append(out.took, took...)
			for k, v := range statuses {
				out.statuses[k] += v
			}
		})
	}
	wg.Wait()
	out.rate = float64(len(out.took)) / time.Since(began).Seconds()
	slices.Sort(out.took)
	return out, failed
}

// soldOut is how many machines the fleet has that is sold out: a look at it is part of each refusal,
// shared by those who ask at the same moment, and it grows with the fleet.
const soldOut = 1000

// noOn is no on a fleet of its own.
func (m *measure) noOn(ctx context.Context, machines int) (*table, bool, error) {
	st, err := m.stage(ctx, "bench_no")
	if err != nil {
		return nil, false, err
	}
	defer st.close()
	own := *m
	own.pool = st.pool
	if own.fleet, err = bench.Fill(ctx, st.owner, machines, m.orgs); err != nil {
		return nil, false, err
	}
	return own.no(ctx)
}

// no compares refusals of a fleet that is sold out with /healthz, the cheapest answer there is.
func (m *measure) no(ctx context.Context) (*table, bool, error) {
	s, err := m.site(ctx)
	if err != nil {
		return nil, false, err
	}
	defer s.close(context.WithoutCancel(ctx))
	if err := m.fleet.SellOut(ctx); err != nil {
		return nil, false, err
	}
	t := &table{title: fmt.Sprintf("The no: sold out, over HTTP, %d machines, %d organisations, 64 clients", m.fleet.Machines, len(m.fleet.Orgs)),
		head: []string{"", "answers/s", "p50 ms", "p99 ms"}}
	var no, health []load
	ok := true
	round := func(send func(int) (int, error)) (load, error) { return during(64, m.round, send) }
	order := func(c int) (int, error) { return s.order(ctx, s.tokens[c%(len(s.tokens)-1)+1]) }
	if _, err := round(order); err != nil { // connections and plans
		return nil, false, err
	}
	for range m.rounds {
		n, err := round(order)
		if err != nil {
			return nil, false, err
		}
		h, err := round(func(int) (int, error) { return s.health(ctx) })
		if err != nil {
			return nil, false, err
		}
		no, health = append(no, n), append(health, h)
		for status := range n.statuses {
			ok = ok && status == http.StatusConflict
		}
	}
	line := func(name string, all []load) float64 {
		var rates, p50, p99 []float64
		for _, l := range all {
			rates = append(rates, l.rate)
			p50 = append(p50, float64(quantile(l.took, .5).Microseconds())/1000)
			p99 = append(p99, float64(quantile(l.took, .99).Microseconds())/1000)
		}
		a, _, _ := bench.Median(p50)
		b, _, _ := bench.Median(p99)
		t.add(name, spreadOf(rates), a, b)
		m, _, _ := bench.Median(rates)
		return m
	}
	a, b := line("refused orders", no), line("/healthz", health)
	t.note("ratio %.0f %%; answers other than 409: %v", a/b*100, !ok)
	m.ratios["no"] = a / b
	return t, ok, nil
}

// rush lets many people at once order the few machines that there are.
func (m *measure) rush(ctx context.Context, people, machines int) (*table, error) {
	s, err := m.site(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close(context.WithoutCancel(ctx))
	if err := m.fleet.SellOut(ctx); err != nil {
		return nil, err
	}
	if err := m.fleet.GiveBack(ctx, machines); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var took []time.Duration
	statuses := map[int]int{}
	gate := make(chan struct{})
	s.client.Transport.(*http.Transport).MaxConnsPerHost = 500 //nolint:forcetypeassert // ours
	var wg sync.WaitGroup
	var began time.Time
	var failed error
	for i := range people {
		wg.Go(func() {
			<-gate
			status, err := s.order(ctx, s.tokens[i%(len(s.tokens)-1)+1])
			mu.Lock()
			defer mu.Unlock()
			failed = cmpErr(failed, err)
			statuses[status]++
			took = append(took, time.Since(began))
		})
	}
	runtime.Gosched()
	began = time.Now()
	close(gate)
	wg.Wait()
	if failed != nil {
		return nil, failed
	}
	slices.Sort(took)
	t := &table{title: fmt.Sprintf("%d people, %d machines, at one instant over HTTP", people, machines),
		head: []string{"answered", "half after s", "99 % after s", "the last after s"}}
	t.add(fmt.Sprint(statuses), quantile(took, .5).Seconds(), quantile(took, .99).Seconds(), took[len(took)-1].Seconds())
	return t, nil
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// http measures orders over HTTP.
func (m *measure) http(ctx context.Context) (*table, bool, error) {
	s, err := m.site(ctx)
	if err != nil {
		return nil, false, err
	}
	defer s.close(context.WithoutCancel(ctx))
	t := &table{title: "Orders over HTTP", head: []string{"clients", "orders/s", "p50 ms", "p99 ms"}}
	ok := true
	for _, clients := range m.clients {
		var rates, p50, p99 []float64
		for range min(m.rounds, 3) {
			if err := m.fleet.Clear(ctx); err != nil {
				return nil, false, err
			}
			l, err := during(clients, m.round, func(c int) (int, error) { return s.order(ctx, s.tokens[c%len(s.tokens)]) })
			if err != nil {
				return nil, false, err
			}
			rates = append(rates, l.rate)
			p50 = append(p50, float64(quantile(l.took, .5).Microseconds())/1000)
			p99 = append(p99, float64(quantile(l.took, .99).Microseconds())/1000)
			ok = ok && len(l.statuses) == 1 && l.statuses[http.StatusCreated] > 0
		}
		a, _, _ := bench.Median(p50)
		b, _, _ := bench.Median(p99)
		t.add(clients, spreadOf(rates), a, b)
	}
	t.note("answers other than 201: %v", !ok)
	return t, ok, nil
}
