package main

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/web/request"
)

// Locks are told by who kept them: through the real steps, so that a step whose statement is not
// recognised any more is noticed.
func TestLocksAreToldByCaller(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	org := fixture.Org(t, owner, "acme", 9, 9)
	fixture.Equal(t, owner, "m", 3)
	registry := prometheus.NewRegistry()
	db, err := pg.Connect(t.Context(), pgtest.LoginURL(t, owner.Config().ConnString()),
		pg.PoolOptions{Tracer: &holdTracer{times: newHoldTimes(registry), locks: newLockTimes(registry), pool: "interactive"}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	as := func(route string) *request.Info { return &request.Info{Method: "POST", Route: route} }
	by := pg.By{Actor: "test"}
	orders := allocator.New(db, allocator.Options{Policy: holds.DefaultPolicy()})
	defer orders.Close(t.Context())
	order := func(key string) holds.Hold {
		t.Helper()
		r, err := orders.Order(request.With(t.Context(), as("/order")), allocator.Order{OrgID: org, Key: key, By: by})
		if err != nil || r.Hold == nil {
			t.Fatalf("%v: %+v", err, r)
		}
		return *r.Hold
	}
	book := holds.New(db, holds.DefaultPolicy())
	a, b := order("a"), order("b")
	if _, err := book.Extend(request.With(t.Context(), as("/extend")), by, holds.Scope{}, a.ID, "extend-a"); err != nil {
		t.Fatal(err)
	}
	s, _, err := book.Convert(request.With(t.Context(), as("/convert")), by, holds.Scope{}, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := book.EndService(request.With(t.Context(), as("/end")), by, holds.Scope{}, s.ID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := book.Cancel(request.With(t.Context(), as("/cancel")), by, holds.Scope{}, b.ID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.New(db).SetStatus(request.With(t.Context(), as("/status")), by, "m-3", fleet.Maintenance, "a test"); err != nil {
		t.Fatal(err)
	}
	given := errors.New("given up")
	err = pg.Engine(request.With(t.Context(), as("/rolled-back")), db, by, func(tx pgx.Tx) error {
		return errors.Join(holds.LockOrg(t.Context(), tx, org), given)
	})
	if !errors.Is(err, given) {
		t.Fatal(err)
	}

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "ironhold_lock_hold_seconds" { // labels come sorted: caller, lock
				got[m.GetLabel()[1].GetValue()+" "+m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
			}
		}
	}
	for what, n := range map[string]uint64{
		"organisation POST /order": 2, "machine POST /order": 2, "organisation POST /extend": 1,
		"organisation POST /convert": 1, "machine POST /convert": 1, "organisation POST /end": 1, "machine POST /end": 1,
		"organisation POST /cancel": 1, "machine POST /cancel": 1, "machine POST /status": 1, "organisation POST /rolled-back": 1,
	} {
		if got[what] != n {
			t.Errorf("%s: %d times, want %d (all: %v)", what, got[what], n, got)
		}
	}
}
