package fleet_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ironhold/fleet"
	"ironhold/migrations/pgtest"
)

func TestLegalMovesAgree(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, from := range fleet.Statuses() {
		var want []string
		if err := tx.QueryRow(t.Context(), `select machines_legal_moves($1)`, from).Scan(&want); err != nil {
			t.Fatal(err)
		}
		if got := fleet.LegalMoves(from); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("from %s: %v here, %v in the database", from, got, want)
		}
	}
}

func TestColumnsOfHistoryAreFacts(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	importText(t, tx, head+"rack\nA1,S1,Xeon,8,64,R1\n", fleet.ImportOptions{})
	// A column of facts that the comparison in machines_history lacks would change without history.
	var columns []string
	err := tx.QueryRow(t.Context(), `select array_agg(k) from machines m, jsonb_object_keys(machines_facts(m)) k`).Scan(&columns)
	if err != nil {
		t.Fatal(err)
	}
	var source string
	if err := tx.QueryRow(t.Context(), `select prosrc from pg_proc where proname = 'machines_history'`).Scan(&source); err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		if !strings.Contains(source, "new."+c+",") && !strings.Contains(source, "new."+c+")") {
			t.Errorf("machines_history does not compare %s", c)
		}
	}
}

// Every pair of statuses, for a machine that nobody has.
func TestSetStatus(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	r := fleet.New(db)
	n := 0
	for _, from := range fleet.Statuses() {
		for _, to := range fleet.Statuses() {
			if from == fleet.InService {
				continue
			}
			n++
			tag := fmt.Sprintf("A%d", n)
			importText(t, db, head+"status\n"+tag+",S1,Xeon,8,64,"+string(from)+"\n", fleet.ImportOptions{})
			m, err := r.SetStatus(t.Context(), by, tag, to, " because ")
			legal := slices.Contains(fleet.LegalMoves(from), to) && to != fleet.InService
			var illegal *fleet.IllegalMove
			switch {
			case legal && (err != nil || m.Status != to || m.StatusReason != "because" || m.StatusBy != by.Actor):
				t.Errorf("%s to %s: %v %+v", from, to, err, m)
			case !legal && (!errors.As(err, &illegal) || illegal.From != from || illegal.To != to || illegal.Why == ""):
				t.Errorf("%s to %s: %v", from, to, err)
			case !legal && (slices.Contains(illegal.Legal, fleet.InService) || machine(t, db, tag).Status != from):
				t.Errorf("%s to %s: legal are %v", from, to, illegal.Legal)
			}
		}
	}
}

func TestSetStatusInput(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	r := fleet.New(tx)
	importText(t, tx, head+"rack\nA1,S1,Xeon,8,64,R1\n", fleet.ImportOptions{})
	for _, reason := range []string{"", "  \n", strings.Repeat("ä", fleet.MaxReason+1), "a\x00b", "\xff"} {
		_, err := r.SetStatus(t.Context(), by, "A1", fleet.Maintenance, reason)
		var invalid *fleet.Invalid
		if !errors.As(err, &invalid) || invalid.Field != "reason" {
			t.Errorf("%.10q: %v", reason, err)
		}
		if _, err = r.Wiped(t.Context(), by, "A1", reason); !errors.As(err, &invalid) {
			t.Errorf("%.10q: %v", reason, err)
		}
	}
	var invalid *fleet.Invalid
	if _, err := r.SetStatus(t.Context(), by, "A1", "broken", "why"); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "maintenance") {
		t.Errorf("unknown status: %v", err)
	}
	for _, tag := range []string{"A2", "", "a\x00", "\xff"} {
		var missing *fleet.NotFound
		if _, err := r.SetStatus(t.Context(), by, tag, fleet.Maintenance, "why"); !errors.As(err, &missing) {
			t.Errorf("%q: %v", tag, err)
		}
	}
	if _, err := r.SetStatus(t.Context(), by, "A1", fleet.Maintenance, strings.Repeat("ä", fleet.MaxReason)); err != nil {
		t.Error(err)
	}
}

