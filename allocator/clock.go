package allocator

import (
	"sync"
	"time"
)

// serverClock tells the database's time at an instant of this process's monotonic clock. Each
// reading of the server's clock happened between the sending of the question and the reading of
// the answer; what is common to the recent readings is much narrower than either.
//
// It gives the latest time that is possible: a hold whose order was answered before an instant
// never seems to have begun after it.
type serverClock struct {
	mu       sync.Mutex
	start    time.Time // of this process's monotonic clock
	low, top time.Time // between which the server's clock was at start
	at       time.Time // of the last reading
}

// drift is how much the two clocks may move against each other: 100 microseconds a second, several
// times what clocks that are kept in step do.
const drift = 10_000

// read takes a reading: the server's clock was now at some instant between sent and read.
func (c *serverClock) read(now, sent, read time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start.IsZero() {
		c.start, c.at = sent, read
	}
	low, top := now.Add(-read.Sub(c.start)), now.Add(-sent.Sub(c.start))
	if age := read.Sub(c.at); age > 0 {
		c.low, c.top, c.at = c.low.Add(-age/drift), c.top.Add(age/drift), read
	}
	if low.After(c.low) {
		c.low = low
	}
	if c.top.IsZero() || top.Before(c.top) {
		c.top = top
	}
	if c.top.Before(c.low) { // one of the clocks was set
		c.low, c.top = low, top
	}
}

// when is the server's time at an instant of this process's clock. There has been a reading.
func (c *serverClock) when(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.top.Add(t.Sub(c.start))
}
