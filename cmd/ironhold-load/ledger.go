package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// ledger is what was acknowledged.
type ledger struct {
	mu       sync.Mutex
	holds    map[string]*entry // by id
	keys     map[string]string // to ids
	took     []time.Duration   // of orders that were answered at the first try
	statuses map[int]int       // of refusals
	silent   int               // requests without an answer
	away     int               // answers 503, 429
	broken   int               // answers 5xx that are no 503
	twice    int               // keys with two holds
	lastAck  time.Time
	gap      time.Duration // the longest time without an acknowledged order
}

type entry struct {
	token     string
	cancelled bool
}

func newLedger() *ledger {
	return &ledger{holds: map[string]*entry{}, keys: map[string]string{}, statuses: map[int]int{}, lastAck: time.Now()}
}

func (l *ledger) locked(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *ledger) held(key, id, token string) {
	l.locked(func() {
		if other, ok := l.keys[key]; ok && other != id {
			l.twice++
		}
		l.keys[key], l.holds[id] = id, &entry{token: token}
		l.gap, l.lastAck = max(l.gap, time.Since(l.lastAck)), time.Now()
	})
}

func (l *ledger) cancelled(id string) { l.locked(func() { l.holds[id].cancelled = true }) }
func (l *ledger) refused(status int)  { l.locked(func() { l.statuses[status]++ }) }
func (l *ledger) unanswered()         { l.locked(func() { l.silent++ }) }
func (l *ledger) unavailable()        { l.locked(func() { l.away++ }) }

func (l *ledger) answered(path string, status int, took time.Duration, try int) {
	l.locked(func() {
		if status >= http.StatusInternalServerError {
			l.broken++
		}
		if try == 0 && path == "/api/v1/holds" && status == http.StatusCreated {
			l.took = append(l.took, took)
		}
	})
}

func (l *ledger) summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.took)
	at := func(q float64) time.Duration {
		if len(l.took) == 0 {
			return 0
		}
		return l.took[int(q*float64(len(l.took)-1))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("acknowledged %d orders; median %s, 99 %% %s; longest time without one %s; %d requests unanswered, %d answers 503, refusals %v",
		len(l.holds), at(.5), at(.99), l.gap.Round(time.Millisecond), l.silent, l.away, l.statuses)
}

// compare reads back what is there.
func (l *ledger) compare(ctx context.Context, people []*person) error {
	there := map[string]string{}
	seen := map[string]bool{}
	for _, p := range people {
		if seen[p.token] {
			continue
		}
		seen[p.token] = true
		if err := p.holds(ctx, func(h hold) { there[h.ID] = h.State }); err != nil {
			return err
		}
	}
	lost, undone := 0, 0
	for id, e := range l.holds {
		state, ok := there[id]
		switch {
		case !ok:
			lost++
		case e.cancelled && state != "cancelled":
			undone++
		}
	}
	fmt.Printf("lost %d holds, %d cancellations; %d keys with two holds; %d answers 5xx but 503\n", lost, undone, l.twice, l.broken)
	if lost+undone+l.twice+l.broken > 0 || len(l.holds) == 0 {
		return fmt.Errorf("%d acknowledged, not all of it is there, or an answer was wrong", len(l.holds))
	}
	return nil
}
