package web

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"ironhold/migrations/pgtest/fixture"
)

// Without a session no page does or shows anything, and a token is no session.
func TestPagesNeedASession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 2)
	hold := s.held(customer, "{}")
	before := s.state()
	walked := 0
	for _, rt := range s.server.routes {
		if rt.api || rt.public {
			continue
		}
		walked++
		path := strings.NewReplacer("{id}", hold, "{tag}", "A-1", "{name}", "x", "{slug}", "acme").Replace(rt.pattern)
		for _, who := range []caller{stranger, operator} {
			a := s.doWith(who, rt.method, path, "key="+uuid.NewString(), "application/x-www-form-urlencoded", "Cookie", "session="+s.tokens[operator])
			if a.status != 401 && (a.status != 303 || strings.HasPrefix(a.header.Get("Location"), path)) {
				t.Errorf("%s: %d", a.what, a.status)
			}
			// The address itself is repeated, as where to go after the sign-in.
			if strings.Contains(string(a.body), "EPYC") || strings.Contains(string(a.body), "acme") {
				t.Errorf("%s shows something: %s", a.what, a.body)
			}
		}
	}
	if walked == 0 {
		t.Error("no pages")
	}
	if s.state() != before {
		t.Error("something changed")
	}
}
