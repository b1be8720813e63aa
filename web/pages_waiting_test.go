package web

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/net/html"

	"ironhold/accounts"
	"ironhold/holds"
	"ironhold/migrations/pgtest/fixture"
)

// refused is the page of an order that found everything taken.
func (b *browser) refused(query, outcome string, status int) page {
	b.s.t.Helper()
	return b.submit(b.review(query), "/order").outcome(status, outcome)
}

// action is the first form of the page whose action ends so.
func (p page) action(action string) *html.Node {
	for _, f := range p.find("form") {
		if strings.HasSuffix(attrOf(f, "action"), action) {
			return f
		}
	}
	return nil
}

func TestWaitingFromTheRefusalToTheOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "M-1"}, fixture.Machine{Tag: "M-2", RAM: 128})
	ada, eve := s.person("Ada", accounts.Customer, "acme"), s.person("Eve", accounts.Customer, "rival")
	ada.get("/waiting").want(200).says("You are not waiting for anything")
	if links := ada.get("/holds").find("nav")[0]; strings.Contains(textOf(links), "Waiting") {
		t.Error("the navigation leads to a list that is empty")
	}
	first := eve.order("machine=M-2")

	no := ada.refused("min_ram_gb=128", "all-held", 409)
	fields := map[string]string{}
	for _, i := range findIn(no.action("/waiting"), "input") {
		fields[attrOf(i, "name")] = attrOf(i, "value")
	}
	if _, err := uuid.Parse(fields["attempt"]); err != nil || fields["min_ram_gb"] != "128" || len(fields) != 2 {
		t.Errorf("the form has %v", fields)
	}
	for range 2 { // once, and again
		p := ada.submit(no, "/waiting").want(303)
		if at := p.header.Get("Location"); at != "/waiting" {
			t.Fatalf("leads to %s", at)
		}
	}
	list := ada.get("/waiting").want(200).says("You are on the waiting list").says("You are waiting for one thing").says("at least 128").says("by Ada")
	if n := len(list.find("li")); strings.Count(list.raw, "/stop") != 1 {
		t.Errorf("%d entries in %d items", strings.Count(list.raw, "/stop"), n)
	}
	if got := fixture.Get[uuid.UUID](t, s.owner, "select attempt_id from waiting_list"); got.String() != fields["attempt"] {
		t.Errorf("the entry remembers attempt %s", got)
	}
	ada.get("/holds").says("You are waiting for one thing to come free")

	match := func(want int) {
		t.Helper()
		if n, err := s.server.Allocator.MatchWaiting(t.Context()); err != nil || n != want {
			t.Fatalf("told %d, %v", n, err)
		}
	}
	match(0)
	eve.submit(eve.get(first), "/cancel").want(303)
	match(1)
	ada.get("/holds").says("A server came free that you waited for").says("one came free")
	eve.get("/waiting").want(200).says("You are not waiting for anything")
	told := ada.get("/waiting").says("A server came free for you").says("M-2 came free at").says("Free now")
	exact := ""
	for _, l := range told.links() {
		if u, err := url.Parse(l); err == nil && u.Query().Get("machine") == "M-2" {
			exact = u.RawQuery
		}
	}
	if exact == "" {
		t.Fatalf("no link to the machine: %v", told.links())
	}

	// Somebody else is quicker: the page says so and lets one wait on.
	second := eve.order("machine=M-2")
	gone := ada.get("/waiting").says("Taken meanwhile")
	eve.submit(eve.get(second), "/cancel").want(303)
	ada.submit(gone, "/waiting").want(303)
	ada.get("/waiting").says("You are waiting for one thing")

	hold := ada.submit(ada.follow(ada.get("/order?"+exact)), "/order").want(303).header.Get("Location")
	mine := ada.get("/waiting").says("On hold for you")
	if !strings.Contains(strings.Join(mine.links(), " "), hold) {
		t.Errorf("no link to the hold: %v", mine.links())
	}
	for range 2 { // what waits, then what was told
		p := ada.get("/waiting")
		ada.submit(p, attrOf(p.action("/stop"), "action")).want(303)
	}
	ada.get("/waiting").says("You are not waiting for anything")
}

func TestWaitingIsOnesOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "M-1"})
	ada, eve := s.person("Ada", accounts.Customer, "acme"), s.person("Eve", accounts.Customer, "rival")
	ada.post("/waiting", "min_ram_gb", "512").want(303)
	id := fixture.Get[uuid.UUID](t, s.owner, "select id from waiting_list").String()
	missing := eve.post("/waiting/"+uuid.NewString()+"/stop").outcome(404, "not-found")
	foreign := eve.post("/waiting/"+id+"/stop").outcome(404, "not-found")
	if plain(missing) != plain(foreign) {
		t.Error("a foreign entry answers unlike a missing one")
	}
	eve.post("/waiting/x/stop").outcome(404, "not-found")
	eve.get("/waiting").says("You are not waiting for anything")
	if got := fixture.Get[string](t, s.owner, "select state from waiting_list"); got != "waiting" {
		t.Errorf("the entry is %s", got)
	}
	for role, who := range map[accounts.Role]*browser{accounts.Sales: s.person("Sam", accounts.Sales, ""), accounts.Operator: s.person("Ola", accounts.Operator, "")} {
		who.get("/waiting").outcome(403, "forbidden")
		who.post("/waiting", "min_ram_gb", "1").outcome(403, "forbidden")
		who.post("/waiting/"+id+"/stop").outcome(403, "forbidden")
		if links := textOf(who.get("/holds").find("nav")[0]); strings.Contains(links, "Waiting") {
			t.Errorf("%s has a waiting list in the navigation", role)
		}
	}
	s.stranger().get("/waiting").outcome(401, "unauthenticated")
	// Another's attempt is not taken over; nobody waits in another's name.
	attempt := fixture.Get[uuid.UUID](t, s.owner, `insert into allocation_attempts (id, org_id, actor, idempotency_key, outcome, request)
		values (gen_random_uuid(), $1, 'test', 'k', 'none_left', '{}') returning id`, s.acme).String()
	eve.post("/waiting", "cpu", "Xeon", "attempt", attempt).want(303)
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from waiting_list where attempt_id is not null"); n != 0 {
		t.Error("another organisation's attempt was taken over")
	}
	eve.post("/waiting", "cpu", "Xeon", "org", "acme").outcome(422, "invalid")
	eve.post("/waiting", "cpu", "Xeon", "state", "told").outcome(422, "invalid")
	eve.post("/waiting", "min_ram_gb", "lots", "machine", "NO-SUCH").outcome(422, "invalid").says("2 things need your attention")
	if n := fixture.Get[int](t, s.owner, "select count(*)::int from waiting_list where org_id = $1", s.acme); n != 1 {
		t.Errorf("acme has %d entries", n)
	}
}

func TestWaitingListIsFull(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "M-1"})
	ada := s.person("Ada", accounts.Customer, "acme")
	for i := range 20 {
		ada.post("/waiting", "min_ram_gb", fmt.Sprint(1000+i)).want(303)
	}
	full := ada.post("/waiting", "min_ram_gb", "2000").outcome(409, "waiting-list-full")
	if !strings.Contains(strings.Join(full.links(), " "), "/waiting") {
		t.Errorf("no way to the list: %v", full.links())
	}
	ada.post("/waiting", "min_ram_gb", "1000").want(303) // is there already
	p := ada.get("/waiting").says("20 things")
	if len(p.raw) > 50_000 {
		t.Errorf("%d bytes", len(p.raw))
	}
}

// Every refusal that waiting may change offers it, to those who may order for themselves.
func TestRefusalsOfferToWait(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "M-1"})
	ada := s.person("Ada", accounts.Customer, "acme")
	if ada.refused("min_ram_gb=4096", "none-left", 409).action("/waiting") == nil {
		t.Error("none left: no way to wait")
	}
	// Held too often today.
	scope := holds.Scope{OrgID: s.acme}
	for extend := true; ; extend = false { // 30 of the 45 minutes, then 15
		id := uuid.MustParse(strings.TrimPrefix(ada.order("machine=M-1"), "/holds/"))
		if extend {
			if _, err := s.server.Holds.Extend(t.Context(), by(), scope, id, ""); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.server.Holds.Cancel(t.Context(), by(), scope, id, ""); err != nil {
			t.Fatal(err)
		}
		if !extend {
			break
		}
	}
	p := ada.submit(ada.review("machine=M-1"), "/order")
	if p.outcome(429, "cool-down").action("/waiting") == nil {
		t.Error("cool-down: no way to wait")
	}
	sam := s.person("Sam", accounts.Sales, "")
	if p := sam.submit(sam.review("min_ram_gb=4096&org=acme"), "/order").outcome(409, "none-left"); p.action("/waiting") != nil {
		t.Error("sales are offered to wait for others")
	}
}
