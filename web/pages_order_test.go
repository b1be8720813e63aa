package web

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"ironhold/accounts"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

func TestWholeOrderByForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 3)
	b := s.person("Ada", accounts.Customer, "acme")

	b.get("/").want(200).says("Hello, Ada")
	offers := b.get("/offers").want(200).says("3 servers are free now")
	var choose string
	for _, l := range offers.links() {
		if strings.HasPrefix(l, "/order?") {
			choose = l
		}
	}
	review := b.follow(b.get(choose)).want(200).says("Hold a server for 15 minutes")
	held := b.submit(review, "/order").want(http.StatusSeeOther)
	path := held.header.Get("Location")
	hold := b.get(path).outcome(200, "held").says("Extend once by 15 minutes").says("by Ada")
	before := attrOf(deadlineOf(hold), "data-deadline")
	hold = b.follow(b.submit(hold, "/extend")).outcome(200, "held").says("Extended.")
	if after := attrOf(deadlineOf(hold), "data-deadline"); after <= before {
		t.Errorf("the deadline did not move: %s, %s", before, after)
	}
	b.get(path + "/clock").want(200)
	confirm := b.get(path + "/confirm").want(200).says("€40.00")
	service := b.follow(b.submit(confirm, "/confirm")).outcome(200, "service").says("is yours").says("What happens next")
	b.get(path).outcome(200, "hold-converted")
	b.get("/holds").want(200).says("Confirmed")
	b.get("/services").want(200).says("Running")
	id := fixture.Get[string](t, s.owner, "select id::text from services")
	service.says(id)
	end := b.get("/services/" + id + "/end").want(200).says("drives are erased")
	b.follow(b.submit(end, "/end", "reason", "no longer needed")).outcome(200, "service-ended").says("no longer needed")
	b.get("/services").says("Ended")
}

// TestSentTwice: a double click, a resubmit after going back and a reload end at one hold.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 6)
	b := s.person("Ada", accounts.Customer, "acme")
	first := b.get("/order?step=review&min_ram_gb=16").want(http.StatusSeeOther).header.Get("Location")
	review := b.get(first).want(200)
	places := make([]string, 5)
	var wg sync.WaitGroup
	for i := range places {
		wg.Go(func() { places[i] = b.submit(review, "/order").header.Get("Location") })
	}
	wg.Wait()
	// Going back loads the review anew: its address keeps the key.
	places = append(places, b.submit(b.get(first), "/order").header.Get("Location"))
	for _, p := range places {
		if p != places[0] || !strings.HasPrefix(p, "/holds/") {
			t.Errorf("the repeats led to %v", places)
			break
		}
	}
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from holds"); n != 1 {
		t.Errorf("%d holds", n)
	}
	// Extending twice by the same form moves the deadline once and shows the same page.
	hold := b.get(places[0])
	b.submit(hold, "/extend").want(http.StatusSeeOther)
	b.submit(hold, "/extend").want(http.StatusSeeOther)
	confirm := b.get(places[0] + "/confirm")
	one, two := b.submit(confirm, "/confirm"), b.submit(confirm, "/confirm")
	if one.header.Get("Location") != two.header.Get("Location") || one.status != http.StatusSeeOther {
		t.Errorf("confirming twice led to %q and %q", one.header.Get("Location"), two.header.Get("Location"))
	}
	// Another order by the same key is told so.
	key := keyOf(review)
	b.post("/order", "key", key, "min_ram_gb", "17").outcome(422, "key-reused").says("used already")
}

func TestRefusalPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx, by := t.Context(), pg.By{Actor: "test"}
	fixture.Add(t, s.owner, fixture.Machine{Tag: "A-1"}, fixture.Machine{Tag: "A-2"}, fixture.Machine{Tag: "B-1", RAM: 512, Site: "SITE2"})
	b, rival := s.person("Ada", accounts.Customer, "acme"), s.person("Rita", accounts.Customer, "rival")

	none := b.submit(b.review("min_ram_gb=1024"), "/order").outcome(409, "none-left").says("Nothing is held, and nothing was charged")
	if !strings.Contains(strings.Join(none.links(), " "), "min_ram_gb=512") {
		t.Errorf("no near miss to click: %v", none.links())
	}
	for _, l := range none.links() {
		if strings.Contains(l, "min_ram_gb=512") {
			b.follow(b.get(l)).want(200).says("One free server matches")
		}
	}
	held := b.order("machine=B-1")
	all := rival.submit(rival.review("machine=B-1"), "/order").outcome(409, "all-held").says("may come free at")
	if strings.Contains(all.raw, "acme") {
		t.Error("the holder's organisation is named")
	}
	b.submit(b.review("machine=B-1"), "/order").outcome(409, "already-yours").says("holds exactly this server")
	if got := b.submit(b.review("machine=B-1"), "/order").links(); !strings.Contains(strings.Join(got, " "), held) {
		t.Errorf("already yours does not lead to the hold: %v", got)
	}
	b.post("/order", "machine", "A-1").outcome(400, "key-missing")
	b.post("/order", "key", "k", "min_ram_gb", "-5", "min_cores", "x", "nonsense", "1", "max_price", "1.2.3").outcome(422, "invalid").
		says("4 things need your attention").says("nonsense")
	b.get("/order?step=review&site=NOWHERE").want(http.StatusSeeOther)
	b.follow(b.get("/order?step=review&site=NOWHERE&machine=X-9")).outcome(422, "invalid").says("no such place").says("no server with this asset tag")

	b.submit(b.get(held), "/extend").want(303)
	b.post(held+"/extend", "key", "another").outcome(409, "extension-used").says("Its deadline has not moved")
	b.get(held + "/extend").want(303)

	b.submit(b.get(held), "/cancel").want(303)
	b.get(held).outcome(200, "hold-cancelled").says("Nothing was charged").says("by Ada")
	b.post(held+"/confirm").outcome(409, "hold-cancelled")
	b.post(held + "/cancel").want(303)

	held = b.order("machine=A-1")
	fixture.Exec(t, s.owner, "update machines set status = 'maintenance', status_reason = 'fan' where asset_tag = 'A-1'")
	withdrawn := b.get(held).outcome(200, "machine-withdrawn").says("Take an equal server")
	b.post(held+"/confirm").outcome(409, "machine-withdrawn").says("equal one")
	b.follow(b.submit(withdrawn, "/substitute")).outcome(200, "held").says("A-2")
	fixture.Exec(t, s.owner, "update machines set status = 'ready', wiped_at = clock_timestamp() where asset_tag = 'A-1'")

	held = rival.order("machine=B-1")
	expire(t, s, held)
	rival.post(held+"/confirm").outcome(410, "hold-expired").says("What you asked for is kept")
	rival.post(held+"/extend").outcome(410, "hold-expired")
	gone := rival.get(held).outcome(200, "hold-expired").says("Hold the same server again")
	if !strings.Contains(strings.Join(gone.links(), " "), "machine=B-1") {
		t.Errorf("no way back to the same machine: %v", gone.links())
	}
	held = rival.order("machine=B-1")
	confirmed := rival.follow(rival.submit(rival.get(held+"/confirm"), "/confirm")).outcome(200, "service")
	_ = confirmed
	rival.post(held+"/cancel").outcome(409, "hold-converted")
	rival.submit(rival.review("machine=B-1"), "/order").outcome(409, "already-yours").says("rents exactly this server")

	fixture.Exec(t, s.owner, "update org_limits set max_holds = 0 where org_id = $1", s.rival)
	rival.submit(rival.review("min_ram_gb=8"), "/order").outcome(409, "limit-reached").says("0 live holds at a time, and has 0")
	if _, err := s.server.Accounts.Suspend(ctx, by, "rival", "unpaid"); err != nil {
		t.Fatal(err)
	}
	if p := rival.submit(rival.review("min_ram_gb=8"), "/order").outcome(403, "organisation-suspended"); strings.Contains(p.raw, "unpaid") {
		t.Error("the reason is for staff")
	}
	if _, err := s.server.Rollout.SetOrg(ctx, by, "acme", "off"); err != nil {
		t.Fatal(err)
	}
	form := b.review("min_ram_gb=8").says("switched off")
	b.post("/order", "key", "any", "min_ram_gb", "8").outcome(403, "not-rolled-out").says("administrator of the organisation has switched ordering off")
	_ = form
}

// TestSomeoneWasFaster: of two orders for the last machine one holds it and the other is told so.
func TestSomeoneWasFaster(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "LAST", 1)
	people := []*browser{s.person("Ada", accounts.Customer, "acme"), s.person("Rita", accounts.Customer, "rival")}
	for range 20 {
		answers := make([]page, len(people))
		reviews := []page{people[0].review("min_ram_gb=8"), people[1].review("min_ram_gb=8")}
		var wg sync.WaitGroup
		for i, b := range people {
			wg.Go(func() { answers[i] = b.submit(reviews[i], "/order") })
		}
		wg.Wait()
		for i, a := range answers {
			if a.status == http.StatusSeeOther {
				people[i].submit(people[i].get(a.header.Get("Location")), "/cancel").want(303)
				continue
			}
			if got := attrOf(a.find("main")[0], "data-outcome"); got == "cool-down" {
				return // held too often by now, and told so
			} else if got != "someone-was-faster" && got != "all-held" {
				t.Fatalf("the loser was told %q: %s", got, a.outline())
			} else if a.want(409); got == "someone-was-faster" {
				a.says("Try again now").says("nothing was charged")
				return
			}
		}
	}
}

func TestForeignObjectsAreMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 4)
	ada, rita := s.person("Ada", accounts.Customer, "acme"), s.person("Rita", accounts.OrgAdmin, "rival")
	held := ada.order("min_ram_gb=8")
	sold := ada.order("min_ram_gb=8")
	service := ada.submit(ada.get(sold+"/confirm"), "/confirm").header.Get("Location")
	state := s.state()
	missing := rita.get("/holds/0197a3c2-5f5e-7cc1-9d0a-1f2e3d4c5b6a").outcome(404, "not-found")
	for _, path := range []string{held, held + "/confirm", held + "/clock", sold, service, service + "/end", strings.ToUpper(held[:7]) + held[7:], "/holds/x", "/services/1"} {
		p := rita.get(path).outcome(404, "not-found")
		if plain(p) != plain(missing) {
			t.Errorf("%s differs from what is missing", path)
		}
	}
	for _, path := range []string{held + "/extend", held + "/cancel", held + "/confirm", held + "/substitute", service + "/end"} {
		rita.post(path, "key", "k").outcome(404, "not-found")
	}
	for _, list := range []string{"/holds", "/services", "/", "/offers"} {
		if strings.Contains(rita.get(list).raw, "EQ-") {
			t.Errorf("%s shows another organisation's machine", list)
		}
	}
	if s.state() != state {
		t.Error("something changed")
	}
}

// plain is the page without what differs between two requests.
func plain(p page) string {
	text := textOf(p.find("main")[0])
	if id := p.header.Get("X-Request-Id"); id != "" {
		text = strings.ReplaceAll(text, id, "")
	}
	return text
}

// TestNamesStayText: markup in names is shown and never becomes markup.
func TestNamesStayText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const evil = `<img src=x onerror=alert(1)>"'{{7*7}}`
	fixture.Exec(t, s.owner, "insert into sites (code, name) values ('S', $1)", evil)
	fixture.Exec(t, s.owner, `insert into machines (asset_tag, site_code, vendor, model, cpu, cores, ram_gb, gpu, features, status, status_reason, price_month_minor)
		values ('<b>"X', 'S', $1, $1, $1, 8, 64, $1, array[$1, 'IPv4'], 'ready', $1, 100)`, evil)
	fixture.Exec(t, s.owner, "update organisations set name = $1", evil)
	b, sales := s.person(evil, accounts.Customer, "acme"), s.person(evil, accounts.Operator, "")
	held := b.order("min_cores=8")
	paths := []string{"/", "/offers", "/offers?cpu=" + url.QueryEscape(evil), "/order?step=match", "/order?machine=" + url.QueryEscape(evil), held, held + "/confirm", "/holds", "/account"}
	for _, p := range paths {
		noMarkup(t, b.get(p))
	}
	noMarkup(t, b.submit(b.review("machine="+url.QueryEscape(`<b>"X`)), "/order"))
	for _, p := range []string{"/fleet", "/fleet/machines/" + url.PathEscape(`<b>"X`), "/desk", held, "/holds", "/fleet?q=" + url.QueryEscape(evil)} {
		noMarkup(t, sales.get(p).want(200))
	}
	noMarkup(t, s.stranger().get("/%3Cimg%20src=x%20onerror=alert(1)%3E"))
}

func noMarkup(t *testing.T, p page) {
	t.Helper()
	if n := len(p.find("img")) + len(p.find("b")); n > 0 {
		t.Errorf("%s: names became markup", p.what)
	}
}

func deadlineOf(p page) (box *html.Node) {
	for _, s := range p.find("section") {
		if attrOf(s, "data-deadline") != "" {
			return s
		}
	}
	p.t.Fatalf("%s: no deadline", p.what)
	return nil
}

func keyOf(p page) string { p.t.Helper(); return valueOf(p, "key") }

// valueOf is what stands in the first input of that name.
func valueOf(p page, name string) string {
	p.t.Helper()
	for _, i := range p.find("input") {
		if attrOf(i, "name") == name {
			return attrOf(i, "value")
		}
	}
	p.t.Fatalf("%s: no input %s", p.what, name)
	return ""
}

// expire lets the hold's deadline pass.
func expire(t *testing.T, s *site, path string) {
	t.Helper()
	fixture.Exec(t, s.owner, `update holds set created_at = clock_timestamp() - interval '901 seconds', expires_at = clock_timestamp() - interval '1 second'
		where id = $1::uuid`, strings.TrimPrefix(path, "/holds/"))
}
