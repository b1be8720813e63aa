package web

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ironhold/migrations/pgtest/fixture"
)

// Each of these is refused whole, every fault by its field, and nothing is held.
func TestStrictOrders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 3)
	before := s.state()
	for text, fields := range map[string]string{
		`{"min_ram":64}`:                              "min_ram",
		`{"Min_ram_gb":64}`:                           "Min_ram_gb",
		`{"min_ram_gb":64,"min_ram_gb":64}`:           "min_ram_gb",
		`{"min_ram_gb":1,"min_ram\u005fgb":64}`:       "min_ram_gb",
		`{"min_ram_gb":"64"}`:                         "min_ram_gb",
		`{"min_ram_gb":64.0}`:                         "min_ram_gb",
		`{"min_ram_gb":64.5}`:                         "min_ram_gb",
		`{"min_ram_gb":6e1}`:                          "min_ram_gb",
		`{"min_ram_gb":1e309}`:                        "min_ram_gb",
		`{"min_ram_gb":-1}`:                           "min_ram_gb",
		`{"min_ram_gb":2147483648}`:                   "min_ram_gb",
		`{"min_ram_gb":9223372036854775807}`:          "min_ram_gb",
		`{"min_ram_gb":9223372036854775808}`:          "min_ram_gb",
		`{"min_ram_gb":null}`:                         "min_ram_gb",
		`{"min_ram_gb":true}`:                         "min_ram_gb",
		`{"min_ram_gb":[64]}`:                         "min_ram_gb",
		`{"min_ram_gb":{}}`:                           "min_ram_gb",
		`{"max_price_month_minor":-5}`:                "max_price_month_minor",
		`{"max_price_month_minor":33.00}`:             "max_price_month_minor",
		`{"max_price_month_minor":"33"}`:              "max_price_month_minor",
		`{"ecc":1}`:                                   "ecc",
		`{"ecc":"true"}`:                              "ecc",
		`{"gpu":null}`:                                "gpu",
		`{"sites":"SITE1"}`:                           "sites",
		`{"sites":["SITE1",5]}`:                       "sites[1]",
		`{"sites":["SITE1",null]}`:                    "sites[1]",
		`{"sites":["nowhere"]}`:                       "sites",
		`{"sites":[""]}`:                              "sites",
		`{"machine":"nothing"}`:                       "machine",
		`{"machine":"a\u0000b"}`:                      "machine",
		`{"cpu":"a\nb"}`:                              "cpu",
		`{"cpu":"` + strings.Repeat("x", 2000) + `"}`: "cpu",
		`{"state":"held"}`:                            "state",
		`{"org_id":"x","price":1,"role":"operator","is_admin":true,"status":"ready","expires_at":"x"}`: "expires_at is_admin org_id price role status",
		`{"min_ram":1,"sites":["nowhere"],"min_cores":-1,"ecc":"x","machine":"nothing"}`:               "ecc machine min_cores min_ram sites",
		`{"min_cores":-1,"sites":["nowhere"]}`:                                                         "min_cores sites",
		`[]`:                                                                                           "body",
		`"x"`:                                                                                          "body",
		`null`:                                                                                         "body",
		`5`:                                                                                            "body",
		`true`:                                                                                         "body",
		`[{}]`:                                                                                         "body",
		strings.Repeat(`{"sites":`, 50) + "1" + strings.Repeat("}", 50): "body",
		strings.Repeat("[", 5000) + strings.Repeat("]", 5000):           "body",
		`{"sites":[` + strings.Repeat("1,", 30000) + `1]}`:              "body",
	} {
		a := s.order(customer, text)
		if a.status != 422 {
			t.Errorf("%.80s: status %d: %.300s", text, a.status, a.body)
			continue
		}
		faults := a.faults(422)
		if got := strings.Join(slices.Sorted(maps.Keys(faults)), " "); got != fields {
			t.Errorf("%.80s: faults of %s, want %s", text, got, fields)
		}
		for field, message := range faults {
			if message == "" || strings.Contains(message, "Go ") || strings.Contains(message, "json:") {
				t.Errorf("%.80s: %s: %q", text, field, message)
			}
		}
	}
	for _, text := range []string{
		``, ` `, `{`, `{"a"`, `{"a":}`, `{'a':1}`, `{a:1}`, `{"min_ram_gb":64,}`, `{} {}`, `{}x`, `{}]`, `nul`, `min_ram_gb=64`,
		`{"min_ram_gb":064}`, `{"min_ram_gb":+64}`, `{"min_ram_gb":NaN}`, `{"min_ram_gb":0x40}`, "\ufeff{}", "{\"cpu\":\"\xff\"}", `<a/>`, "{}\x00",
		`{"cpu":"\q"}`, `{"cpu":"`, `// x`, `{"a":1 "b":2}`,
	} {
		if faults := s.order(customer, text).faults(400); faults["body"] == "" {
			t.Errorf("%q: %v", text, faults)
		}
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", "application/json; charset=latin1", "nonsense;;"} {
		r := s.raw(customer, "POST", "/api/v1/holds", "{}", kind)
		if r.problem(415, "unsupported-media-type"); !strings.Contains(r.text("detail"), "application/json") {
			t.Errorf("%s: %d %s", kind, r.status, r.body)
		}
	}
	if faults := s.do(customer, "POST", "/api/v1/holds?min_ram_gb=64", "{}", "Idempotency-Key", "q").faults(422); faults["min_ram_gb"] == "" {
		t.Errorf("a constraint in the address: %v", faults)
	}
	if s.state() != before {
		t.Error("a refused order changed something")
	}
	s.raw(customer, "POST", "/api/v1/holds", "{}", "application/json; charset=UTF-8").want(201)
	s.order(customer, `{"sites":[],"cpu":"","min_ram_gb":0,"ecc":false,"gpu":false,"features":[],"max_price_month_minor":4000}`).want(201)
}

// raw sends a body under a content type of its own.
func (s *site) raw(who caller, method, path, text, kind string) answer {
	s.t.Helper()
	a := s.doWith(who, method, path, text, kind, "Idempotency-Key", fmt.Sprintf("raw-%s", strings.ReplaceAll(kind, " ", "")))
	return a
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 3)
	before := s.state()
	big := `{"cpu":"` + strings.Repeat("x", 1<<20) + `"}`
	s.order(customer, big).problem(413, "too-large")
	// Also when its length is not told beforehand.
	s.chunked(customer, "POST", "/api/v1/holds", big).problem(413, "too-large")
	if s.state() != before {
		t.Error("a refused order changed something")
	}
	s.order(stranger, big).problem(401, "unauthenticated")
}

func TestManyFaultsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var b strings.Builder
	b.WriteString(`{"x":1`)
	for i := range 5000 {
		fmt.Fprintf(&b, `,"%d-%s":1`, i, strings.Repeat("<", 100))
	}
	b.WriteString("}")
	a := s.order(customer, b.String()).problem(422, "invalid")
	if n := a.number("errors.#"); n != 100 || len(a.body) > 200_000 {
		t.Errorf("%d faults in %d bytes", n, len(a.body))
	}
}
