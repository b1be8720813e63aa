package web

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// kinds is a fleet of five kinds of machines, the last a single one.
func kinds(t *testing.T, s *site) (ids []int) {
	t.Helper()
	for i := 1; i <= 5; i++ {
		m := fixture.Machine{Tag: fmt.Sprintf("K%d-1", i), RAM: 32 * i, Price: int64(1000 * i)}
		fixture.Add(t, s.owner, m)
		if m.Tag = fmt.Sprintf("K%d-2", i); i < 5 {
			fixture.Add(t, s.owner, m)
		}
		ids = append(ids, fixture.Get[int](t, s.owner, "select class_id from machines where asset_tag = $1", fmt.Sprintf("K%d-1", i)))
	}
	return ids
}

func TestOneOffersPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids := kinds(t, s)
	ada, eve := s.person("Ada", accounts.Customer, "acme"), s.person("Eve", accounts.Customer, "rival")
	list := ada.get("/offers").want(200)
	first := fmt.Sprintf("/offers/%d", ids[0])
	if !slices.Contains(list.links(), first) {
		t.Fatalf("the list does not lead to %s: %v", first, list.links())
	}
	p := ada.get(first).want(200).says("AMD EPYC 7302P, 32 GB").says("Only 2 free now").says("€10.00")
	if machine := param(p, "machine"); machine != "" {
		t.Errorf("a group offers exactly %s", machine)
	}
	single := fmt.Sprintf("/offers/%d", ids[4])
	p = ada.get(single).want(200).says("K5-1").says("There is one of this kind")
	if param(p, "machine") != "K5-1" {
		t.Errorf("a single machine cannot be ordered exactly: %v", p.links())
	}
	// What is theirs is marked and led to; what is somebody else's only counts.
	hold := ada.order("machine=K1-1")
	p = ada.get(first).says("You hold one of these")
	if !slices.Contains(p.links(), hold) {
		t.Errorf("no link to %s: %v", hold, p.links())
	}
	ada.order("machine=K1-2")
	p = ada.get(first).says("You hold 2 of these").says("All held right now")
	if !slices.Contains(p.links(), "/holds?state=held") {
		t.Errorf("no link to the holds: %v", p.links())
	}
	if strings.Contains(plain(eve.get(first)), "You hold") {
		t.Error("another organisation is told that it holds")
	}
	if eve.get(first).says("The next one may come free at").action("/waiting") == nil {
		t.Error("no way to wait for what is held")
	}
	v, _, err := s.server.Holds.Convert(t.Context(), by(), holds.Scope{OrgID: s.acme}, uuid.MustParse(strings.TrimPrefix(hold, "/holds/")))
	if err != nil {
		t.Fatal(err)
	}
	p = ada.get("/offers?max_price=10").says("You rent one of these").says("You hold one of these")
	if !slices.Contains(p.links(), "/services/"+v.ID.String()) {
		t.Errorf("no link to the service: %v", p.links())
	}
	for _, path := range []string{"/offers/0", "/offers/-1", "/offers/01", "/offers/999999", "/offers/99999999999999999999", "/offers/x", "/offers/1;2", "/offers/" + strconv.Itoa(ids[0]) + "/"} {
		ada.get(path).outcome(404, "not-found")
	}
	fixture.Exec(t, s.owner, "update machines set status = 'retired' where asset_tag = 'K5-1'")
	ada.get(single).outcome(404, "not-found")
	s.person("Ola", accounts.Operator, "").get(first).want(200)
	s.stranger().get(first).outcome(401, "unauthenticated")
}

// param is the value of a parameter in the first link of the page that has it.
func param(p page, name string) string {
	for _, l := range p.links() {
		if u, err := url.Parse(l); err == nil && u.Query().Get(name) != "" {
			return u.Query().Get(name)
		}
	}
	return ""
}

