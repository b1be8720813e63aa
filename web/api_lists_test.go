package web

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/migrations/pgtest/fixture"
)

// Every list takes limit and cursor and says every fault of them.
func TestListsAreStrict(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 3)
	for _, path := range []string{"/api/v1/offers", "/api/v1/holds", "/api/v1/services", "/api/v1/machines", "/api/v1/attempts"} {
		a := s.do(sales, "GET", path, nil).want(200)
		if a.at("next_cursor") != nil || !a.has("items") {
			t.Errorf("%s: %s", path, a.body)
		}
		for _, limit := range []string{"0", "-1", "501", "abc", "1.5", "1e2", "99999999999999999999", "+", "%20"} {
			if faults := s.do(sales, "GET", path+"?limit="+limit, nil).faults(422); faults["limit"] == "" {
				t.Errorf("%s limit %s: %v", path, limit, faults)
			}
		}
		s.do(sales, "GET", path+"?limit=500", nil).want(200)
		foreignCursor := base64.RawURLEncoding.EncodeToString([]byte("q" + uuid.NewString()))
		for _, cursor := range []string{"x", "!!", "AAAA", foreignCursor, "%00", strings.Repeat("A", 300), "' or 1=1"} {
			if faults := s.do(sales, "GET", path+"?cursor="+url.QueryEscape(cursor), nil).faults(422); faults["cursor"] == "" {
				t.Errorf("%s cursor %q: %v", path, cursor, faults)
			}
		}
		for query, field := range map[string]string{
			"limit=1&limit=2": "limit", "nonsense=1": "nonsense", "Limit=1": "Limit", "cursor=a&cursor=b": "cursor",
			"%zz=1": "query", "a;b=1": "query", "%ff=1": "\ufffd",
		} {
			if faults := s.do(sales, "GET", path+"?"+query, nil).faults(422); faults[field] == "" {
				t.Errorf("%s?%s: %v", path, query, faults)
			}
		}
	}
	for path, field := range map[string]string{
		"/api/v1/holds?state=open": "state", "/api/v1/holds?org=acme": "org", "/api/v1/machines?status=sold": "status",
		"/api/v1/attempts?outcome=lucky": "outcome", "/api/v1/attempts?from=yesterday": "from", "/api/v1/attempts?to=2026-01-01": "to",
		"/api/v1/attempts?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z": "to", "/api/v1/offers?sort=colour": "sort",
		"/api/v1/offers?min_ram_gb=many": "min_ram_gb", "/api/v1/offers?min_ram_gb=-1": "min_ram_gb", "/api/v1/offers?ecc=maybe": "ecc",
		"/api/v1/offers?site=nowhere": "site", "/api/v1/offers?min_memory=5": "min_memory", "/api/v1/offers?max_price_minor=-1": "max_price_minor",
	} {
		if faults := s.do(sales, "GET", path, nil).faults(422); faults[field] == "" {
			t.Errorf("%s: %v", path, faults)
		}
	}
}

// Walking a list while rows are added shows each row that was there exactly once.
func TestCursorsAreStable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Exec(t, s.owner, "update org_limits set max_holds = 100, max_machines = 100 where org_id = $1", s.acme)
	fixture.Equal(t, s.owner, "A", 40)
	want := map[string]bool{}
	for range 12 {
		want[s.held(customer, "{}")] = true
	}
	seen, cursor := map[string]int{}, ""
	for pages := 0; ; pages++ {
		a := s.do(customer, "GET", "/api/v1/holds?limit=5"+cursor, nil).want(200)
		for i := range a.number("items.#") {
			seen[a.text(fmt.Sprintf("items.%d.id", i))]++
		}
		if a.at("next_cursor") == nil {
			if pages != 2 || a.number("items.#") != 2 {
				t.Errorf("the last page is %d with %d rows", pages, a.number("items.#"))
			}
			break
		}
		cursor = "&cursor=" + a.text("next_cursor")
		s.held(customer, "{}")
	}
	for id := range want {
		if seen[id] != 1 {
			t.Errorf("hold %s was shown %d times", id, seen[id])
		}
	}
	// A page that is exactly full is the last one.
	fixture.Add(t, s.owner, fixture.Machine{Tag: "B-1"})
	if a := s.do(sales, "GET", "/api/v1/machines?limit=41", nil).want(200); a.number("items.#") != 41 || a.at("next_cursor") != nil {
		t.Errorf("%d rows, cursor %v", a.number("items.#"), a.at("next_cursor"))
	}
	a := s.do(sales, "GET", "/api/v1/machines?limit=40", nil).want(200)
	if b := s.do(sales, "GET", "/api/v1/machines?limit=40&cursor="+a.text("next_cursor"), nil).want(200); b.number("items.#") != 1 || b.text("items.0.asset_tag") != "B-1" {
		t.Errorf("second page: %s", b.body)
	}
	// A cursor belongs to its list.
	s.do(sales, "GET", "/api/v1/holds?cursor="+a.text("next_cursor"), nil).problem(422, "invalid")
}

