package web

import (
	"strings"
	"testing"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// What a price is typed in is what the fleet is priced in; with several currencies it is chosen, and
// stays with the limit through review and near misses.
func TestPriceLimitFollowsTheFleetsCurrency(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "A", Price: 4000}, fixture.Machine{Tag: "B", Price: 9000})
	fixture.Exec(t, s.owner, "update machines set currency = 'JPY'")
	ada := s.person("Ada", accounts.Customer, "acme")
	p := ada.get("/offers?max_price=5000").want(200).says("¥5,000").says("¥4,000")
	if strings.Contains(p.raw, "€") || strings.Contains(p.raw, "EUR") || strings.Contains(p.raw, `name="currency"`) {
		t.Error("another currency than the fleet's, or a choice of one")
	}
	ada.review("max_price=5000").says("¥5,000")
	fixture.Exec(t, s.owner, "update machines set currency = 'SEK' where asset_tag = 'B'")
	s.server.pages.forgetChoices()
	p = ada.get("/offers").want(200)
	if !strings.Contains(p.raw, `<select id="currency"`) {
		t.Error("no choice of a currency")
	}
	ada.review("max_price=100&currency=SEK").says("SEK 100.00").says("One free server matches")
	ada.get("/offers?max_price=1&currency=SEK").want(200).says("SEK 90.00").says("Take any price")
	for _, odd := range []string{"x", "EURO", "E1R"} {
		if p := ada.get("/offers?max_price=1&currency=" + odd); p.status >= 500 || !strings.Contains(p.raw, "Choose a currency") {
			t.Errorf("%s: %d", odd, p.status)
		}
	}
}
