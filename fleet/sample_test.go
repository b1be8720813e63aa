package fleet_test

import (
	"testing"
	"time"

	"ironhold/fleet"
	"ironhold/migrations/pgtest"
)

func TestSample(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	r := fleet.New(db)
	for range 2 {
		if err := r.Sample(t.Context(), by); err != nil {
			t.Fatal(err)
		}
	}
	board, err := r.Board(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := board.All.Total; n < 180 || n > 220 {
		t.Errorf("%d machines", n)
	}
	if len(board.Sites) != 4 {
		t.Errorf("%d sites", len(board.Sites))
	}
	for _, status := range []fleet.Status{fleet.Intake, fleet.Cleaning, fleet.Maintenance, fleet.Retired} {
		if board.All.OutOfSale[status] == 0 {
			t.Errorf("no machine is %s", status)
		}
	}
	sites, err := r.Sites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		if _, err := time.LoadLocation(s.TimeZone); err != nil || s.TimeZone == "UTC" || s.Country == "" || s.Name == s.Code {
			t.Errorf("site %+v: %v", s, err)
		}
	}
	large := count(t, db, `select count(*) from (select from machines where status = 'ready' group by class_id having count(*) >= 20) c`)
	single := count(t, db, `select count(*) from (select from machines where status = 'ready' group by class_id having count(*) = 1) c`)
	if large < 4 || single < 20 {
		t.Errorf("%d large classes and %d single machines", large, single)
	}
	if n := count(t, db, `select count(*) from machines where price_month_minor = 0 or currency <> 'EUR'`); n != 0 {
		t.Errorf("%d machines without a price in EUR", n)
	}
}
