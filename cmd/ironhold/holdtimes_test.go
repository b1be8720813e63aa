package main

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/web/request"
)

// Connections are told by who took them: a request by its route, a job by its kind.
func TestConnectionsAreToldByCaller(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	times := newHoldTimes(registry)
	db, err := pg.Connect(t.Context(), pgtest.URL(t), pg.PoolOptions{Tracer: &holdTracer{times: times, pool: "interactive"}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	asked := request.With(t.Context(), &request.Info{Method: "POST", Route: "/api/v1/holds"})
	for _, ctx := range []context.Context{t.Context(), asked, asked, context.WithValue(t.Context(), callerKey{}, "job sweep")} {
		if err := pg.Engine(ctx, db, pg.By{}, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, "select"); return err }); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
		}
	}
	for caller, n := range map[string]uint64{"other": 1, "POST /api/v1/holds": 2, "job sweep": 1} {
		if got[caller] != n {
			t.Errorf("%s: %d times, want %d (all: %v)", caller, got[caller], n, got)
		}
	}
}
