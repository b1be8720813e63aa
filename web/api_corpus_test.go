package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"ironhold/migrations/pgtest/fixture"
)

// values is what a field may be given by mistake or on purpose.
var values = []string{
	`null`, `true`, `0`, `-1`, `1.5`, `1e400`, `99999999999999999999`, `""`, `" "`, `"x"`, `"\u0000"`, `"\ud800"`, `"\u202e{{7*7}}"`,
	`"<script>alert(1)</script>"`, `"'; drop table holds; --"`, `"` + strings.Repeat("é", 3000) + `"`, `[]`, `[null]`, `[[]]`, `["x"]`, `{}`, `{"x":1}`,
}

// Whatever is sent to whichever operation: never a fault of ours, always a whole answer, and no
// change when it was refused.
func TestCorpus(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 3)
	hold := s.held(customer, "{}")
	before := s.state()
	for _, rt := range s.server.routes {
		if !rt.api || rt.method == "GET" {
			continue
		}
		who := sales
		switch {
		case strings.Contains(rt.pattern, "machines"), strings.Contains(rt.pattern, "rollout"):
			who = operator
		case strings.Contains(rt.pattern, "holds"):
			who = customer
		}
		path := strings.NewReplacer("{id}", hold, "{tag}", "A-1", "{slug}", "acme").Replace(rt.pattern)
		for _, field := range []string{"min_cores", "sites", "machine", "ecc", "max_price_month_minor", "org", "reason", "status", "setting", "launch"} {
			for _, v := range values {
				a := s.do(who, rt.method, path, fmt.Sprintf(`{%q:%s}`, field, v), "Idempotency-Key", uuid.NewString())
				if a.status >= 500 || !json.Valid(a.body) {
					t.Errorf("%s %s=%.40s: %d %s", a.what, field, v, a.status, a.body)
				}
				now := s.state()
				if a.status >= 400 && now != before {
					t.Errorf("%s %s=%.40s: refused with %d, and changed something", a.what, field, v, a.status)
				}
				before = now
			}
		}
	}
	for _, pattern := range []string{"/api/v1/holds/%s", "/api/v1/services/%s", "/api/v1/machines/%s", "/api/v1/attempts/%s", "/api/v1/orgs/%s/rollout"} {
		for _, v := range values {
			var text string
			if json.Unmarshal([]byte(v), &text) != nil {
				text = v
			}
			a := s.do(operator, "GET", fmt.Sprintf(pattern, url.PathEscape(text)), nil)
			if a.status != 404 && (text != "" || a.status >= 500) {
				t.Errorf("%s: %d %s", a.what, a.status, a.body)
			}
		}
	}
	for _, path := range []string{"/api/v1/holds", "/api/v1/services", "/api/v1/machines", "/api/v1/attempts", "/api/v1/offers"} {
		for _, name := range []string{"limit", "cursor", "state", "status", "site", "q", "outcome", "from", "to", "cpu", "min_cores", "feature", "gpu", "max_price_minor", "sort"} {
			for _, v := range values {
				if a := s.do(operator, "GET", path+"?"+name+"="+url.QueryEscape(strings.Trim(v, `"`)), nil); a.status >= 500 || !json.Valid(a.body) {
					t.Errorf("%s: %d %s", a.what, a.status, a.body)
				}
			}
		}
	}
}
