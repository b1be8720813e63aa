package vitals

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ironhold/migrations/pg"
)

// Interval is how often the server is asked.
const Interval = 15 * time.Second

// kept is how many readings are remembered: an hour of them.
const kept = int(time.Hour / Interval)

// Keeper reads again and again and remembers. It is safe for concurrent use.
type Keeper struct {
	db  pg.DB
	log *slog.Logger

	mu       sync.Mutex
	readings []Reading // oldest first
	failed   bool      // the last try
}

// NewKeeper makes a keeper that has read nothing yet.
func NewKeeper(db pg.DB, log *slog.Logger) *Keeper { return &Keeper{db: db, log: log} }

// Run reads at once and then every Interval until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		k.Refresh(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Refresh reads once. A server that is away leaves what is remembered as it is.
func (k *Keeper) Refresh(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, Interval/2)
	defer cancel()
	r, err := Read(asking, k.db)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		if !k.failed && ctx.Err() == nil { // once, not every time
			k.log.WarnContext(ctx, "the state of the server cannot be read for now", "error", err.Error())
		}
		k.failed = true
		return
	}
	k.failed = false
	if len(k.readings) == kept {
		k.readings = append(k.readings[:0], k.readings[1:]...)
	}
	k.readings = append(k.readings, r)
}

// Last is the newest reading; ok is false before the first one and while the server does not
// answer, so that an alarm on absence works.
func (k *Keeper) Last() (r Reading, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.readings) == 0 || k.failed {
		return Reading{}, false
	}
	return k.readings[len(k.readings)-1], true
}

// Readings are those of the last hour, oldest first.
func (k *Keeper) Readings() []Reading {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]Reading(nil), k.readings...)
}
