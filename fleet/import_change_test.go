package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/fleet"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
)

// sell gives a machine to a new organisation: a hold, and its service when serve is true.
func sell(t *testing.T, db *pgxpool.Pool, tag, slug string, serve bool) {
	t.Helper()
	exec(t, db, `with o as (insert into organisations (slug, name) values ($1, $1) returning id)
		insert into org_limits (org_id) select id from o`, slug)
	exec(t, db, `insert into holds (org_id, machine_id, idempotency_key, expires_at, price_month_minor, setup_minor, currency)
		select o.id, m.id, 'k', clock_timestamp() + interval '1 hour', m.price_month_minor, m.setup_minor, m.currency
		from organisations o, machines m where o.slug = $1 and m.asset_tag = $2`, slug, tag)
	if serve {
		err := pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `insert into services (org_id, machine_id, hold_id, price_month_minor, setup_minor, currency)
				select org_id, machine_id, id, price_month_minor, setup_minor, currency from holds
				where org_id = (select id from organisations where slug = $1)`, slug)
			if err == nil {
				_, err = tx.Exec(t.Context(), `update holds set state = 'converted', closed_at = clock_timestamp()
					where org_id = (select id from organisations where slug = $1)`, slug)
			}
			if err == nil {
				_, err = tx.Exec(t.Context(), `update machines set status = 'in_service', status_reason = 'sold' where asset_tag = $1`, tag)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

const head = "asset_tag,site,cpu,cores,ram_gb,"

func TestImportChanges(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	importText(t, db, head+"rack,serial,price_month_eur,setup_eur,features,nvme_gb,hdd_gb,gpu,status\n"+
		"A1,S1,Xeon,8,64,R1,SN1,10,1,GPU;x,512+512,4x1000,,ready\n"+
		"A2,S1,Xeon,8,64,R1,SN2,10,1,,512,,,maintenance\n"+
		"A3,S1,Xeon,8,64,R1,SN3,10,1,,512,,,ready\n"+
		"A4,S1,Xeon,8,64,R1,SN4,10,1,,512,,,ready\n", fleet.ImportOptions{})
	if m := machine(t, db, "A1"); m.GPU != "GPU" || m.NVMeGB != 1024 || m.HDDGB != 4000 || len(m.Drives) != 6 {
		t.Errorf("A1: %+v", m)
	}
	if m := machine(t, db, "A2"); m.Status != fleet.Maintenance {
		t.Errorf("A2 is %s", m.Status)
	}

	// Columns that the file lacks stay as they are.
	r := importText(t, db, head+"hdd_gb\nA1,S1,Xeon,8,128,2x2000\nA2,S1,Xeon,8,64,\n", fleet.ImportOptions{})
	wantCounts(t, r, 0, 1, 1, 0)
	m := machine(t, db, "A1")
	if m.RAMGB != 128 || m.Rack != "R1" || m.Serial != "SN1" || m.PriceMonthMinor != 1000 || m.GPU != "GPU" || m.NVMeGB != 1024 || m.HDDGB != 4000 ||
		fmt.Sprint(m.Drives) != "[{nvme 512} {nvme 512} {hdd 2000} {hdd 2000}]" {
		t.Errorf("A1: %+v", m)
	}
	// A fact outside the class is a change too, with its time and its history.
	before := m
	wantCounts(t, importText(t, db, head+"rack\nA1,S1,Xeon,8,128,R9\n", fleet.ImportOptions{}), 0, 1, 0, 0)
	if m = machine(t, db, "A1"); m.Rack != "R9" || m.ClassID != before.ClassID || !m.UpdatedAt.After(before.UpdatedAt) {
		t.Errorf("A1: %+v", m)
	}
	events, err := fleet.New(db).Events(t.Context(), "A1")
	if err != nil || len(events) != 3 || events[0].Event != "changed" || events[2].Event != "added" {
		t.Errorf("history: %v %v", events, err)
	}
	// The derived graphics processor goes with the feature that told of it.
	importText(t, db, head+"features\nA1,S1,Xeon,8,128,x\n", fleet.ImportOptions{})
	if m = machine(t, db, "A1"); m.GPU != "" {
		t.Errorf("A1 has the graphics processor %q", m.GPU)
	}
	// Money in another currency is stated whole or not at all.
	r = importText(t, db, head+"price_month_eur,currency\nA1,S1,Xeon,8,128,20,USD\n", fleet.ImportOptions{})
	wantCounts(t, r, 0, 0, 0, 1)
	r = importText(t, db, head+"price_month_eur,setup_eur,currency\nA1,S1,Xeon,8,128,2000,0,JPY\n", fleet.ImportOptions{})
	wantCounts(t, r, 0, 1, 0, 0)
	if m = machine(t, db, "A1"); m.PriceMonthMinor != 2000 || m.Currency != "JPY" || m.SetupMinor != 0 {
		t.Errorf("A1: %+v", m)
	}
}

// Held and sold machines: facts may change, status, hold and price of the hold never, and a file
// that lacks them changes nothing and says so.
func TestImportOfOccupied(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	file := head + "price_month_eur,status\nA1,S1,Xeon,8,64,10,ready\nA2,S1,Xeon,8,64,10,ready\nA3,S1,Xeon,8,64,10,ready\nB1,S2,Xeon,8,64,10,ready\n"
	importText(t, db, file, fleet.ImportOptions{})
	sell(t, db, "A1", "holder", false)
	sell(t, db, "A2", "renter", true)
	sell(t, db, "B1", "elsewhere", false)

	state := func() string {
		return one[string](t, db, `select string_agg(m::text || m.xmin::text, '|' order by m.id) from machines m where asset_tag in ('A1', 'A2')`)
	}
	before := state()
	r := importText(t, db, file, fleet.ImportOptions{})
	wantCounts(t, r, 0, 0, 4, 0)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Reason, "1 machines have another status") || !strings.Contains(r.Warnings[0].Reason, "A2") {
		t.Errorf("warnings: %v", r.Warnings)
	}
	r = importText(t, db, head+"price_month_eur\nA3,S1,Xeon,8,64,10\nA1,S1,Xeon,8,-1,10\n", fleet.ImportOptions{})
	wantCounts(t, r, 0, 0, 1, 1)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Reason, "1 machines are held or in service and not in the file") || !strings.Contains(r.Warnings[0].Reason, "A2") {
		t.Errorf("warnings: %v", r.Warnings)
	}
	if state() != before {
		t.Error("the import changed an occupied machine")
	}
	r = importText(t, db, strings.ReplaceAll(file, ",10,", ",25,"), fleet.ImportOptions{})
	wantCounts(t, r, 0, 4, 0, 0)
	if m := machine(t, db, "A1"); m.PriceMonthMinor != 2500 || m.Status != fleet.Ready {
		t.Errorf("A1: %+v", m)
	}
	if m := machine(t, db, "A2"); m.PriceMonthMinor != 2500 || m.Status != fleet.InService {
		t.Errorf("A2: %+v", m)
	}
	if n := count(t, db, `select count(*) from holds where price_month_minor <> 1000`); n != 0 {
		t.Error("a hold changed its price")
	}
	if n := count(t, db, `select count(*) from services where price_month_minor <> 1000`); n != 0 {
		t.Error("a service changed its price")
	}
}

