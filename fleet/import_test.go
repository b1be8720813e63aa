package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ironhold/fleet"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
)

var by = pg.By{Actor: "command:test"}

func importText(t *testing.T, db pg.DB, text string, o fleet.ImportOptions) fleet.Report {
	t.Helper()
	report, err := fleet.New(db).Import(t.Context(), by, strings.NewReader(text), o)
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return report
}

func wantCounts(t *testing.T, r fleet.Report, added, changed, unchanged, refused int) {
	t.Helper()
	if r.Added != added || r.Changed != changed || r.Unchanged != unchanged || len(r.Refused) != refused {
		t.Fatalf("added %d changed %d unchanged %d refused %d, want %d %d %d %d: %v",
			r.Added, r.Changed, r.Unchanged, len(r.Refused), added, changed, unchanged, refused, r.Refused)
	}
}

func TestImportWholeFleet(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/fleet-1173.csv")
	if err != nil {
		t.Fatal(err)
	}
	db := pgtest.DB(t)
	file := string(data)

	wantCounts(t, importText(t, db, file, fleet.ImportOptions{DryRun: true}), 1173, 0, 0, 0)
	if n := count(t, db, `select (select count(*) from machines) + (select count(*) from sites) + (select count(*) from machine_events)`); n != 0 {
		t.Fatalf("a dry run wrote %d rows", n)
	}
	done := 0
	r := importText(t, db, file, fleet.ImportOptions{Progress: func(n int) { done = n }})
	wantCounts(t, r, 1173, 0, 0, 0)
	if done != 1173 {
		t.Errorf("progress ended at %d", done)
	}
	if len(r.Warnings) != 0 {
		t.Errorf("warnings: %v", r.Warnings)
	}
	// Nothing is written by the same file again: neither rows nor versions of rows.
	state := func() string {
		return one[string](t, db, `select md5(string_agg(m::text || m.xmin::text, '|' order by m.id)) || (select count(*) from machine_events) from machines m`)
	}
	before := state()
	wantCounts(t, importText(t, db, file, fleet.ImportOptions{DryRun: true}), 0, 0, 1173, 0)
	wantCounts(t, importText(t, db, file, fleet.ImportOptions{}), 0, 0, 1173, 0)
	if after := state(); after != before {
		t.Error("importing the same file again wrote something")
	}
	if n := count(t, db, `select count(*) from machines where status = 'ready' and price_month_minor > 0 and currency = 'EUR'`); n != 1173 {
		t.Errorf("%d machines are ready with a price", n)
	}
	if n := count(t, db, `select count(*) from machines where gpu = 'GPU'`); n != 21 {
		t.Errorf("%d machines have a graphics processor", n)
	}
	m := machine(t, db, "M2521312")
	if m.SiteCode != "FSN1" || m.SSDGB != 960 || len(m.Drives) != 2 || m.PriceMonthMinor != 3300 || m.Threads != 32 || m.ECC {
		t.Errorf("first machine: %+v", m)
	}
	if by := one[string](t, db, `select distinct actor from machine_events`); by != "command:test" {
		t.Errorf("history says %s", by)
	}
}

func TestImportFormats(t *testing.T) {
	t.Parallel()
	const lf = "asset_tag,site,cpu,cores,ram_gb,features,price_month_eur\nA1,S1,Xeon,8,64,x;y,12.50\nA2,S1,\"Xeon, fast\",8,64,,7\n"
	semicolons := strings.NewReplacer(`"Xeon, fast"`, `"Xeon, fast"`, "x;y", "x|y", ",", ";", "12.50", "12,50").Replace(
		strings.Replace(lf, `"Xeon, fast"`, "Xeon fast", 1))
	for name, text := range map[string]string{
		"lf":              lf,
		"no last end":     strings.TrimSuffix(lf, "\n"),
		"crlf":            strings.ReplaceAll(lf, "\n", "\r\n"),
		"cr":              strings.ReplaceAll(lf, "\n", "\r"),
		"bom":             "\uFEFF" + lf,
		"bom and crlf":    "\uFEFF" + strings.ReplaceAll(lf, "\n", "\r\n"),
		"semicolons":      semicolons,
		"sep hint":        "sep=;\r\n" + semicolons,
		"tabs":            strings.ReplaceAll(strings.ReplaceAll(lf, `"Xeon, fast"`, "Xeon fast"), ",", "\t"),
		"blank lines":     "\n\n" + strings.ReplaceAll(lf, "\n", "\n\n,,,,,,\n \n"),
		"spaces":          strings.ReplaceAll(lf, ",", " , "),
		"capital header":  strings.ToUpper(lf[:60]) + lf[60:],
		"trailing commas": strings.ReplaceAll(lf, "\n", ",,\n"),
		"other order":     "ram_gb,features,cores,cpu,price_month_eur,site,asset_tag\n64,x;y,8,Xeon,12.50,S1,A1\n64,,8,\"Xeon, fast\",7.00,S1,A2\n",
		"quoted":          "\"asset_tag\",\"site\",\"cpu\",\"cores\",\"ram_gb\",\"features\",\"price_month_eur\"\n\"A1\",\"S1\",\"Xeon\",\"8\",\"64\",\"x,y\",\"12.5\"\n\"A2\",\"S1\",\"Xeon \"\"fast\"\"\",8,64,,7\n",
	} {
		t.Run(name, func(t *testing.T) {
			tx := pgtest.Tx(t)
			r := importText(t, tx, text, fleet.ImportOptions{})
			wantCounts(t, r, 2, 0, 0, 0)
			m := machine(t, tx, "A1")
			if m.PriceMonthMinor != 1250 || strings.Join(m.Features, "+") != "x+y" || m.RAMGB != 64 || m.Cores != 8 {
				t.Errorf("A1: %+v", m)
			}
			wantCounts(t, importText(t, tx, text, fleet.ImportOptions{}), 0, 0, 2, 0)
		})
	}
}

