package web

import (
	"bytes"
	"encoding/csv"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"ironhold/accounts"
	"ironhold/fleet"
	"ironhold/migrations/pgtest/fixture"
)

// recorded waits until an attempt is on record.
func (s *site) recorded(id string) {
	s.t.Helper()
	for range 100 {
		if fixture.Get[int](s.t, s.owner, "select count(*)::int from allocation_attempts where id = $1", id) > 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Fatalf("attempt %s is not on record", id)
}

// file reads an answer as CSV.
func (p page) file() [][]string {
	p.t.Helper()
	p.want(200)
	if !strings.HasPrefix(p.header.Get("Content-Type"), "text/csv") || !strings.Contains(p.header.Get("Content-Disposition"), "attachment") {
		p.t.Errorf("%s: %v", p.what, p.header)
	}
	rows, err := csv.NewReader(strings.NewReader(p.raw)).ReadAll()
	if err != nil {
		p.t.Fatal(err)
	}
	return rows
}

func TestDeskOfRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 3)
	ada, sam := s.person("Ada", accounts.Customer, "acme"), s.person("Sam", accounts.Sales, "")
	none := ada.submit(ada.review("min_ram_gb=1024&cpu==cmd"), "/order").outcome(409, "none-left")
	id := referenceOf(none)
	s.recorded(id)
	site := fixture.Get[string](t, s.owner, "select site_code from machines limit 1")

	// The filters, and the same rows as a file.
	sam.get("/desk?outcome=none_left&org=acme&from=2020-01-01T00:00").want(200).says("acme").says("at least 1,024")
	sam.get("/desk?outcome=refused").want(200).says("acme").says("at least 1,024")
	for _, other := range []string{"outcome=held", "org=rival", "site=" + site, "to=2020-01-01T00:00"} {
		sam.get("/desk?" + other).want(200).says("No order requests here")
	}
	sam.get("/desk?from=yesterday&org=nobody&outcome=x").want(200).says("Give a date and a time")
	rows := sam.get("/desk/attempts.csv?outcome=none_left&org=acme").file()
	if len(rows) != 2 || rows[1][0] != id || rows[1][2] != "none_left" {
		t.Errorf("file: %v", rows)
	}
	if rows := sam.get("/desk/attempts.csv?org=rival").file(); len(rows) != 1 {
		t.Errorf("file of others: %v", rows)
	}
	ada.get("/desk/attempts.csv").outcome(403, "forbidden")

	// Every machine with its reasons, now.
	record := sam.get("/desk/attempts/" + id).want(200).says("What you can do")
	sam.get("/desk/attempts/" + id + "/machines").want(200).says("surveyed now").says("EQ-1").says("Too little memory")
	sam.get("/desk/attempts/" + id + "/machines?reason=held").want(200).says("No machine has this reason")
	if rows := sam.get("/desk/attempts/" + id + "/machines.csv?reason=too_little_memory").file(); len(rows) != 4 || rows[1][0] != "EQ-1" || rows[1][1] != "no" {
		t.Errorf("machines: %v", rows)
	}

	// None left: a purchase request, which counts what it would have served.
	sam.follow(sam.submit(record, "/desk/requests", "where", site, "note", "asked twice")).want(200).says("asked twice").
		says("One refused order of the last 30 days would have been served").says("by Sam")
	purchase := fixture.Get[string](t, s.owner, "select id::text from purchase_requests")
	sam.post("/desk/requests/"+purchase, "state", "ordered", "note", " ").want(422).says("Please fill this in")
	sam.follow(sam.post("/desk/requests/"+purchase, "state", "ordered", "note", "PO 4711")).want(200).says("PO 4711").says("Ordered")
	sam.get("/desk/demand").want(200).says("One order of the last 30 days").says("Any place").says("at least 1,024")
	sam.post("/desk/requests", "where", "NOWHERE", "min_cores", "4").outcome(422, "invalid")
	ada.post("/desk/requests", "where", site).outcome(403, "forbidden")

	// Anything is found by what people quote.
	for q, want := range map[string]string{id: "/desk/attempts/" + id, "EQ-2": "/fleet/machines/EQ-2", "rival": "/admin/orgs/rival", purchase: "/desk/requests"} {
		if got := sam.get("/desk/find?q=" + q).want(303).header.Get("Location"); got != want {
			t.Errorf("%q leads to %s", q, got)
		}
	}
	sam.get("/desk/find?q=EQ").want(200).says("3 things found")
	sam.get("/desk/find?q=%00%FF").want(200).says("Nothing found")
	ada.get("/desk/find?q=EQ").outcome(403, "forbidden")
}

