package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations"
	"ironhold/migrations/pg"
)

type health struct {
	Status   string `json:"status"`             // ok, unavailable
	Database string `json:"database,omitempty"` // ok, unreachable
	Schema   string `json:"schema,omitempty"`   // ok, outdated, unknown
}

// health says that the process answers, nothing else.
func (a *API) health(w http.ResponseWriter, _ *http.Request) error {
	return write(w, http.StatusOK, health{Status: "ok"})
}

// readyz says whether orders can be served: the database is reachable and its schema is current.
func (a *API) readyz(w http.ResponseWriter, r *http.Request) error {
	h := a.ready.state(r.Context(), func(ctx context.Context) health {
		current := false
		err := pg.Engine(ctx, a.DB, pg.By{}, func(tx pgx.Tx) (err error) {
			current, err = migrations.Current(ctx, tx)
			return err
		})
		switch {
		case err != nil && pg.Busy(err):
			return health{Status: "unavailable", Database: "unreachable", Schema: "unknown"}
		case err != nil || !current:
			return health{Status: "unavailable", Database: "ok", Schema: "outdated"}
		}
		return health{Status: "ok", Database: "ok", Schema: "ok"}
	})
	if h.Status != "ok" {
		w.Header().Set("Retry-After", "1")
		return write(w, http.StatusServiceUnavailable, h)
	}
	return write(w, http.StatusOK, h)
}

const (
	readyWait = 2 * time.Second
	// readyFor is how long one look counts: strangers may ask as often as they like, the database
	// is asked a few times a second.
	readyFor = 250 * time.Millisecond
)

// readiness shares one look at the database among those who ask at the same time.
type readiness struct {
	mu   sync.Mutex
	at   time.Time
	last health
}

func (c *readiness) state(ctx context.Context, look func(context.Context) health) health {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < readyFor {
		return c.last
	}
	// The look is for everybody who waits, not for the one who asked first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWait)
	defer cancel()
	c.last, c.at = look(ctx), time.Now() //nolint:forbidigo // the age of a look
	return c.last
}