func TestImportRefusesRows(t *testing.T) {
	t.Parallel()
	const head = "asset_tag,site,cpu,cores,ram_gb,nvme_gb,hdd_gb,status,price_month_eur,currency,serial,ecc,cpu_count\n"
	const good = "G%d,S1,Xeon,8,64,,,,,,,,\n"
	for name, c := range map[string]struct {
		row   string
		wants []string // parts of the reason
		lines int      // physical lines of the row, 1 when zero
	}{
		"missing tag":        {row: ",S1,Xeon,8,64,,,,,,,,", wants: []string{"asset_tag is missing"}},
		"tag with space":     {row: "A 1,S1,Xeon,8,64,,,,,,,,", wants: []string{"asset_tag", `"A 1"`, "visible ASCII"}},
		"long tag":           {row: strings.Repeat("A", 65) + ",S1,Xeon,8,64,,,,,,,,", wants: []string{"asset_tag", "64"}},
		"negative memory":    {row: "A1,S1,Xeon,8,-64,,,,,,,,", wants: []string{"ram_gb", `"-64"`, "whole number from 1 to 1048576"}},
		"fraction":           {row: "A1,S1,Xeon,8.5,64,,,,,,,,", wants: []string{"cores", `"8.5"`}},
		"exponent":           {row: "A1,S1,Xeon,1e3,64,,,,,,,,", wants: []string{"cores", `"1e3"`}},
		"huge number":        {row: "A1,S1,Xeon,8,99999999999999999999999,,,,,,,,", wants: []string{"ram_gb"}},
		"no processor":       {row: "A1,S1,,8,64,,,,,,,,", wants: []string{"cpu is missing"}},
		"no site":            {row: "A1,,Xeon,8,64,,,,,,,,", wants: []string{"site is missing"}},
		"bad site":           {row: "A1,S/1,Xeon,8,64,,,,,,,,", wants: []string{"site", `"S/1"`}},
		"unknown status":     {row: "A1,S1,Xeon,8,64,,,broken,,,,,", wants: []string{"status", `"broken"`, "intake, ready, cleaning, maintenance, retired"}},
		"in service":         {row: "A1,S1,Xeon,8,64,,,in_service,,,,,", wants: []string{"status", "by a sale"}},
		"bad price":          {row: "A1,S1,Xeon,8,64,,,,-3,,,,", wants: []string{"price_month_eur", `"-3"`, "decimal"}},
		"price too fine":     {row: "A1,S1,Xeon,8,64,,,,3.333,,,,", wants: []string{"price_month_eur", "2 decimals"}},
		"yen have no cents":  {row: "A1,S1,Xeon,8,64,,,,3.50,JPY,,,", wants: []string{"price_month_eur", "0 decimals"}},
		"unknown currency":   {row: "A1,S1,Xeon,8,64,,,,3,XXQ,,,", wants: []string{"currency", `"XXQ"`, "ISO 4217"}},
		"bad drives":         {row: "A1,S1,Xeon,8,64,512+,,,,,,,", wants: []string{"nvme_gb", "512+512"}},
		"too many drives":    {row: "A1,S1,Xeon,8,64,,1000x1,,,,,,", wants: []string{"hdd_gb", "200"}},
		"bad boolean":        {row: "A1,S1,Xeon,8,64,,,,,,,maybe,", wants: []string{"ecc", "true or false"}},
		"two faults":         {row: "A1,S1,Xeon,,64,,,,,,,maybe,0", wants: []string{"cores is missing", "ecc", "cpu_count"}},
		"few fields":         {row: "A1,S1,Xeon,8", wants: []string{"4 fields", "13"}},
		"many fields":        {row: "A1,S1,Xeon,8,64,,,,,,,,,x", wants: []string{"14 fields"}},
		"latin-1":            {row: "A1,S1,Xeon \xe4,8,64,,,,,,,,", wants: []string{"UTF-8"}},
		"nul":                {row: "A1,S1,Xe\x00on,8,64,,,,,,,,", wants: []string{"cpu", "control"}},
		"escape":             {row: "A1,S1,Xe\x1b[31mon,8,64,,,,,,,,", wants: []string{"cpu", "control"}},
		"turned text":        {row: "A1,S1,Xe\u202eon,8,64,,,,,,,,", wants: []string{"cpu", "control"}},
		"10 MB line":         {row: "A1,S1," + strings.Repeat("x", 10<<20) + ",8,64,,,,,,,,", wants: []string{"longer than 65536 bytes"}},
		"long field":         {row: "A1,S1," + strings.Repeat("x", 300) + ",8,64,,,,,,,,", wants: []string{"cpu has 300 characters", "200"}},
		"line break in text": {row: "A1,S1,\"Xeon\nfast\",8,64,,,,,,,,", wants: []string{"cpu", "line breaks"}, lines: 2},
		"open quote":         {row: "A1,S1,\"Xeon,8,64,,,,,,,,", wants: []string{"not closed"}},
		"text after quote":   {row: "A1,S1,\"Xeon\"fast,8,64,,,,,,,,", wants: []string{"closing quote"}},
		"duplicate tag":      {row: "G1,S1,Xeon,16,64,,,,,,,,", wants: []string{"asset_tag", `"G1"`, "line 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			db := pgtest.Tx(t)
			text := head + fmt.Sprintf(good, 1) + c.row + "\n" + fmt.Sprintf(good, 2) + ",,,,,bad\n" + fmt.Sprintf(good, 3)
			dry := importText(t, db, text, fleet.ImportOptions{DryRun: true})
			r := importText(t, db, text, fleet.ImportOptions{})
			wantCounts(t, r, 3, 0, 0, 2)
			if r.Refused[0].Line != 3 {
				t.Errorf("refused line %d, want 3", r.Refused[0].Line)
			}
			if want := 5 + max(c.lines, 1) - 1; r.Refused[1].Line != want {
				t.Errorf("the second refused line is %d, want %d", r.Refused[1].Line, want)
			}
			for _, want := range c.wants {
				if !strings.Contains(r.Refused[0].Reason, want) {
					t.Errorf("reason %q does not say %q", r.Refused[0].Reason, want)
				}
			}
			if len(r.Refused[0].Reason) > 400 || strings.ContainsAny(r.Refused[0].Reason, "\n\x00\x1b") {
				t.Errorf("reason is no clean line: %q", r.Refused[0].Reason)
			}
			dry.DryRun = r.DryRun
			if a, b := toJSON(t, dry), toJSON(t, r); a != b {
				t.Errorf("a dry run says %s, the real run %s", a, b)
			}
			if n := count(t, db, `select count(*) from machines`); n != 3 {
				t.Errorf("%d machines", n)
			}
		})
	}
}

