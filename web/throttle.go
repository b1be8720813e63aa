package web

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"ironhold/web/problem"
)

// throttle takes so many orders of one caller in any window: the times of the last ones are kept, so
// that what the headers promise is exact. One process counts for itself.
type throttle struct {
	limit  int
	window time.Duration

	mu    sync.Mutex
	taken map[string][]time.Time // by caller, oldest first
	swept time.Time
}

func newThrottle(limit int, window time.Duration) *throttle {
	return &throttle{limit: limit, window: window, taken: map[string][]time.Time{}}
}

// take counts an order, or refuses it with the time until the next is taken. Both answers carry the
// policy and what is left, as draft-ietf-httpapi-ratelimit-headers-11 spells them.
func (t *throttle) take(w http.ResponseWriter, caller string) error {
	left, wait, ok := t.count(caller, time.Now()) //nolint:forbidigo // a rate by this process's own clock
	w.Header().Set("RateLimit-Policy", fmt.Sprintf(`"orders";q=%d;w=%d`, t.limit, int(t.window.Seconds())))
	w.Header().Set("RateLimit", fmt.Sprintf(`"orders";r=%d;t=%d`, left, int(math.Ceil(wait.Seconds()))))
	if ok {
		return nil
	}
	p := problem.New(problem.TooManyRequests, "More orders in a minute than are taken from one caller.")
	p.RetryAfter = wait
	return p
}

// count gives how many more would be taken now, and when the next place comes free.
func (t *throttle) count(caller string, now time.Time) (left int, wait time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.swept) > t.window {
		for name, times := range t.taken {
			if now.Sub(times[len(times)-1]) >= t.window {
				delete(t.taken, name)
			}
		}
		t.swept = now
	}
	times := t.taken[caller]
	for len(times) > 0 && now.Sub(times[0]) >= t.window {
		times = times[1:]
	}
	if ok = len(times) < t.limit; ok {
		times = append(times, now)
	}
	t.taken[caller] = times
	return t.limit - len(times), t.window - now.Sub(times[0]), ok
}
