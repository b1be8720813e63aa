package web

import (
	"fmt"
	"testing"
	"time"

	"ironhold/migrations/pgtest/fixture"
)

// What the headers say is what happens.
func TestThrottleCountsExactly(t *testing.T) {
	t.Parallel()
	th, at := newThrottle(3, time.Minute), time.Unix(0, 0)
	for i, c := range []struct {
		after time.Duration
		left  int
		wait  time.Duration
		ok    bool
	}{
		{0, 2, 60 * time.Second, true}, {10 * time.Second, 1, 50 * time.Second, true}, {0, 0, 50 * time.Second, true},
		{0, 0, 50 * time.Second, false}, {49 * time.Second, 0, time.Second, false}, {time.Second, 0, 10 * time.Second, true},
		{9 * time.Second, 0, time.Second, false}, {time.Second, 1, 50 * time.Second, true}, {time.Hour, 2, time.Minute, true},
	} {
		at = at.Add(c.after)
		if left, wait, ok := th.count("a", at); left != c.left || wait != c.wait || ok != c.ok {
			t.Errorf("step %d: left %d, wait %s, %v; want %+v", i, left, wait, ok, c)
		}
	}
	if len(th.taken) != 1 {
		t.Errorf("%d callers are kept", len(th.taken))
	}
}

func TestRateLimitHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.OrderRate = 2 })
	fixture.Equal(t, s.owner, "A", 6)
	for i, status := range []int{201, 201, 429} {
		a := s.order(customer, "{}").want(status)
		var left, wait int
		if _, err := fmt.Sscanf(a.header.Get("RateLimit"), `"orders";r=%d;t=%d`, &left, &wait); err != nil || left != max(0, 1-i) || wait < 1 || wait > 60 {
			t.Errorf("order %d: RateLimit %q", i, a.header.Get("RateLimit"))
		}
		if a.header.Get("RateLimit-Policy") != `"orders";q=2;w=60` {
			t.Errorf("order %d: policy %q", i, a.header.Get("RateLimit-Policy"))
		}
		if status == 429 && a.header.Get("Retry-After") != fmt.Sprint(wait) {
			t.Errorf("Retry-After %q beside %q", a.header.Get("Retry-After"), a.header.Get("RateLimit"))
		}
	}
}