func TestImportRefusesFiles(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	utf16 := func(s string) string {
		var b bytes.Buffer
		for _, c := range []byte(s) {
			b.Write([]byte{c, 0})
		}
		return b.String()
	}
	const row = "A1,S1,Xeon,8,64\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "empty"},
		"blank":           {"\n \n\n", "empty"},
		"bom only":        {"\uFEFF", "empty"},
		"html":            {"<!DOCTYPE html>\n<html><body>404</body></html>\n", "HTML"},
		"xml":             {"\uFEFF  <?xml version=\"1.0\"?>", "XML"},
		"json":            {"[{\"asset_tag\":\"A1\"}]", "JSON"},
		"binary":          {"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00>\x00", "binary"},
		"png":             {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "no CSV"},
		"noise":           {"\xfe\xed\xbe\xef\xfa\xce", "no CSV"},
		"spreadsheet":     {"PK\x03\x04\x14\x00\x06\x00", "spreadsheet"},
		"gzip":            {"\x1f\x8b\x08\x00", "compressed"},
		"utf-16 bom":      {"\xff\xfe" + utf16("asset_tag,site,cpu,cores,ram_gb\n"+row), "UTF-16"},
		"utf-16":          {utf16("asset_tag,site,cpu,cores,ram_gb\n" + row), "UTF-16"},
		"text":            {"Dear all,\nplease find the list attached.\n", "names no known column"},
		"no header":       {row + row, "names no known column"},
		"long first line": {strings.Repeat("asset_tag,", 1<<20), "longer than"},
		"missing columns": {"asset_tag,site,cpu\nA1,S1,Xeon\n", "missing: cores, ram_gb"},
		"misspelt column": {"asset_tag,site,cpu,cores,ram_gb,nvme\nA1,S1,Xeon,8,64,512\n", `unknown columns: "nvme"`},
		"column twice":    {"asset_tag,site,cpu,cores,ram_gb,cores\nA1,S1,Xeon,8,64,8\n", `twice: "cores"`},
		"currency alone":  {"asset_tag,site,cpu,cores,ram_gb,currency\nA1,S1,Xeon,8,64,USD\n", "currency needs"},
	} {
		for _, dry := range []bool{true, false} {
			r, err := fleet.New(db).Import(t.Context(), by, strings.NewReader(c.text), fleet.ImportOptions{DryRun: dry})
			var file *fleet.FileError
			if !errors.As(err, &file) || !strings.Contains(file.Reason, c.want) || strings.Contains(file.Reason, "\n") || len(file.Reason) > 600 {
				t.Errorf("%s: got %v, want one line that says %q", name, err, c.want)
			}
			wantCounts(t, r, 0, 0, 0, 0)
		}
	}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	_, err = fleet.New(db).Import(t.Context(), by, dir, fleet.ImportOptions{})
	var file *fleet.FileError
	if !errors.As(err, &file) || !strings.Contains(file.Reason, "directory") {
		t.Errorf("a directory: %v", err)
	}
	if n := count(t, db, `select (select count(*) from machines) + (select count(*) from sites)`); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	wantCounts(t, importText(t, db, "asset_tag,site,cpu,cores,ram_gb\n", fleet.ImportOptions{}), 0, 0, 0, 0)
}