func TestDeskOnBehalf(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 2)
	ada, sam, olga := s.person("Ada", accounts.Customer, "acme"), s.person("Sam", accounts.Sales, ""), s.person("Olga", accounts.Operator, "")

	// A simulation shows what would be given, and gives nothing.
	state := s.state()
	review := sam.review("machine=EQ-1&org=acme")
	sam.submit(review, "/desk/simulate").want(200).says("This was a simulation").says("EQ-1").says("Held")
	if s.state() != state {
		t.Error("a simulation changed something")
	}
	olga.post("/desk/simulate", "machine", "EQ-1", "org", "acme").outcome(403, "forbidden")
	ada.post("/desk/simulate", "machine", "EQ-1").outcome(403, "forbidden")

	// The cool-down is overridden with a reason, by sales alone.
	for range 3 {
		p := ada.submit(ada.review("machine=EQ-1"), "/order")
		if p.status != http.StatusSeeOther {
			break
		}
		ada.post(p.header.Get("Location") + "/cancel").want(303)
	}
	cool := ada.submit(ada.review("machine=EQ-1"), "/order").outcome(429, "cool-down")
	id := referenceOf(cool)
	s.recorded(id)
	ada.post("/order", "key", "k-1", "machine", "EQ-1", "override", "please").outcome(422, "invalid")
	record := sam.get("/desk/attempts/" + id).want(200).says("with a reason")
	held := sam.submit(record, "/order", "override", "promised on the phone").want(303).header.Get("Location")
	attempt := fixture.Get[string](t, s.owner, "select attempt_id::text from holds where id = $1", strings.TrimPrefix(held, "/holds/"))
	sam.get("/desk/attempts/" + attempt).want(200).says("promised on the phone").says("EQ-1")

	// Notes are the staff's own.
	hold := sam.get(held).want(200).says("Internal notes")
	sam.follow(sam.submit(hold, "/desk/notes", "body", "owes <b>money</b>")).want(200).says("owes <b>money</b>").says("by Sam")
	sam.submit(hold, "/desk/notes", "body", " ").want(422)
	olga.get(held).says("owes <b>money</b>")
	sam.follow(sam.submit(sam.get("/admin/orgs/acme"), "/desk/notes", "body", "a secret of the house")).want(200).says("a secret of the house")
	for _, path := range []string{held, "/holds", "/services", "/", "/account", "/offers"} {
		if p := ada.get(path); strings.Contains(p.raw, "owes ") || strings.Contains(p.raw, "secret of the house") || contains(p, "Internal notes") {
			t.Errorf("%s shows the notes of staff to a customer", path)
		}
	}
	for _, path := range []string{"/holds", "/holds/" + strings.TrimPrefix(held, "/holds/"), "/services"} {
		if body := string(s.do(customer, "GET", "/api/v1"+path, nil).want(200).body); strings.Contains(body, "owes ") {
			t.Errorf("%s shows the notes of staff to a customer", path)
		}
	}
	ada.post("/desk/notes", "subject", "hold", "id", strings.TrimPrefix(held, "/holds/"), "body", "x").outcome(403, "forbidden")
	sam.post("/desk/notes", "subject", "nonsense", "id", attempt, "body", "x").outcome(404, "not-found")
	sam.post("/desk/notes", "subject", "hold", "id", attempt, "body", "x").outcome(404, "not-found")

	// All holds; the overdue one is marked; given back with a reason.
	other := ada.order("machine=EQ-2")
	fixture.Exec(t, s.owner, "update holds set expires_at = clock_timestamp() - interval '1 minute' where id = $1", strings.TrimPrefix(other, "/holds/"))
	sam.get("/desk/holds").want(200).says("Overdue").says("acme").says("Give back")
	path := "/desk" + held + "/give-back"
	sam.submit(sam.get(path).want(200).says("ends now"), "/give-back", "reason", " ").want(422).says("Please fill this in")
	sam.follow(sam.submit(sam.get(path), "/give-back", "reason", "the customer called")).outcome(200, "hold-cancelled").says("the customer called")
	ada.get(path).outcome(403, "forbidden")
}

// upload sends a file.
func (b *browser) upload(content []byte) page {
	b.s.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	f, err := w.CreateFormFile("file", `C:\fleet.csv`)
	if err != nil {
		b.s.t.Fatal(err)
	}
	_, _ = f.Write(content)
	_ = w.Close()
	b.header.Set("Content-Type", w.FormDataContentType())
	defer b.header.Del("Content-Type")
	return b.raw("POST", "/fleet/import", &body)
}

func TestImportInTheBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	olga, sam := s.person("Olga", accounts.Operator, ""), s.person("Sam", accounts.Sales, "")
	fixture.Equal(t, s.owner, "EQ", 1)
	text := "asset_tag,site,cpu,cores,ram_gb\nNEW-1,NEW1,Xeon,8,64\nNEW-2,NEW1,Xeon,eight,64\n"
	olga.get("/fleet/import").want(200).says("At most 16 MB")
	preview := olga.follow(olga.upload([]byte(text)).want(303)).want(200).says("Nothing has changed yet").says("fleet.csv").says("Take in one machine")
	if contains(preview, "C:") {
		t.Error("the folder on the operator's machine is shown")
	}
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from machines where site_code = 'NEW1'"); n != 0 {
		t.Errorf("%d machines before the confirmation", n)
	}
	id := fixture.Get[string](t, s.owner, "select id::text from import_uploads limit 1")
	olga.post("/fleet/import/confirm", "upload", id, "hash", "00").want(410).says("not kept any more")
	olga.submit(preview, "/confirm").want(200).says("was taken in")
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from machines where site_code = 'NEW1'"); n != 1 {
		t.Errorf("%d machines", n)
	}
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from import_uploads"); n != 0 {
		t.Error("the file is still there")
	}
	olga.submit(preview, "/confirm").want(410)
	olga.follow(olga.upload([]byte("what,is,this\n1,2,3\n")).want(303)).want(422).says("cannot be taken in")
	olga.upload(nil).want(422).says("not empty")
	olga.upload(bytes.Repeat([]byte("x"), fleet.MaxUpload+1)).want(413).says("larger than 16 MB")
	olga.get("/fleet/import?upload=x").outcome(404, "not-found")
	sam.get("/fleet/import").outcome(403, "forbidden")
	sam.upload([]byte(text)).outcome(403, "forbidden")
	olga.get("/fleet/classes").want(200).says("Xeon")
}

func TestOrganisationsOfTheOperator(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 2)
	olga, sam, ada := s.person("Olga", accounts.Operator, ""), s.person("Sam", accounts.Sales, ""), s.person("Ada", accounts.Customer, "acme")
	ada.order("machine=EQ-1")
	list := olga.get("/admin/orgs").want(200).says("acme").says("1 of 5")
	olga.submit(list, "/admin/orgs", "slug", "Not a slug", "name", "N", "max_holds", "5", "max_machines", "x").want(422).says("whole number")
	olga.submit(list, "/admin/orgs", "slug", "acme", "name", "N", "max_holds", "5", "max_machines", "5").want(422).says("Another organisation")
	olga.follow(olga.submit(list, "/admin/orgs", "slug", "newcomer", "name", "New Comer", "max_holds", "2", "max_machines", "3")).want(200).says("New Comer").says("0 of 2")
	org := olga.get("/admin/orgs/acme").want(200).says("1 of 5").says("Ada")
	olga.submit(org, "/limits", "max_holds", "-1", "max_machines", "5").want(422)
	olga.follow(olga.submit(org, "/limits", "max_holds", "7", "max_machines", "9")).want(200).says("1 of 7")
	olga.submit(org, "/suspend", "do", "suspend", "reason", "").want(422).says("Say why")
	olga.follow(olga.submit(org, "/suspend", "do", "suspend", "reason", "does not pay")).want(200).says("does not pay").says("by Olga")
	ada.submit(ada.review("machine=EQ-2"), "/order").outcome(403, "organisation-suspended")
	olga.follow(olga.submit(olga.get("/admin/orgs/acme"), "/suspend", "do", "resume", "reason", "paid in March")).want(200).says("Active").says("paid in March").says("does not pay")
	sam.get("/admin/orgs/acme").says("paid in March").says("does not pay")
	bea := s.person("Bea", accounts.OrgAdmin, "acme")
	if p := bea.get("/org/history").says("New holds allowed again"); strings.Contains(p.raw, "paid in March") || strings.Contains(p.raw, "does not pay") {
		t.Error("the organisation reads why")
	}
	sam.get("/admin/orgs/acme").want(200)
	sam.post("/admin/orgs/acme/limits", "max_holds", "1", "max_machines", "1").outcome(403, "forbidden")
	sam.post("/admin/orgs/acme/suspend", "do", "suspend", "reason", "x").outcome(403, "forbidden")
	sam.post("/admin/orgs", "slug", "x", "name", "x").outcome(403, "forbidden")
	ada.get("/admin/orgs").outcome(403, "forbidden")
	olga.get("/admin/orgs/nobody").outcome(404, "not-found")
	olga.get("/admin/checks").want(200).says("checks are fine")
	sam.get("/admin/checks").outcome(403, "forbidden")
	olga.get("/admin/jobs").outcome(404, "not-found") // none here
	sam.get("/admin/jobs").outcome(403, "forbidden")
	s.stranger().get("/admin/jobs/api/jobs").outcome(401, "unauthenticated")
}