func TestCompare(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids := kinds(t, s)
	ada := s.person("Ada", accounts.Customer, "acme")
	query := func(of ...int) string {
		q := url.Values{}
		for _, id := range of {
			q.Add("class", strconv.Itoa(id))
		}
		return q.Encode()
	}
	// The form of the list leads there.
	list := ada.get("/offers?sort=-price&" + query(ids[3]))
	ticked := 0
	for _, i := range list.find("input") {
		if attrOf(i, "name") == "class" && attrOf(i, "type") == "checkbox" && strings.Contains(list.raw, `value="`+attrOf(i, "value")+`" form="compare" checked`) {
			ticked++
		}
	}
	if ticked != 1 {
		t.Errorf("%d ticked in the list", ticked)
	}
	p := ada.submit(list, "/offers/compare", "class", strconv.Itoa(ids[3]), "class", strconv.Itoa(ids[0])).want(200)
	if n := len(findIn(p.find("thead")[0], "th")); n != 1+2 {
		t.Errorf("%d side by side", n)
	}
	p.says("Price per month").says("€40.00").says("€10.00").says("2 configurations side by side")
	back := ""
	for _, l := range p.links() {
		if strings.HasPrefix(l, "/offers?") {
			back = l
		}
	}
	if u, _ := url.Parse(back); u == nil || u.Query().Get("sort") != "-price" || len(u.Query()["class"]) != 2 {
		t.Errorf("the way back is %q", back)
	}
	// Two differ in price and memory, not in the processor.
	differ := []string{}
	for _, row := range p.find("tr") {
		if attrOf(row, "class") == "differs" {
			differ = append(differ, strings.Join(strings.Fields(textOf(findIn(row, "th")[0])), " "))
		}
	}
	if !slices.Equal(differ, []string{"Price per month (differs)", "Memory (differs)"}) {
		t.Errorf("said to differ: %q", differ)
	}
	if n := len(findIn(ada.get("/offers/compare?" + query(ids...)).want(200).says("At most 4 stand side by side").find("thead")[0], "th")); n != 1+4 {
		t.Errorf("%d side by side", n)
	}
	ada.get("/offers/compare?" + query(ids[0], ids[0], 424242)).want(200).says("One of those that you ticked is no longer offered").says("One configuration")
	ada.get("/offers/compare").want(200).says("Nothing to compare")
	ada.get("/offers/compare?class=x&class=-1&class=").want(200).says("Nothing to compare")
	for _, back := range []string{"//evil.example", "https://evil.example/offers", "javascript:alert(1)", "/holds", "/offers/../x"} {
		p := ada.get("/offers/compare?" + query(ids[0]) + "&" + url.Values{"back": {back}}.Encode()).want(200)
		for _, l := range p.links() {
			if strings.Contains(l, "evil") || strings.Contains(l, "javascript") || strings.HasPrefix(l, "/holds") {
				t.Errorf("back to %q leads to %s", back, l)
			}
		}
	}
}

func TestOffersAsFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kinds(t, s)
	fixture.Exec(t, s.owner, `update sites set name = '=HYPERLINK("http://evil","x")'`)
	fixture.Exec(t, s.owner, "insert into sites (code, name) values ('S2', 'Ålesund, \"harbour\"')")
	fixture.Exec(t, s.owner, `insert into machines (asset_tag, site_code, vendor, cpu, cores, threads, ram_gb, price_month_minor, setup_minor, status, features)
		values ('X', 'S2', '+evil', '@SUM(1)', 4, 8, 16, 1999, 5, 'ready', '{-x,"a;b"}')`)
	ada := s.person("Ada", accounts.Customer, "acme")
	ada.order("machine=K1-1")
	ada.header.Set("Accept-Language", "de") // the file is for programs
	p := ada.get("/offers.csv?sort=-price").want(200)
	if kind := p.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/csv; charset=utf-8") {
		t.Errorf("content type %q", kind)
	}
	if d := p.header.Get("Content-Disposition"); !strings.HasPrefix(d, `attachment; filename="ironhold-servers-2`) {
		t.Errorf("disposition %q", d)
	}
	if strings.Contains(strings.ReplaceAll(p.raw, "\r\n", ""), "\n") {
		t.Error("lines do not end as RFC 4180 has it")
	}
	rows, err := csv.NewReader(strings.NewReader(p.raw)).ReadAll()
	if err != nil || len(rows) != 7 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	if got := rows[1][at["price_month"]]; got != "50.00" {
		t.Errorf("the dearest first: %s", got)
	}
	for _, row := range rows[1:] {
		for i, cell := range row {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
				t.Errorf("%s would be taken for a formula: %q", rows[0][i], cell)
			}
		}
	}
	last := rows[5]
	for name, want := range map[string]string{"site_name": `Ålesund, "harbour"`, "vendor": "'+evil", "cpu": "'@SUM(1)", "price_month": "19.99", "setup": "0.05", "features": "'-x; a;b"} {
		if got := last[at[name]]; got != want && rows[4][at[name]] != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !slices.ContainsFunc(rows, func(row []string) bool { return row[at["you_hold"]] == "1" && row[at["free"]] == "1" }) {
		t.Error("what they hold is not marked")
	}
	// The same filters, the same rows, all pages of them.
	fixture.Equal(t, s.owner, "E", 1)
	for _, q := range []string{"min_ram_gb=64", "min_ram_gb=64&sort=ram", "site=S2", "max_price=20,00", "min_ram_gb=4096"} {
		rows, err := csv.NewReader(strings.NewReader(ada.get("/offers.csv?" + q).want(200).raw)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, tr := range ada.get("/offers?" + q).want(200).find("tbody") {
			for _, a := range findIn(tr, "a") {
				if id, ok := strings.CutPrefix(attrOf(a, "href"), "/offers/"); ok {
					want = append(want, id)
				}
			}
		}
		var got []string
		for _, row := range rows[1:] {
			got = append(got, row[at["id"]])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the file has %v, the page %v", q, got, want)
		}
	}
	if to := ada.get("/offers.csv?min_cores=many").want(303).header.Get("Location"); to != "/offers?min_cores=many" {
		t.Errorf("a wrong filter leads to %s", to)
	}
	s.stranger().get("/offers.csv").outcome(401, "unauthenticated")
}

func TestWhatMatchesWhileChoosing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kinds(t, s)
	ada := s.person("Ada", accounts.Customer, "acme")
	p := ada.get("/order/match?min_ram_gb=96").want(200).says("5 free servers match")
	if len(p.find("main")) != 0 || len(p.find("form")) != 0 {
		t.Error("a part is a whole page")
	}
	ada.get("/order/match?machine=K5-1").want(200).says("One free server matches")
	ada.get("/order/match?min_ram_gb=4096").want(200).says("No free server matches")
	ada.get("/order/match?min_ram_gb=lots&max_price=-1").want(200).says("as soon as these entries are right")
	ada.get("/order/match?machine=NO-SUCH").want(200).says("as soon as these entries are right")
	s.person("Ola", accounts.Operator, "").get("/order/match").outcome(403, "forbidden")
	s.person("Sam", accounts.Sales, "").get("/order/match?org=acme&min_ram_gb=96").want(200).says("5 free servers match")
	s.stranger().get("/order/match").outcome(401, "unauthenticated")
	// A notice waits for the next page.
	ada.post("/waiting", "min_ram_gb", "4096").want(303)
	ada.get("/order/match")
	ada.get("/waiting").says("You are on the waiting list")
}

// The catalogue of whole fleets stays below 50 kB, page by page, sorted, filtered, wrongly filtered,
// and in the longer language.
func TestWholeFleetsFitThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if err := s.server.Fleet.Sample(t.Context(), pg.By{Actor: "test"}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("../testdata/fleet-1173.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	if _, err := s.server.Fleet.Import(t.Context(), pg.By{Actor: "test"}, file, fleet.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	b := s.person("Maximiliane Freifrau von und zu Hohenlohe-Waldenburg", accounts.OrgAdmin, "acme") // a long head
	b.header.Set("Accept-Language", "de")
	fixture.Exec(t, s.owner, "update org_limits set max_holds = 50 where org_id = $1", s.acme)
	for i := range 25 { // what is one's own says so
		b.post("/order", "key", fmt.Sprint("k-", i), "min_ram_gb", strconv.Itoa(16*i)).want(303)
	}
	seen := 0
	for _, query := range []string{"", "sort=-ram", "sort=-price", "min_ram_gb=abc&max_price=x", "min_ram_gb=256&feature=ECC"} {
		for page := 1; page <= 4; page++ {
			p := b.get("/offers?" + query + "&page=" + strconv.Itoa(page)).want(200)
			if seen = max(seen, len(p.raw)); len(p.raw) > 50_000 {
				t.Errorf("%s: %d bytes", p.what, len(p.raw))
			}
		}
	}
	t.Logf("the largest has %d bytes", seen)
}
