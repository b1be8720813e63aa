package fleet_test

import (
	"errors"
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
	list, more, err := r.ClassBoard(t.Context(), "")
	if err != nil || more || len(list) != 2 {
		t.Fatalf("%+v %t %v", list, more, err)
	}
	if c := list[0]; c.Total != 3 || c.Free != 2 || c.OutOfSale[fleet.Maintenance] != 1 {
		t.Errorf("%+v", c)
	}
	if list, _, err := r.ClassBoard(t.Context(), "NOWHERE"); err != nil || len(list) != 0 {
		t.Errorf("nowhere: %+v, %v", list, err)
	}
}