func TestImportSerials(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	var b strings.Builder
	b.WriteString(head + "serial,price_month_eur\n")
	for i, s := range []string{
		"To Be Filled By O.E.M.", "to be filled by o.e.m", "Not Specified", "System Serial Number", "0123456789", "Default string",
		"None", "N/A", "00000000", "", "........",
	} {
		for j := range 9 {
			fmt.Fprintf(&b, "P%d-%d,S1,Xeon,8,64,%s,5\n", i, j, s)
		}
	}
	r := importText(t, db, b.String(), fleet.ImportOptions{})
	wantCounts(t, r, 99, 0, 0, 0)
	if len(r.Warnings) != 0 {
		t.Errorf("placeholders were flagged: %v", r.Warnings)
	}
	text := head + "serial,price_month_eur\nQ1,S1,Xeon,8,64,ABC123,5\nQ2,S1,Xeon,8,64,XYZ9,5\nQ3,S1,Xeon,8,64,ABC123,5\n"
	r = importText(t, db, text, fleet.ImportOptions{})
	wantCounts(t, r, 3, 0, 0, 0)
	if len(r.Warnings) != 1 || r.Warnings[0].Line != 4 || !strings.Contains(r.Warnings[0].Reason, "Q1 on line 2") {
		t.Errorf("warnings: %v", r.Warnings)
	}
	for _, dry := range []bool{true, false} {
		r = importText(t, db, head+"serial,price_month_eur\nQ4,S1,Xeon,8,64,XYZ9,0\n", fleet.ImportOptions{DryRun: dry})
		wantCounts(t, r, 1, 0, 0, 0)
		if len(r.Warnings) != 2 || r.Warnings[0].Line != 2 || !strings.Contains(r.Warnings[0].Reason, "Q2") || !strings.Contains(r.Warnings[1].Reason, "no price") {
			t.Errorf("warnings: %v", r.Warnings)
		}
	}
}

