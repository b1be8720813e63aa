package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// The number of rows that somebody chose stays in the address through sorting, filtering, tabs and
// paging; one that is not offered is the usual one.
func TestRowsPerPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 12 {
		fixture.Add(t, s.owner, fixture.Machine{Tag: fmt.Sprintf("R-%02d", i), RAM: 32 + i, Price: int64(1000 + i)})
	}
	ada, olga := s.person("Ada", accounts.Customer, "acme"), s.person("Olga", accounts.Operator, "")
	count := func(p page) int { return strings.Count(p.raw, `<th scope="row">`) }
	usual := ada.get("/offers").want(200)
	if n := count(usual); n != 12 {
		t.Fatalf("%d rows", n)
	}
	small := ada.get("/offers?sort=-ram&size=5").want(200)
	if n := count(small); n != 5 {
		t.Errorf("%d rows of five", n)
	}
	for _, want := range []string{"/offers?page=2&size=5&sort=-ram", "/offers?size=5&sort=price", "/offers?size=10&sort=-ram", "/offers?sort=-ram"} {
		if !slices.Contains(small.links(), want) {
			t.Errorf("no link %s in %v", want, small.links())
		}
	}
	if filtered := ada.submit(small, "/offers", "min_ram_gb", "33"); count(filtered.want(200)) != 5 {
		t.Errorf("the filter forgot the size: %d", count(filtered))
	}
	for _, odd := range []string{"0", "-5", "6", "1000000", "x", "5.0"} {
		if n := count(ada.get("/offers?size=" + odd).want(200)); n != 12 {
			t.Errorf("size %s: %d rows", odd, n)
		}
	}
	fleet := olga.get("/fleet?size=10&status=ready").want(200)
	if !slices.Contains(fleet.links(), "/fleet?after=R-09&size=10&status=ready") {
		t.Errorf("%v", fleet.links())
	}
	for range 12 {
		fixture.Exec(t, s.owner, `insert into holds (org_id, machine_id, idempotency_key, expires_at, state, closed_at)
			select $1, id, gen_random_uuid()::text, clock_timestamp(), 'cancelled', clock_timestamp() from machines where asset_tag = 'R-00'`, s.acme)
	}
	list := ada.get("/holds?size=10").want(200)
	if n := count(list); n != 10 || !slices.Contains(list.links(), "/holds?size=10&state=cancelled") {
		t.Errorf("%d holds, %v", n, list.links())
	}
	if few := ada.get("/services").want(200); strings.Contains(few.raw, "size=") {
		t.Error("a choice of sizes where there is nothing to page")
	}
}
