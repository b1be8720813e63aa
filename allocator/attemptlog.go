package allocator

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// attemptRow is one row of allocation_attempts. Rows of orders that got a hold are written in the
// claim; all others, most of the traffic, go through attemptLog.
type attemptRow struct {
	ID         uuid.UUID
	At         time.Time
	OrgID      uuid.UUID
	Actor      string
	RequestID  string
	Key        string
	Outcome    Outcome
	Request    []byte
	Survey     *Survey
	Walk       []Step
	Skipped    int
	Lost       int
	Changed    int
	Detail     map[string]string
	ArrivedAt  time.Time
	TookMicros int64
	HoldID     *uuid.UUID
}

var attemptColumns = []string{"id", "at", "org_id", "actor", "request_id", "idempotency_key", "outcome", "request",
	"considered", "eligible", "reasons", "near_misses", "walk", "walked", "skipped", "lost", "changed", "detail",
	"arrived_at", "took_us", "hold_id"}

func (r *attemptRow) values() []any {
	s := r.Survey
	if s == nil {
		s = &Survey{}
	}
	var arrived *time.Time
	if !r.ArrivedAt.IsZero() {
		arrived = &r.ArrivedAt
	}
	var request *string
	if r.RequestID != "" {
		request = &r.RequestID
	}
	detail := r.Detail
	if detail == nil {
		detail = map[string]string{}
	}
	return []any{r.ID, r.At, r.OrgID, r.Actor, request, r.Key, string(r.Outcome), r.Request,
		s.Considered, s.Eligible, list(s.Reasons), list(s.NearMisses), list(r.Walk), len(r.Walk), r.Skipped, r.Lost, r.Changed,
		toJSON(detail), arrived, r.TookMicros, r.HoldID}
}

// list is the JSON of a slice, "[]" for none.
func list[T any](s []T) []byte {
	if len(s) == 0 {
		return []byte("[]")
	}
	return toJSON(s)
}

// toJSON is for values that always encode.
func toJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}

const (
	logEvery = 200 * time.Millisecond // a record is readable within a second of the answer
	logBatch = 200
	logMax   = 20_000 // beyond it the oldest are dropped: a log must not eat the process
)

// attemptLog writes attempts in batches outside the answer's path. A kill loses what came within
// the last logEvery; Close writes the rest.
type attemptLog struct {
	db     pg.DB
	logger *slog.Logger

	mu      sync.Mutex
	rows    []attemptRow
	dropped int

	wake   chan struct{}
	closed chan struct{}
	done   chan struct{}
}

func newAttemptLog(db pg.DB, logger *slog.Logger) *attemptLog {
	l := &attemptLog{db: db, logger: logger, wake: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{})}
	if _, ok := db.(pgx.Tx); ok { // a test's transaction has one user at a time
		l.done = nil
		return l
	}
	go l.run()
	return l
}

func (l *attemptLog) add(ctx context.Context, r attemptRow) {
	l.mu.Lock()
	if len(l.rows) >= logMax {
		l.rows = l.rows[1:]
		l.dropped++
	}
	l.rows = append(l.rows, r)
	n := len(l.rows)
	l.mu.Unlock()
	if l.done == nil {
		l.flush(ctx)
		return
	}
	if n >= logBatch {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

func (l *attemptLog) run() {
	defer close(l.done)
	tick := time.NewTicker(logEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.wake:
		case <-l.closed:
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		l.flush(ctx)
		cancel()
	}
}

// flush writes what is there; rows that could not be written stay for the next time.
func (l *attemptLog) flush(ctx context.Context) {
	l.mu.Lock()
	rows, dropped := l.rows, l.dropped
	l.rows, l.dropped = nil, 0
	l.mu.Unlock()
	if dropped > 0 {
		l.logger.ErrorContext(ctx, "attempts were dropped: the database could not take them", "count", dropped)
	}
	for len(rows) > 0 {
		n := min(len(rows), 1000)
		err := pg.Engine(ctx, l.db, pg.By{}, func(tx pgx.Tx) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"allocation_attempts"}, attemptColumns,
				pgx.CopyFromSlice(n, func(i int) ([]any, error) { return rows[i].values(), nil }))
			return err
		})
		if err != nil {
			l.logger.WarnContext(ctx, "attempts not written yet", "count", len(rows), "error", err.Error())
			if pg.Busy(err) {
				l.mu.Lock()
				l.rows = append(rows, l.rows...)
				l.mu.Unlock()
			}
			return
		}
		rows = rows[n:]
	}
}

// Close writes the attempts that are waiting and stops. The Allocator is not used afterwards.
func (a *Allocator) Close(ctx context.Context) {
	l := a.log
	if l.done != nil {
		close(l.closed)
		<-l.done
	}
	l.flush(ctx)
}