func TestOffers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 5)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "BIG", RAM: 512, Price: 30000, Site: "HEL1"})
	s.held(customer, body{"machine": "BIG"})
	s.held(foreign, body{"machine": "A-2"})
	mine := s.do(customer, "GET", "/api/v1/offers?sort=-ram", nil).want(200)
	if mine.number("items.#") != 2 || mine.text("items.0.site") != "HEL1" || mine.number("items.0.free") != 0 ||
		mine.text("items.0.availability") != "none_left" || mine.number("items.0.you_hold") != 1 ||
		mine.number("items.1.free") != 4 || mine.number("items.1.you_hold") != 0 || mine.number("items.1.price_month.amount_minor") != 4000 {
		t.Errorf("offers: %s", mine.body)
	}
	if strings.Contains(string(mine.body), `"held"`) || strings.Contains(string(mine.body), "rival") {
		t.Errorf("a customer sees what others hold: %s", mine.body)
	}
	if at, err := time.Parse(time.RFC3339, mine.text("as_of")); err != nil || time.Since(at) > time.Minute {
		t.Errorf("as_of: %s", mine.text("as_of"))
	}
	all := s.do(sales, "GET", "/api/v1/offers?site=SITE1", nil).want(200)
	if all.number("items.#") != 1 || all.number("items.0.held") != 1 || all.number("items.0.total") != 5 || all.number("items.0.in_service") != 0 {
		t.Errorf("staff: %s", all.body)
	}
	for query, n := range map[string]int{
		"min_ram_gb=512": 1, "min_ram_gb=65&max_price_minor=100": 0, "site=SITE1&site=HEL1": 2, "cpu=epyc": 2, "cpu=xeon": 0,
		"site=&vendor=&cpu=&min_cores=&min_ram_gb=&feature=&gpu=&ecc=&max_price_minor=&sort=": 2,
	} {
		if got := s.do(customer, "GET", "/api/v1/offers?"+query, nil).want(200).number("items.#"); got != n {
			t.Errorf("%s: %d offers, want %d", query, got, n)
		}
	}
	first := s.do(customer, "GET", "/api/v1/offers?limit=1", nil).want(200)
	second := s.do(customer, "GET", "/api/v1/offers?limit=1&cursor="+first.text("next_cursor"), nil).want(200)
	if second.number("items.#") != 1 || second.number("items.0.id") == first.number("items.0.id") || second.at("next_cursor") != nil {
		t.Errorf("pages: %s %s", first.body, second.body)
	}
}

func TestSurvey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 5)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "BIG", RAM: 512, Price: 30000}, fixture.Machine{Tag: "OUT", Status: "maintenance"})
	s.held(foreign, body{"machine": "A-2"})
	before := s.state()
	mine := s.do(customer, "POST", "/api/v1/surveys", body{"min_ram_gb": 128}).want(200)
	if mine.number("considered") != 7 || mine.number("eligible") != 1 || mine.number("excluded") != 6 || mine.has("machines") || mine.number("reasons.#") == 0 {
		t.Errorf("survey: %s", mine.body)
	}
	s.do(customer, "POST", "/api/v1/surveys", nil).want(200)
	theirs := s.do(sales, "POST", "/api/v1/surveys?limit=3", body{"min_ram_gb": 128}).want(200)
	if theirs.number("machines.items.#") != 3 || theirs.text("machines.items.1.asset_tag") != "A-2" || theirs.number("machines.items.1.reasons.#") != 2 {
		t.Errorf("staff: %s", theirs.body)
	}
	next := s.do(sales, "POST", "/api/v1/surveys?limit=3&cursor="+theirs.text("machines.next_cursor"), body{"min_ram_gb": 128, "org": "acme"}).want(200)
	if next.text("machines.items.0.asset_tag") != "A-4" {
		t.Errorf("second page: %s", next.body)
	}
	for who, c := range map[caller]struct{ path, body, field string }{
		customer: {"/api/v1/surveys?limit=3", "{}", "limit"}, sales: {"/api/v1/surveys", `{"org":"nobody"}`, "org"},
		orgAdmin: {"/api/v1/surveys", `{"org":"acme"}`, "org"}, operator: {"/api/v1/surveys?limit=0", `{"min_ram":1}`, "limit"},
	} {
		if faults := s.do(who, "POST", c.path, c.body).faults(422); faults[c.field] == "" {
			t.Errorf("%s: %v", who, faults)
		}
	}
	if s.state() != before {
		t.Error("a survey changed something")
	}
}
