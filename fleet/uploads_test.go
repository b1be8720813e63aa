package fleet_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"ironhold/fleet"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

func TestUploads(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	r := fleet.New(fixture.App(t, owner, 2))
	ctx, olga, oleg := t.Context(), pg.By{Actor: "user:olga"}, pg.By{Actor: "user:oleg"}
	id, err := r.KeepUpload(ctx, olga, "fleet.csv", []byte("asset_tag\n"))
	if err != nil {
		t.Fatal(err)
	}
	u, err := r.Upload(ctx, olga, id)
	if err != nil || string(u.Content) != "asset_tag\n" || u.Name != "fleet.csv" || len(u.Hash) != 64 {
		t.Fatalf("%+v, %v", u, err)
	}
	var gone *fleet.UploadGone
	if _, err := r.Upload(ctx, oleg, id); !errors.As(err, &gone) {
		t.Errorf("another's: %v", err)
	}
	if _, err := r.Upload(ctx, olga, uuid.New()); !errors.As(err, &gone) {
		t.Errorf("unknown: %v", err)
	}
	fixture.Exec(t, owner, "update import_uploads set at = at - interval '16 minutes'")
	if _, err := r.Upload(ctx, olga, id); !errors.As(err, &gone) {
		t.Errorf("after a quarter of an hour: %v", err)
	}
	if n, err := r.DropOldUploads(ctx); err != nil || n != 1 {
		t.Errorf("dropped %d, %v", n, err)
	}
	for range 5 {
		if id, err = r.KeepUpload(ctx, olga, "x", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if n := fixture.Get[int](t, owner, "select count(*)::int from import_uploads"); n != 3 {
		t.Errorf("%d files of one person are kept", n)
	}
	if err := r.DropUpload(ctx, oleg, id); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Upload(ctx, olga, id); err != nil {
		t.Errorf("dropped by another: %v", err)
	}
}

func TestClassBoard(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	r := fleet.New(fixture.App(t, owner, 2))
	fixture.Equal(t, owner, "EQ", 3)
	fixture.Add(t, owner, fixture.Machine{Tag: "B", RAM: 2048})
	fixture.Exec(t, owner, "update machines set status = 'maintenance', status_reason = 'fan' where asset_tag = 'EQ-2'")
	list, more, err := r.ClassBoard(t.Context(), "", 0)
	if err != nil || more || len(list) != 2 {
		t.Fatalf("%+v %t %v", list, more, err)
	}
	if c := list[0]; c.Total != 3 || c.Free != 2 || c.OutOfSale[fleet.Maintenance] != 1 {
		t.Errorf("%+v", c)
	}
	if list, _, err := r.ClassBoard(t.Context(), "NOWHERE", 0); err != nil || len(list) != 0 {
		t.Errorf("nowhere: %+v, %v", list, err)
	}
	for i := range 61 {
		fixture.Add(t, owner, fixture.Machine{Tag: fmt.Sprintf("C-%02d", i), RAM: 100 + i})
	}
	first, more, err := r.ClassBoard(t.Context(), "", 0)
	if err != nil || !more || len(first) != 60 {
		t.Fatalf("first page: %d %t %v", len(first), more, err)
	}
	second, more, err := r.ClassBoard(t.Context(), "", 1)
	if err != nil || more || len(second) != 3 {
		t.Fatalf("second page: %d %t %v", len(second), more, err)
	}
	seen := map[int]bool{}
	for _, c := range append(first, second...) {
		if seen[c.ClassID] || !c.Adds() {
			t.Errorf("%+v, seen %t", c.BoardRow, seen[c.ClassID])
		}
		seen[c.ClassID] = true
	}
}

// A machine with two occupants, which the database forbids, is in the sum twice: the board must show
// that and not hide it.
func TestBoardShowsAWrongSum(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	r := fleet.New(fixture.App(t, owner, 2))
	fixture.Equal(t, owner, "EQ", 2)
	sums := func() (bool, bool) {
		b, err := r.Board(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := r.ClassBoard(t.Context(), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if b.All.Total != 2 || len(list) != 1 || list[0].Total != 2 {
			t.Errorf("totals: %+v %+v", b, list)
		}
		return b.All.Adds() && b.Sites[0].Adds(), list[0].Adds()
	}
	if site, class := sums(); !site || !class {
		t.Error("the sum of a sound fleet is wrong")
	}
	fixture.TwoOccupants(t, owner, "EQ-1")
	if site, class := sums(); site || class {
		t.Errorf("sites add up: %t, classes add up: %t", site, class)
	}
}

func TestHistoryInPages(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	r := fleet.New(fixture.App(t, owner, 2))
	fixture.Equal(t, owner, "EQ", 1)
	for i := range 5 {
		to := []fleet.Status{fleet.Maintenance, fleet.Ready}[i%2]
		if _, err := r.SetStatus(t.Context(), by, "EQ-1", to, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := r.Events(t.Context(), "EQ-1")
	if err != nil || len(all) != 6 {
		t.Fatalf("%d %v", len(all), err)
	}
	var reasons []string
	for skip := 0; skip < 6; skip += 4 {
		part, err := r.EventsAfter(t.Context(), "EQ-1", skip, 4)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range part {
			reasons = append(reasons, e.Reason)
		}
	}
	if len(reasons) != 6 || reasons[0] != "4" || reasons[4] != "0" {
		t.Errorf("%q", reasons)
	}
}
