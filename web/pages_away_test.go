package web

import (
	"testing"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// With the database away the catalogue is shown as it was last read, with its age and without an
// order, to whom this process saw signed in; everybody else and every other page is told to wait.
// It is as before once the database is back.
func TestOffersFromMemory(t *testing.T) {
	t.Parallel()
	s, away := siteThatLosesItsDatabase(t)
	fixture.Add(t, s.owner, fixture.Machine{Tag: "ONE", RAM: 64}, fixture.Machine{Tag: "TWO", RAM: 128, Price: 9000})
	b := s.person("Ada", accounts.Customer, "acme")
	b.get("/offers").want(200).says("64 GB").lacks("cannot be read")
	out := s.again("customer-acme@example.com", password)
	out.get("/offers").want(200)
	kept := s.stranger()
	kept.header.Set("Cookie", "session="+sessionToken(s, out))
	kept.get("/offers").want(200)
	out.post("/sign-out").want(303)

	away(true)
	p := b.get("/offers").want(200).says("cannot be read at the moment").says("64 GB").says("128 GB").says("Ada")
	for _, link := range p.links() {
		if len(link) >= 6 && link[:6] == "/order" {
			t.Errorf("an order is offered: %s", link)
		}
	}
	b.get("/offers?min_ram_gb=128&sort=-price").want(200).says("128 GB").lacks("64 GB RAM")
	b.get("/offers?min_ram_gb=x").want(200)
	b.get("/holds").outcome(503, "busy")
	b.post("/order", "min_ram_gb", "64").outcome(503, "busy")
	s.stranger().get("/offers").outcome(401, "unauthenticated")
	out.get("/offers").outcome(401, "unauthenticated")
	kept.get("/offers").outcome(503, "busy") // a cookie that outlived its session

	away(false)
	b.get("/offers").want(200).lacks("cannot be read").says("64 GB")
}
