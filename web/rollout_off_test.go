package web

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/holds"
	"ironhold/migrations/pgtest/fixture"
)

// beginsNoHold are the routes that change something and can never begin a hold. Whoever adds a
// route that writes decides: it goes in here, or it is marked as one that begins.
var beginsNoHold = []string{
	// Who one is, and how things look.
	"POST /sign-in", "POST /sign-in/second", "POST /sign-in/passkey", "POST /sign-in/passkey/options", "POST /sign-out", "POST /preferences",
	// What follows a hold.
	"POST /api/v1/holds/{id}/extend", "POST /api/v1/holds/{id}/cancel", "POST /api/v1/holds/{id}/convert", "POST /api/v1/holds/{id}/substitute",
	"POST /holds/{id}/extend", "POST /holds/{id}/cancel", "POST /holds/{id}/confirm", "POST /holds/{id}/substitute",
	"POST /api/v1/services/{id}/end", "POST /api/v1/services/{id}/keep", "POST /services/{id}/end",
	// Questions that are too long for an address.
	"POST /api/v1/surveys",
	// The fleet.
	"POST /api/v1/machines/{tag}/status", "POST /api/v1/machines/{tag}/wiped", "POST /fleet/machines/{tag}/status",
	// The switch itself.
	"PUT /api/v1/orgs/{slug}/rollout", "PUT /api/v1/rollout", "POST /org/rollout", "POST /admin/rollout",
}

// beginsNoHoldUnder are areas that have nothing to do with orders.
var beginsNoHoldUnder = []string{
	"/account", "/org/", "/invitation", "/reset", "/email", "/forgot", "/waiting", "/admin/", "/desk/notes", "/desk/requests", "/desk/holds/{id}/give-back", "/desk/simulate",
	"/fleet/import", "/fleet/sites", "/fleet/work/", "/dev/",
}

// TestEveryWritingRouteIsDecided: nobody adds a way to a hold without the switch.
func TestEveryWritingRouteIsDecided(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begin := 0
	for _, rt := range s.server.routes {
		name := rt.method + " " + rt.pattern
		listed := slices.Contains(beginsNoHold, name) ||
			slices.ContainsFunc(beginsNoHoldUnder, func(p string) bool { return strings.HasPrefix(rt.pattern, p) })
		switch writes := rt.method != http.MethodGet && rt.method != http.MethodHead; {
		case rt.begins && !writes:
			t.Errorf("%s begins a hold without being a form", name)
		case rt.begins && listed:
			t.Errorf("%s is in both lists", name)
		case rt.begins:
			begin++
		case writes && !listed:
			t.Errorf("%s writes, and nobody has decided whether it may begin a hold", name)
		}
	}
	if begin < 2 {
		t.Errorf("only %d routes begin a hold", begin)
	}
}

// TestOffMeansNoNewHoldByAnyRoute sends a raw order to every route that could begin a hold, as
// every caller, with the module off in each way, and looks whether anything was held.
func TestOffMeansNoNewHoldByAnyRoute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 4)
	people := map[string]*browser{
		"customer": s.person("Ada", accounts.Customer, "acme"), "org-admin": s.person("Bea", accounts.OrgAdmin, "acme"), "sales": s.person("Sam", accounts.Sales, ""),
	}
	live := people["customer"].order("machine=EQ-1")
	another := people["customer"].order("machine=EQ-2")
	for _, off := range []struct{ launch, setting string }{{"off", "on"}, {"on", "off"}, {"opt-in", "inherit"}, {"0%", "inherit"}} {
		if _, err := s.server.Rollout.SetLaunch(t.Context(), by(), off.launch); err != nil {
			t.Fatal(err)
		}
		if _, err := s.server.Rollout.SetOrg(t.Context(), by(), "acme", off.setting); err != nil {
			t.Fatal(err)
		}
		before := s.state()
		for _, rt := range s.server.routes {
			if !rt.begins {
				continue
			}
			if rt.api {
				for _, who := range []caller{customer, orgAdmin, sales} {
					body := map[string]any{"machine": "EQ-3"}
					if who == sales {
						body["org"] = "acme"
					}
					s.do(who, rt.method, rt.pattern, body, "Idempotency-Key", uuid.NewString()).problem(403, "not-rolled-out")
				}
				continue
			}
			for name, b := range people {
				role, ok := accounts.Role(name), false
				if ok = rt.allows(role); !ok {
					continue
				}
				pairs := []string{"key", uuid.NewString(), "machine", "EQ-3"}
				if role == accounts.Sales {
					pairs = append(pairs, "org", "acme")
				}
				if strings.Contains(rt.pattern, "{") {
					t.Fatalf("%s: say here how it is asked", rt.pattern)
				}
				b.post(rt.pattern, pairs...).outcome(403, "not-rolled-out")
			}
		}
		if s.state() != before {
			t.Errorf("launch %s, setting %s: something changed", off.launch, off.setting)
		}
	}
	// What is held already goes on, and the sweep runs.
	id := strings.TrimPrefix(live, "/holds/")
	people["customer"].post(live + "/confirm").want(303)
	people["customer"].post(another + "/cancel").want(303)
	if got := fixture.Get[string](t, s.owner, "select state from holds where id = $1", id); got != string(holds.Converted) {
		t.Errorf("confirmed with the module off: %s", got)
	}
	if got := fixture.Get[string](t, s.owner, "select state from holds where id = $1", strings.TrimPrefix(another, "/holds/")); got != string(holds.Cancelled) {
		t.Errorf("given back with the module off: %s", got)
	}
	if _, err := s.server.Rollout.SetLaunch(t.Context(), by(), "on"); err != nil {
		t.Fatal(err)
	}
	third := strings.TrimPrefix(people["sales"].submit(people["sales"].review("machine=EQ-4&org=rival"), "/order").want(303).header.Get("Location"), "/holds/")
	if _, err := s.server.Rollout.SetLaunch(t.Context(), by(), "off"); err != nil {
		t.Fatal(err)
	}
	fixture.Exec(t, s.owner, "update holds set expires_at = clock_timestamp() - interval '1 minute' where id = $1", third)
	if n, err := s.server.Holds.Sweep(t.Context()); err != nil || n != 1 {
		t.Errorf("swept %d with the module off, %v", n, err)
	}
}
