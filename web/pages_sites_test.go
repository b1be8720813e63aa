package web

import (
	"strings"
	"testing"

	"ironhold/accounts"
	"ironhold/migrations/pgtest/fixture"
)

// What an operator says about a place is what customers read with every server, from the list to the
// confirmation, and what programs read.
func TestDeliveryIsWhatTheSitePromises(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "EQ", 2)
	code := fixture.Get[string](t, s.owner, "select site_code from machines limit 1")
	class := fixture.Get[string](t, s.owner, "select class_id::text from machines limit 1")
	at := "/fleet/sites/" + code
	ola, ada := s.person("Ola", accounts.Operator, ""), s.person("Ada", accounts.Customer, "acme")
	ada.get("/offers").want(200).says("Delivery on request")
	if items := s.do(customer, "GET", "/api/v1/offers", nil).want(200); !strings.Contains(string(items.body), `"delivery_hours":null`) {
		t.Errorf("%s", items.body)
	}
	// The form as it is shown, with one field typed anew.
	save := func(field, value string) page {
		var all []string
		for _, i := range ola.get(at).want(200).find("input") {
			name, v := attrOf(i, "name"), attrOf(i, "value")
			if name == field {
				v = value
			}
			all = append(all, name, v)
		}
		return ola.post(at, all...)
	}
	ola.follow(save("delivery_hours", "6").want(303)).want(200).says("Saved").says("Delivery: on request, now within 6 hours")
	for _, path := range []string{"/offers", "/offers/" + class, "/offers/compare?class=" + class, "/order?step=match&min_cores=1"} {
		ada.get(path).want(200).says("within 6 hours")
	}
	ada.review("machine=EQ-1").says("within 6 hours")
	hold := ada.order("machine=EQ-1")
	ada.get(hold).says("within 6 hours")
	ada.follow(ada.submit(ada.get(hold+"/confirm").says("within 6 hours"), "/confirm").want(303)).says("Ready for use by")
	if file := ada.get("/offers.csv").raw; !strings.Contains(file, "delivery_hours\r\n") || !strings.Contains(file, ",6\r\n") {
		t.Errorf("the file: %s", file)
	}
	if items := s.do(customer, "GET", "/api/v1/offers", nil).want(200); !strings.Contains(string(items.body), `"delivery_hours":6`) {
		t.Errorf("%s", items.body)
	}
	// Said again it is no change; taken back it is on request.
	events := "select count(*)::int from site_events where before is not null"
	save("", "").want(303)
	if n := fixture.Get[int](t, s.owner, events); n != 1 {
		t.Errorf("%d changes in the history", n)
	}
	save("delivery_hours", "").want(303)
	ada.get("/offers").says("Delivery on request")
	if actor := fixture.Get[string](t, s.owner, "select actor from site_events order by at desc limit 1"); !strings.HasPrefix(actor, "user:") {
		t.Errorf("by %s", actor)
	}
	for field, values := range map[string][]string{
		"delivery_hours": {"0", "-3", "8761", "soon", "99999999999999999999"}, "name": {" ", strings.Repeat("x", 101), "a\nb"},
		"country": {"Sweden", "S1"}, "time_zone": {"", "Local", "Mars/Olympus"},
	} {
		for _, v := range values {
			p := save(field, v).want(422)
			if !strings.Contains(p.raw, `href="#`+field+`"`) {
				t.Errorf("%s %q: no link to the field", field, v)
			}
		}
	}
	sam := s.person("Sam", accounts.Sales, "")
	sam.get("/fleet/sites").want(200).says("on request")
	if sam.get(at).want(200).action(at) != nil {
		t.Error("sales are offered the form")
	}
	sam.post(at, "name", "X", "time_zone", "UTC").outcome(403, "forbidden")
	ada.get(at).outcome(403, "forbidden")
	ola.get("/fleet/sites/NOWHERE").outcome(404, "not-found")
	ola.post("/fleet/sites/NOWHERE", "name", "X", "time_zone", "UTC").outcome(404, "not-found")
}
