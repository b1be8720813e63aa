package main

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// newLockTimes makes the measure of how long each caller keeps a lock that others queue for: from the
// answer of the statement that took it to the answer of what gave it back. One over the mean is how often
// a lock can change hands.
func newLockTimes(r *prometheus.Registry) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "ironhold_lock_hold_seconds", Help: "How long a transaction kept the row of an organisation or of its first machine locked, by lock and caller.",
		Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .5, 2},
	}, []string{"lock", "caller"})
	r.MustRegister(v)
	return v
}

// The locks that are measured, in the order in which they are taken.
const (
	lockOrganisation = iota
	lockMachine
	locks
)

var lockNames = [locks]string{"organisation", "machine"}

// event is what a statement does to the measured locks.
type event int

const (
	noEvent event = iota
	takesOrganisation
	takesMachine
	endsCandidate // a savepoint is given up, and the machine with it
	endsAll
)

// eventOf reads it off the text. Every lock is taken by a statement of its own that says so.
func eventOf(sql string) event {
	switch {
	case sql == "commit" || sql == "rollback":
		return endsAll
	case strings.HasPrefix(sql, "rollback to savepoint"):
		return endsCandidate
	case !strings.Contains(sql, "for no key update"):
		return noEvent
	case strings.Contains(sql, "from org_limits"):
		return takesOrganisation
	case strings.Contains(sql, "from machines"):
		return takesMachine
	}
	return noEvent
}

// heldLocks is where a connection keeps since when it has which lock.
const heldLocks = "ironhold.locks"

type since [locks]time.Time

type eventKey struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (*holdTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if e := eventOf(data.SQL); e != noEvent {
		return context.WithValue(ctx, eventKey{}, e)
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t *holdTracer) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	if e, ok := ctx.Value(eventKey{}).(event); ok {
		t.happened(conn, e, data.CommandTag.RowsAffected(), data.Err)
	}
}

// TraceBatchStart implements pgx.BatchTracer.
func (*holdTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer. The answers of a batch come together: what ran in the same
// round trip after the lock is not counted, part of one round trip.
func (t *holdTracer) TraceBatchQuery(_ context.Context, conn *pgx.Conn, data pgx.TraceBatchQueryData) {
	if e := eventOf(data.SQL); e != noEvent {
		t.happened(conn, e, data.CommandTag.RowsAffected(), data.Err)
	}
}

// TraceBatchEnd implements pgx.BatchTracer.
func (*holdTracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (t *holdTracer) happened(conn *pgx.Conn, e event, rows int64, err error) {
	custom := conn.PgConn().CustomData()
	switch held, _ := custom[heldLocks].(*since); e {
	case takesOrganisation, takesMachine:
		if err != nil || rows == 0 {
			return // not obtained
		}
		if held == nil {
			held = new(since)
			custom[heldLocks] = held
		}
		if i := int(e - takesOrganisation); held[i].IsZero() {
			held[i] = time.Now() //nolint:forbidigo // a duration
		}
	case endsCandidate:
		t.gaveBack(custom, held, lockMachine)
	case endsAll:
		t.gaveBack(custom, held, lockOrganisation)
		delete(custom, heldLocks)
	}
}

// gaveBack observes the locks from the first named on.
func (t *holdTracer) gaveBack(custom map[string]any, held *since, first int) {
	if held == nil {
		return
	}
	v, _ := custom[heldSince].(taken)
	for i := first; i < locks; i++ {
		if !held[i].IsZero() {
			t.locks.WithLabelValues(lockNames[i], v.caller).Observe(time.Since(held[i]).Seconds())
			held[i] = time.Time{}
		}
	}
}
