package desk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/allocator"
	"ironhold/desk"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

var by = pg.By{Actor: "user:sam", RequestID: "r-1"}

type scene struct {
	owner     *pgxpool.Pool
	app       *pgxpool.Pool
	desk      *desk.Desk
	allocator *allocator.Allocator
	org       uuid.UUID
}

func setup(t *testing.T) scene {
	t.Helper()
	owner := pgtest.DB(t)
	app := fixture.App(t, owner, 4)
	a := allocator.New(app, allocator.Options{})
	t.Cleanup(func() { a.Close(t.Context()) })
	s := scene{owner: owner, app: app, desk: desk.New(app, a), allocator: a, org: fixture.Org(t, owner, "acme", 5, 50)}
	fixture.Add(t, owner, fixture.Machine{Tag: "A-1"})
	return s
}

func (s scene) order(t *testing.T, r allocator.Request) allocator.Result {
	t.Helper()
	res, err := s.allocator.Order(t.Context(), allocator.Order{OrgID: s.org, By: by, Key: uuid.NewString(), Request: r})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// written waits until so many attempts are on record.
func (s scene) written(t *testing.T, n int) {
	t.Helper()
	for range 100 {
		if fixture.Get[int](t, s.owner, "select count(*)::int from allocation_attempts") >= n {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the attempts are not written")
}

func TestPurchaseRequests(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ctx := t.Context()
	site := fixture.Get[string](t, s.owner, "select site_code from machines limit 1")
	big := allocator.Request{MinRAMGB: 2048}
	first := s.order(t, big)
	s.order(t, allocator.Request{MinRAMGB: 1024, Sites: []string{site}})
	s.order(t, allocator.Request{MinRAMGB: 4096})
	s.written(t, 3)
	id, err := s.desk.AddPurchase(ctx, by, site, big, &first.AttemptID, "asked for on the phone")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.desk.AddPurchase(ctx, by, site, big, nil, ""); err != nil || again != id {
		t.Errorf("asked twice: %v, %v", again, err)
	}
	list, _, err := s.desk.Purchases(ctx, desk.Open, uuid.Nil)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d, %v", len(list), err)
	}
	if p := list[0]; p.Orders != 2 || p.CreatedBy != by.Actor || p.Note == "" || p.Request.MinRAMGB != 2048 || *p.AttemptID != first.AttemptID {
		t.Errorf("%+v", p)
	}
	var invalid *desk.Invalid
	var missing *desk.NotFound
	if _, err := s.desk.AddPurchase(ctx, by, "NOWHERE", big, nil, ""); !errors.As(err, &invalid) {
		t.Errorf("an unknown site: %v", err)
	}
	if _, err := s.desk.AddPurchase(ctx, by, site, allocator.Request{Machine: "A-1"}, nil, ""); !errors.As(err, &invalid) {
		t.Errorf("a certain machine: %v", err)
	}
	if err := s.desk.SetPurchase(ctx, by, id, "bought", "x"); !errors.As(err, &invalid) {
		t.Errorf("an unknown state: %v", err)
	}
	if err := s.desk.SetPurchase(ctx, by, id, desk.Ordered, " "); !errors.As(err, &invalid) {
		t.Errorf("without a reason: %v", err)
	}
	if err := s.desk.SetPurchase(ctx, by, uuid.New(), desk.Ordered, "x"); !errors.As(err, &missing) {
		t.Errorf("unknown: %v", err)
	}
	if err := s.desk.SetPurchase(ctx, by, id, desk.Ordered, "PO 4711"); err != nil {
		t.Fatal(err)
	}
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from purchase_request_events where purchase_id = $1", id); n != 2 {
		t.Errorf("%d entries in the history", n)
	}
	other, err := s.desk.AddPurchase(ctx, by, site, big, nil, "once more")
	if err != nil || other == id {
		t.Errorf("after it was ordered: %v, %v", other, err)
	}
	if err := s.desk.SetPurchase(ctx, by, id, desk.Open, "no"); !errors.As(err, &invalid) {
		t.Errorf("open twice: %v", err)
	}

	r, err := s.desk.Demand(ctx)
	if err != nil || r.Orders != 3 || len(r.Requests) != 3 || len(r.Sites) != 2 || len(r.Constraints) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	if a, b := r.Sites[0], r.Sites[1]; a.Value != "" || a.Orders != 2 || b.Value != site || b.Orders != 1 {
		t.Errorf("sites: %+v", r.Sites)
	}
}

// All purchase requests can be reached, the newest first, each once.
func TestPurchaseRequestsInPages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	fixture.Exec(t, s.owner, `insert into purchase_requests (site_code, request, created_by, changed_by)
		select (select min(site_code) from machines), jsonb_build_object('min_ram_gb', 1000 + i), 'x', 'x' from generate_series(1, 55) i`)
	seen, after := map[uuid.UUID]bool{}, uuid.Nil
	for pages := 1; ; pages++ {
		list, more, err := s.desk.Purchases(t.Context(), desk.Open, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if seen[p.ID] {
				t.Errorf("%s twice", p.ID)
			}
			seen[p.ID] = true
		}
		if !more {
			if pages != 3 || len(seen) != 55 {
				t.Errorf("%d on %d pages", len(seen), pages)
			}
			return
		}
		after = list[len(list)-1].ID
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ctx := t.Context()
	hold := s.order(t, allocator.Request{}).Hold.ID
	for _, c := range []struct {
		subject string
		id      uuid.UUID
	}{{desk.OfOrganisation, s.org}, {desk.OfHold, hold}} {
		if err := s.desk.AddNote(ctx, by, c.subject, c.id, "  pays late\r\nvery late "); err != nil {
			t.Fatal(err)
		}
		list, err := s.desk.Notes(ctx, c.subject, c.id)
		if err != nil || len(list) != 1 || list[0].Body != "pays late\nvery late" || list[0].Actor != by.Actor {
			t.Errorf("%+v, %v", list, err)
		}
	}
	var invalid *desk.Invalid
	var missing *desk.NotFound
	if err := s.desk.AddNote(ctx, by, desk.OfService, hold, "x"); !errors.As(err, &missing) {
		t.Errorf("about a hold as a service: %v", err)
	}
	for _, body := range []string{"", " \n ", "a\x00b", strings.Repeat("ä", desk.MaxText+1), "\xff"} {
		if err := s.desk.AddNote(ctx, by, desk.OfHold, hold, body); !errors.As(err, &invalid) {
			t.Errorf("%.10q: %v", body, err)
		}
	}
	// The web role may not read them at all, and nobody may change them.
	for role, sql := range map[string]string{"ironhold_web": "select from notes", "ironhold_engine": "update notes set body = 'x'"} {
		tx, err := s.app.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(ctx, "set local role "+role); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(ctx, sql); pg.Code(err) != "42501" {
			t.Errorf("%s: %q: %v", role, sql, err)
		}
		_ = tx.Rollback(ctx)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	s := setup(t)
	res := s.order(t, allocator.Request{})
	for text, want := range map[string]string{
		res.Hold.ID.String():         "hold " + res.Hold.ID.String(),
		" " + res.AttemptID.String(): "attempt " + res.AttemptID.String(),
		"a-1":                        "machine A-1",
		"ACM":                        "organisation acme",
		s.org.String():               "organisation acme",
		"r-1":                        "attempt " + res.AttemptID.String(),
		"%":                          "", "x": "", "__": "", "nothing here": "", "a\x00": "", uuid.NewString(): "",
	} {
		list, err := s.desk.Find(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(list) > 0 {
			got = list[0].Kind + " " + list[0].Key
		}
		if got != want {
			t.Errorf("%q finds %q, want %q", text, got, want)
		}
	}
}
