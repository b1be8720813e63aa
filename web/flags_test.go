package web

import (
	"strings"
	"testing"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/rollout"
)

func withFlags(t *testing.T) func(*Config) {
	return func(c *Config) {
		c.Flags = rollout.NewFlags(t.Context(), rollout.NewProvider(c.DB, 0, c.Logger), c.Logger, nil)
		t.Cleanup(func() { _ = c.Flags.Close(t.Context()) })
	}
}

// What a change does shows on the next page, whoever made it and by whatever way.
func TestPagesFollowTheFlag(t *testing.T) {
	t.Parallel()
	s := newSite(t, withFlags(t))
	fixture.Equal(t, s.owner, "EQ", 1)
	ada, bea, olga := s.person("Ada", accounts.Customer, "acme"), s.person("Bea", accounts.OrgAdmin, "acme"), s.person("Olga", accounts.Operator, "")
	s.server.refreshFlags(t.Context())
	page := bea.get("/org/rollout").want(200).says("On for acme").says("Up to date").says("launched for everybody")
	for _, reason := range []string{"launch_off", "org_on", "org_off", "not_opted_in", "percentage_in", "percentage_out", "launch_on"} {
		page.says(reason)
	}
	bea.follow(bea.submit(page, "/org/rollout", "setting", "off")).want(200).says("Off for acme").says("The setting of acme").says("As we launch it Off Bea")
	ada.get("/offers").says("Ordering is switched off")
	s.do(orgAdmin, "PUT", "/api/v1/orgs/acme/rollout", map[string]any{"setting": "on"}).want(200)
	if p := ada.get("/offers"); p.status != 200 || len(p.find("h1")) == 0 {
		t.Error("no offers")
	} else if textOf(p.doc); contains(p, "Ordering is switched off") {
		t.Error("a change by the API does not show on pages")
	}
	olga.follow(olga.submit(olga.get("/admin/rollout"), "/admin/rollout", "launch", "off")).want(200).says("The launch").says("Off for everybody").says("by Olga")
	bea.get("/org/rollout").says("has not been launched").says("Only we can switch it on").says("The launch")
	// Members do not learn which of the staff it was.
	if contains(bea.get("/org/rollout"), "Olga") {
		t.Error("the operator's name is shown to a customer")
	}
}

func contains(p page, words string) bool { return index(textOf(p.doc), words) }

func index(text, words string) bool {
	return strings.Contains(strings.Join(strings.Fields(text), " "), words)
}
