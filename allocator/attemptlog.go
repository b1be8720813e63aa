package allocator

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
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
	logBatch = 200                    // rows that are written without waiting for logEvery
	logMax   = 20_000                 // beyond it the oldest are dropped: a log must not eat the process
	logWrite = 1000                   // rows of one transaction
)

// attemptLog writes attempts in batches outside the answer's path. A kill loses what came within
// the last logEvery; Close writes the rest. While the database is away the last logMax wait.
type attemptLog struct {
	db     pg.DB
	logger *slog.Logger

	mu      sync.Mutex
	rows    []attemptRow
	dropped int
	away    bool // the last write failed
	doubt   bool // some of rows may have been written: the answer to their commit was lost

	wake   chan struct{}
	closed chan struct{}
	done   chan struct{} // nil when add writes by itself
	once   sync.Once
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
	l.rows = append(l.rows, r)
	l.bound()
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

// bound drops the oldest rows beyond logMax, with mu held. A tenth goes at once, so that a full
// log is not copied for every row.
func (l *attemptLog) bound() {
	if len(l.rows) <= logMax {
		return
	}
	n := len(l.rows) - logMax*9/10
	l.dropped += n
	l.rows = append(make([]attemptRow, 0, logMax+1), l.rows[n:]...)
}

func (l *attemptLog) run() {
	defer close(l.done)
	tick := time.NewTicker(logEvery)
	defer tick.Stop()
	wake := l.wake
	for {
		select {
		case <-tick.C:
		case <-wake:
		case <-l.closed:
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		written := l.flush(ctx)
		cancel()
		// A database that is away is asked by the clock alone, however much there is to write.
		if wake = l.wake; !written {
			wake = nil
		}
	}
}

// flush writes what is there; rows that could not be written stay for the next time. It reports
// whether nothing had to stay.
func (l *attemptLog) flush(ctx context.Context) bool {
	l.mu.Lock()
	rows, doubt := l.rows, l.doubt
	l.rows = nil
	l.mu.Unlock()
	if doubt && len(rows) > 0 {
		var err error
		if rows, err = l.unwritten(ctx, rows); err != nil {
			l.keep(ctx, rows, err, true)
			return false
		}
	}
	for len(rows) > 0 {
		n := min(len(rows), logWrite)
		left, err := l.write(ctx, rows[:n])
		if err != nil {
			_, unknown := errors.AsType[*pg.CommitUnknown](err)
			l.keep(ctx, append(slices.Clip(left), rows[n:]...), err, unknown)
			return false
		}
		rows = rows[n:]
	}
	l.mu.Lock()
	back, dropped := l.away, l.dropped
	l.away, l.doubt, l.dropped = false, false, 0
	l.mu.Unlock()
	if back {
		l.logger.InfoContext(ctx, "attempts are being written again", "dropped", dropped)
	}
	return true
}

// write writes rows and returns those that it did not. One that the server refuses for what is in
// it is told to the process's log and counts as written.
func (l *attemptLog) write(ctx context.Context, rows []attemptRow) (left []attemptRow, err error) {
	err = pg.Engine(ctx, l.db, pg.By{}, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"allocation_attempts"}, attemptColumns,
			pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) { return rows[i].values(), nil }))
		return err
	})
	switch {
	case err == nil:
		return nil, nil
	case !badRow(err):
		return rows, err
	case len(rows) == 1:
		l.logger.ErrorContext(ctx, "an attempt cannot be written", "attempt", rows[0].ID, "outcome", string(rows[0].Outcome),
			"error", err.Error())
		return nil, nil
	}
	half := len(rows) / 2
	if left, err = l.write(ctx, rows[:half]); err != nil {
		return append(slices.Clip(left), rows[half:]...), err
	}
	return l.write(ctx, rows[half:])
}

// unwritten leaves out the rows that are in the table already.
func (l *attemptLog) unwritten(ctx context.Context, rows []attemptRow) ([]attemptRow, error) {
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	there := map[uuid.UUID]bool{}
	err := pg.Engine(ctx, l.db, pg.By{}, func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, "select id from allocation_attempts where id = any($1)", ids)
		if err != nil {
			return err
		}
		var id uuid.UUID
		_, err = pgx.ForEachRow(found, []any{&id}, func() error {
			there[id] = true
			return nil
		})
		return err
	})
	if err != nil {
		return rows, err
	}
	return slices.DeleteFunc(rows, func(r attemptRow) bool { return there[r.ID] }), nil
}

// badRow reports whether the server refused what a row says: data exceptions and violations.
func badRow(err error) bool {
	code := pg.Code(err)
	return strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23")
}

// keep puts rows back before those that came meanwhile.
func (l *attemptLog) keep(ctx context.Context, rows []attemptRow, cause error, doubt bool) {
	l.mu.Lock()
	l.rows = append(slices.Clip(rows), l.rows...)
	l.bound()
	waiting, first := len(l.rows), !l.away
	l.away, l.doubt = true, l.doubt || doubt
	l.mu.Unlock()
	if first { // once, not with every look
		l.logger.WarnContext(ctx, "attempts are not written for now", "waiting", waiting, "error", cause.Error())
	}
}

// Close writes the attempts that are waiting and stops; ctx bounds it. The Allocator is not used
// afterwards.
func (a *Allocator) Close(ctx context.Context) {
	l := a.log
	l.once.Do(func() { close(l.closed) })
	if l.done != nil {
		select {
		case <-l.done:
		case <-ctx.Done():
			return
		}
	}
	l.flush(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.rows); n > 0 {
		l.logger.ErrorContext(ctx, "attempts are lost", "count", n)
	}
}