// A reader that fails in the middle: what was read before stays, the error is told.
func TestImportBrokenReader(t *testing.T) {
	t.Parallel()
	db := pgtest.DB(t)
	in := io.MultiReader(strings.NewReader("asset_tag,site,cpu,cores,ram_gb\nA1,S1,Xeon,8,64\n"), brokenReader{})
	r, err := fleet.New(db).Import(t.Context(), by, in, fleet.ImportOptions{})
	if err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("error: %v", err)
	}
	wantCounts(t, r, 1, 0, 0, 0)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func machine(t *testing.T, db pg.DB, tag string) fleet.Machine {
	t.Helper()
	m, err := fleet.New(db).Machine(t.Context(), tag)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func one[T any](t *testing.T, db querier, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func count(t *testing.T, db querier, sql string, args ...any) int {
	t.Helper()
	return one[int](t, db, sql, args...)
}

func exec(t *testing.T, db querier, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The faulty files of testdata, with what becomes of each.
func TestImportFaultyFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		file    bool // refused whole
		added   int
		refused []int // lines
	}{
		"empty.csv":               {file: true},
		"page.html.csv":           {file: true},
		"utf16.csv":               {file: true},
		"binary.csv":              {file: true},
		"spreadsheet.csv":         {file: true},
		"misspelt-column.csv":     {file: true},
		"missing-columns.csv":     {file: true},
		"column-twice.csv":        {file: true},
		"semicolons-crlf-bom.csv": {added: 2},
		"other-order.csv":         {added: 1},
		"rows.csv":                {added: 2, refused: []int{3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15}},
	} {
		tx := pgtest.Tx(t)
		f, err := os.Open("../testdata/faulty/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := fleet.New(tx).Import(t.Context(), by, f, fleet.ImportOptions{})
		var file *fleet.FileError
		if errors.As(err, &file) != want.file {
			t.Errorf("%s: %v", name, err)
		}
		lines := []int{}
		for _, n := range r.Refused {
			lines = append(lines, n.Line)
		}
		if r.Added != want.added || fmt.Sprint(lines) != fmt.Sprint(append([]int{}, want.refused...)) {
			t.Errorf("%s: added %d, refused %v", name, r.Added, r.Refused)
		}
		_ = tx.Rollback(t.Context())
	}
}

func BenchmarkImport(b *testing.B) {
	var text strings.Builder
	text.WriteString("asset_tag,site,cpu,cores,ram_gb,nvme_gb,serial,price_month_eur\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "M%06d,S%d,Xeon %d,%d,64,2x960,SN%06d,%d.90\n", i, i%4, i%50, 8+i%8, i, 20+i%10)
	}
	for b.Loop() {
		b.StopTimer()
		db := pgtest.DB(b)
		b.StartTimer()
		r, err := fleet.New(db).Import(b.Context(), by, strings.NewReader(text.String()), fleet.ImportOptions{})
		if err != nil || r.Added != 10_000 {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(10_000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
