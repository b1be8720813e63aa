package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"ironhold/web/request"
)

// newHoldTimes makes the measure of how long each caller keeps a connection: what a connection's
// holder does with it is one transaction nearly always, so this is how long locks can last.
func newHoldTimes(r *prometheus.Registry) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "ironhold_connection_hold_seconds", Help: "How long a connection was kept, by pool and caller.",
		Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .5, 2},
	}, []string{"pool", "caller"})
	r.MustRegister(v)
	return v
}

// holdTracer is told by one pool.
type holdTracer struct {
	times *prometheus.HistogramVec
	locks *prometheus.HistogramVec
	pool  string
}

// heldSince is where a connection keeps what it was taken for.
const heldSince = "ironhold.held"

type taken struct {
	at     time.Time
	caller string
}

type callerKey struct{}

// TraceAcquireStart remembers who asks.
func (*holdTracer) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return context.WithValue(ctx, askedKey{}, callerOf(ctx))
}

type askedKey struct{}

// TraceAcquireEnd begins the measure.
func (*holdTracer) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	if data.Err != nil || data.Conn == nil {
		return
	}
	caller, _ := ctx.Value(askedKey{}).(string)
	data.Conn.PgConn().CustomData()[heldSince] = taken{time.Now(), caller} //nolint:forbidigo // a duration
}

// TraceRelease ends it.
func (t *holdTracer) TraceRelease(_ *pgxpool.Pool, data pgxpool.TraceReleaseData) {
	if data.Conn == nil {
		return
	}
	custom := data.Conn.PgConn().CustomData()
	if v, ok := custom[heldSince].(taken); ok {
		t.times.WithLabelValues(t.pool, v.caller).Observe(time.Since(v.at).Seconds())
		delete(custom, heldSince)
	}
	delete(custom, heldLocks) // of a connection that broke: nobody knows how long
}

// callerOf names who asks for a connection: the route's pattern or the job's kind, so that there
// are as many names as the program has routes and jobs.
func callerOf(ctx context.Context) string {
	if name, ok := ctx.Value(callerKey{}).(string); ok {
		return name
	}
	if info := request.From(ctx); info.Route != "" {
		return info.Method + " " + info.Route
	}
	return "other"
}

// namingJobs lets the connections of a job be told by its kind.
func namingJobs() rivertype.Middleware {
	return river.WorkerMiddlewareFunc(func(ctx context.Context, job *rivertype.JobRow, do func(context.Context) error) error {
		return do(context.WithValue(ctx, callerKey{}, "job "+job.Kind))
	})
}
