package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

const (
	channel = "ironhold_changes"
	// between bounds how often one process notifies.
	between = 200 * time.Millisecond
	// lookEvery is how soon a change shows of which no notification came.
	lookEvery = 5 * time.Second
	retryMax  = 5 * time.Second
)

// Hub listens once per process and tells all subscribers. Run it; the zero value is no hub.
type Hub struct {
	db     pg.DB
	url    string // a direct address: LISTEN does not work through a transaction pooler
	logger *slog.Logger

	touched chan struct{}
	done    chan struct{}
	live    atomic.Bool
	count   atomic.Int64

	mu   sync.Mutex
	subs map[chan struct{}]struct{}
	last signature
}

// New makes a hub that notifies and looks through db and listens at url. Without url it only
// notifies: for a process that shows no pages.
func New(db pg.DB, url string, logger *slog.Logger) *Hub {
	return &Hub{
		db: db, url: url, logger: logger, touched: make(chan struct{}, 1), done: make(chan struct{}),
		subs: map[chan struct{}]struct{}{},
	}
}

// Done is closed when Run's context has ended: whoever waits for changes waits in vain.
func (h *Hub) Done() <-chan struct{} { return h.done }

// Touch says that something was committed that pages may show. It never blocks.
func (h *Hub) Touch() {
	select {
	case h.touched <- struct{}{}:
	default: // one is on its way
	}
}

// Live reports whether changes arrive at once; otherwise they show within lookEvery.
func (h *Hub) Live() bool { return h.live.Load() }

// Subscribers is how many pages listen.
func (h *Hub) Subscribers() int64 { return h.count.Load() }

// Subscribe returns a channel that gets a value after each change; several changes may be one
// value. cancel ends it.
func (h *Hub) Subscribe() (changes <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	h.subs[c] = struct{}{}
	h.mu.Unlock()
	h.count.Add(1)
	return c, sync.OnceFunc(func() {
		h.mu.Lock()
		delete(h.subs, c)
		h.mu.Unlock()
		h.count.Add(-1)
	})
}

func (h *Hub) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.subs {
		select {
		case c <- struct{}{}:
		default: // it has not taken the last one yet
		}
	}
}

// Run listens, notifies and looks until ctx ends. It is called once.
func (h *Hub) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { <-ctx.Done(); close(h.done) })
	wg.Go(func() { h.notify(ctx) })
	if h.url != "" {
		wg.Go(func() { h.listen(ctx) })
		wg.Go(func() { h.look(ctx) })
	}
	wg.Wait()
}

// notify passes touches on, spaced out: the first at once, the rest of a burst as one.
func (h *Hub) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.touched:
		}
		err := pg.Engine(ctx, h.db, pg.By{}, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "select pg_notify($1, '')", channel)
			return err
		})
		if err != nil && ctx.Err() == nil {
			h.logger.DebugContext(ctx, "change not announced", "error", err.Error())
			h.tell() // at least to those who are here
		}
		sleep(ctx, between)
	}
}

func (h *Hub) listen(ctx context.Context) {
	wait := 100 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		err := h.listenOnce(ctx)
		if h.live.Swap(false) && ctx.Err() == nil {
			h.logger.WarnContext(ctx, "live updates are cut, pages look every 5 s", "error", fmt.Sprint(err))
			h.tell() // so that pages can say so
		}
		if time.Since(began) > time.Minute {
			wait = 100 * time.Millisecond
		}
		sleep(ctx, wait)
		wait = min(2*wait, retryMax)
	}
}

func (h *Hub) listenOnce(ctx context.Context) error {
	dial, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pg.Dial(dial, h.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it is given up
	if _, err := conn.Exec(dial, "listen "+channel); err != nil {
		return err
	}
	h.live.Store(true)
	h.tell() // what happened before the LISTEN was not heard
	for {
		// A connection that died without a word is found by asking now and then.
		wait, cancel := context.WithTimeout(ctx, 30*time.Second)
		_, err := conn.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil:
			h.tell()
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			ping, cancel := context.WithTimeout(ctx, 5*time.Second)
			err := conn.Ping(ping)
			cancel()
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// signature changes whenever what pages show has changed, by whatever program.
type signature struct {
	Live   int64 // a deadline that passes writes nothing
	Writes int64
}

func (h *Hub) look(ctx context.Context) {
	for sleep(ctx, lookEvery) {
		if h.Subscribers() == 0 {
			continue
		}
		now, err := h.signature(ctx)
		if err != nil {
			if ctx.Err() == nil {
				h.logger.WarnContext(ctx, "open pages cannot be told of changes", "error", err.Error())
			}
			continue
		}
		h.mu.Lock()
		changed := now != h.last
		h.last = now
		h.mu.Unlock()
		if changed {
			h.tell()
		}
	}
}

// signature asks the server's own counters, which cost the same however large the tables are. They
// also count what was rolled back: one look too many.
func (h *Hub) signature(ctx context.Context) (signature, error) {
	var s signature
	err := pg.Engine(ctx, h.db, pg.By{}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
select (select count(*) from holds where state || '' = 'held' and expires_at > (select clock_timestamp())),
       (select sum(pg_stat_get_tuples_inserted(t) + pg_stat_get_tuples_updated(t) + pg_stat_get_tuples_deleted(t))::bigint
          from unnest(array['holds', 'services', 'machines', 'waiting_list', 'rollout_launch', 'org_limits']::regclass[]) t)`).
			Scan(&s.Live, &s.Writes)
	})
	return s, err
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