// Two imports at once exclude each other; who waits too long is told so.
func TestImportsExcludeEachOther(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	pr, pw := io.Pipe()
	started := make(chan struct{})
	var (
		wg    sync.WaitGroup
		first fleet.Report
		ferr  error
	)
	wg.Go(func() {
		first, ferr = fleet.New(db).Import(context.Background(), by, pr, fleet.ImportOptions{})
	})
	go func() {
		_, _ = io.WriteString(pw, head+"price_month_eur\nA1,S1,Xeon,8,64,1\n"+strings.Repeat("\n", 4096))
		close(started)
	}()
	<-started
	waitFor(t, func() bool {
		return count(t, db, `select count(*) from pg_locks where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`) == 1
	})
	second := head + "price_month_eur\nA1,S1,Xeon,8,64,1\nA2,S1,Xeon,8,64,1\n"
	_, err := fleet.New(db).Import(t.Context(), by, strings.NewReader(second), fleet.ImportOptions{Wait: 250 * time.Millisecond})
	var busy *fleet.ImportBusy
	if !errors.As(err, &busy) || !strings.Contains(err.Error(), "another import is running") {
		t.Errorf("second import: %v", err)
	}
	_ = pw.Close()
	wg.Wait()
	if ferr != nil {
		t.Fatal(ferr)
	}
	wantCounts(t, first, 1, 0, 0, 0)
	wantCounts(t, importText(t, db, second, fleet.ImportOptions{}), 1, 0, 1, 0)
}

// Imports of files with the same machines in opposite order, beside orders that lock machines:
// no deadlock, nothing lost.
func TestImportBesideOrders(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	const machines = 200
	file := func(round, step int) string {
		var b strings.Builder
		b.WriteString(head + "price_month_eur,rack\n")
		for i := range machines {
			if step < 0 {
				i = machines - 1 - i
			}
			fmt.Fprintf(&b, "M%03d,S1,Xeon,8,64,%d,R%d\n", i, 10+round, round)
		}
		return b.String()
	}
	importText(t, db, file(0, 1), fleet.ImportOptions{})
	exec(t, db, `with o as (insert into organisations (slug, name) select 'o' || g, 'o' from generate_series(1, 4) g returning id)
		insert into org_limits (org_id, max_holds, max_machines) select id, 1000, 1000 from o`)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, err := db.Exec(ctx, `insert into holds (org_id, machine_id, idempotency_key, expires_at)
					select o.id, m.id, gen_random_uuid()::text, clock_timestamp() + interval '20 ms'
					from organisations o, machines m where o.slug = 'o' || $1::int and m.asset_tag = 'M' || to_char($2::int, 'FM000')
					on conflict do nothing`, n+1, (i*37+n*50)%machines)
				if err == nil {
					_, err = db.Exec(ctx, `update holds set state = 'cancelled' where state = 'held' and org_id = (select id from organisations where slug = 'o' || $1::int)`, n+1)
				}
				if code := pg.Code(err); code == pg.CodeDeadlockDetected {
					t.Errorf("deadlock: %v", err)
				}
			}
		})
	}
	for round := 1; round <= 4; round++ {
		importText(t, db, file(round, 1-round%2*2), fleet.ImportOptions{})
	}
	cancel()
	wg.Wait()
	if n := count(t, db, `select count(*) from machines where price_month_minor = 1400 and rack = 'R4'`); n != machines {
		t.Errorf("%d machines have the last facts", n)
	}
	if n, err := pgtest.Deadlocks(t.Context(), db); err != nil || n != 0 {
		t.Errorf("%d deadlocks, %v", n, err)
	}
}

func waitFor(t *testing.T, f func() bool) {
	t.Helper()
	for range 500 {
		if f() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("waited for nothing")
}