// The life of a sold machine: it is sold again only after a wipe.
func TestLifeOfSoldMachine(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	r := fleet.New(db)
	importText(t, db, head+"rack\nA1,S1,Xeon,8,64,R1\nA2,S1,Xeon,8,64,R1\nA3,S1,Xeon,8,64,R1\n", fleet.ImportOptions{})
	sell(t, db, "A1", "renter", true)
	sell(t, db, "A2", "holder", false)
	refused := func(tag string, to fleet.Status, why string, legal ...fleet.Status) {
		t.Helper()
		_, err := r.SetStatus(t.Context(), by, tag, to, "try")
		var illegal *fleet.IllegalMove
		if !errors.As(err, &illegal) || !strings.Contains(illegal.Why, why) || fmt.Sprint(illegal.Legal) != fmt.Sprint(legal) {
			t.Errorf("%s to %s: %v, want %q and %v", tag, to, err, why, legal)
		}
	}
	refused("A1", fleet.Cleaning, "in service", fleet.Maintenance)
	refused("A1", fleet.Retired, "in service", fleet.Maintenance)
	refused("A1", fleet.Ready, "from in_service", fleet.Maintenance)
	refused("A2", fleet.Retired, "held", fleet.Maintenance)
	refused("A3", fleet.InService, "by a sale", fleet.Maintenance, fleet.Retired)
	var illegal *fleet.IllegalMove
	if _, err := r.Wiped(t.Context(), by, "A1", "by mistake"); !errors.As(err, &illegal) {
		t.Errorf("wipe in service: %v", err)
	}
	if o, err := r.Occupant(t.Context(), "A1"); err != nil || o == nil || o.Kind != fleet.ByService || o.OrgSlug != "renter" || o.Until != nil {
		t.Errorf("occupant of A1: %+v %v", o, err)
	}
	if o, err := r.Occupant(t.Context(), "A2"); err != nil || o == nil || o.Kind != fleet.ByHold || o.OrgSlug != "holder" || o.Until == nil || o.Overdue {
		t.Errorf("occupant of A2: %+v %v", o, err)
	}
	if o, err := r.Occupant(t.Context(), "A3"); err != nil || o != nil {
		t.Errorf("occupant of A3: %+v %v", o, err)
	}
	board := func(held, service, free, out int) {
		t.Helper()
		b, err := r.Board(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b.All.Held != held || b.All.InService != service || b.All.Free != free || b.All.Out() != out || b.All.Total != 3 ||
			held+service+free+out != 3 || len(b.Sites) != 1 || b.Sites[0].Total != 3 || b.AsOf.IsZero() {
			t.Errorf("board: %+v, want %d %d %d %d", b, held, service, free, out)
		}
	}
	board(1, 1, 1, 0)
	// A held machine that is withdrawn is held still.
	if _, err := r.SetStatus(t.Context(), by, "A2", fleet.Maintenance, "fan"); err != nil {
		t.Fatal(err)
	}
	board(1, 1, 1, 0)

	exec(t, db, `update services set ended_at = clock_timestamp(), ended_by = 'test';
		update machines set status = 'cleaning', status_reason = 'ended' where asset_tag = 'A1'`)
	board(1, 0, 1, 1)
	refused("A1", fleet.Ready, "not wiped", fleet.Maintenance, fleet.Retired)
	if _, err := r.SetStatus(t.Context(), by, "A1", fleet.Maintenance, "a detour"); err != nil {
		t.Fatal(err)
	}
	refused("A1", fleet.Ready, "not wiped", fleet.Cleaning, fleet.Retired)
	m, err := r.Wiped(t.Context(), by, "A1", "wiped on the bench")
	if err != nil || m.Status != fleet.Maintenance || m.WipedAt == nil || m.StatusReason != "a detour" {
		t.Errorf("wipe in maintenance: %+v %v", m, err)
	}
	if _, err := r.SetStatus(t.Context(), by, "A1", fleet.Cleaning, "once more"); err != nil {
		t.Fatal(err)
	}
	m, err = r.Wiped(t.Context(), by, "A1", "by the operator")
	if err != nil || m.Status != fleet.Ready || m.StatusReason != "by the operator" {
		t.Errorf("wipe in cleaning: %+v %v", m, err)
	}
	events, err := r.Events(t.Context(), "A1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range slices.Backward(events) {
		got = append(got, e.Event+" "+e.Reason)
	}
	want := "added imported, status sold, status ended, status a detour, wiped wiped on the bench, status once more, wiped by the operator, status by the operator"
	if strings.Join(got, ", ") != want {
		t.Errorf("history: %s", strings.Join(got, ", "))
	}
	board(1, 0, 2, 0)
	// Past its deadline a hold is no occupant that counts, also while it is not swept.
	exec(t, db, `set session_replication_role = replica; update holds set expires_at = clock_timestamp() - interval '1 s' where state = 'held'; reset session_replication_role`)
	board(0, 0, 2, 1)
	if o, err := r.Occupant(t.Context(), "A2"); err != nil || o == nil || !o.Overdue {
		t.Errorf("occupant of A2: %+v %v", o, err)
	}
	if _, err := r.SetStatus(t.Context(), by, "A2", fleet.Retired, "gone"); err != nil {
		t.Error(err)
	}
}

func TestMachines(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	r := fleet.New(tx)
	importText(t, tx, head+"vendor,serial,status\nA1,S1,Xeon,8,64,Dell,SN_1,ready\nA2,S1,Epyc,8,64,HPE,SN%2,intake\nB1,S2,Xeon,8,64,Dell,SN3,ready\nB2,S2,Xeon,8,64,Acme,SN4,retired\n", fleet.ImportOptions{})
	for _, c := range []struct {
		filter fleet.Filter
		want   string
	}{
		{fleet.Filter{}, "A1 A2 B1 B2"},
		{fleet.Filter{Status: fleet.Ready}, "A1 B1"},
		{fleet.Filter{Site: "S1"}, "A1 A2"},
		{fleet.Filter{Site: "S3"}, ""},
		{fleet.Filter{Query: "xeon"}, "A1 B1 B2"},
		{fleet.Filter{Query: " dell "}, "A1 B1"},
		{fleet.Filter{Query: "%"}, "A2"},
		{fleet.Filter{Query: "N_1"}, "A1"},
		{fleet.Filter{Query: "\x00"}, ""},
		{fleet.Filter{Limit: 2}, "A1 A2"},
		{fleet.Filter{Limit: 2, After: "A2"}, "B1 B2"},
	} {
		list, err := r.Machines(t.Context(), c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var tags []string
		for _, m := range list {
			tags = append(tags, m.AssetTag)
		}
		if strings.Join(tags, " ") != c.want {
			t.Errorf("%+v: %v, want %s", c.filter, tags, c.want)
		}
	}
	vendors, err := r.Vendors(t.Context())
	if err != nil || strings.Join(vendors, " ") != "Dell HPE" {
		t.Errorf("vendors: %v %v", vendors, err)
	}
	var missing *fleet.NotFound
	if _, err := r.Machine(t.Context(), "Z"); !errors.As(err, &missing) {
		t.Error(err)
	}
	if _, err := r.Events(t.Context(), "Z"); !errors.As(err, &missing) {
		t.Error(err)
	}
	if _, err := r.Occupant(t.Context(), "Z"); !errors.As(err, &missing) {
		t.Error(err)
	}
}
