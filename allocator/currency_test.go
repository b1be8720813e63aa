package allocator

import (
	"context"
	"testing"

	"ironhold/fleet"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// A limit is in a currency. Where prices are in several it has to be said which, machines priced in
// another are not within it, whatever the amounts, and what dropping the limit would bring is true.
func TestLimitsAreInACurrency(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	a := New(fixture.App(t, owner, 4), Options{})
	t.Cleanup(func() { a.Close(context.Background()) })
	me := fixture.Org(t, owner, "me", 50, 50)
	fixture.Add(t, owner, fixture.Machine{Tag: "E1", Price: 4000}, fixture.Machine{Tag: "E2", Price: 9000})
	limit := func(n int64, currency string) Request { return Request{MaxPriceMonthMinor: &n, Currency: currency} }
	survey := func(r Request) Survey {
		t.Helper()
		s, faults, err := a.Survey(t.Context(), me, r)
		if err != nil || len(faults) > 0 {
			t.Fatalf("%+v %v", faults, err)
		}
		return s
	}
	if s := survey(limit(5000, "")); s.Eligible != 1 {
		t.Errorf("one currency: %d eligible", s.Eligible)
	}
	fixture.Add(t, owner, fixture.Machine{Tag: "J1", Price: 4500})
	fixture.Exec(t, owner, "update machines set currency = 'JPY' where asset_tag = 'J1'")
	// Said by order, survey and check alike.
	if _, faults, err := a.Survey(t.Context(), me, limit(5000, "")); err != nil || fields(faults) != "currency" {
		t.Errorf("survey: %+v %v", faults, err)
	}
	if faults, err := a.Check(t.Context(), limit(5000, "")); err != nil || fields(faults) != "currency" {
		t.Errorf("check: %+v %v", faults, err)
	}
	if res, err := a.Order(t.Context(), Order{OrgID: me, Key: "k", Request: limit(5000, "")}); err != nil || res.Outcome != Invalid || fields(res.Faults) != "currency" {
		t.Errorf("order: %s %+v %v", res.Outcome, res.Faults, err)
	}
	for _, r := range []Request{limit(1, "eur"), limit(1, "EURO"), {Currency: "EUR"}} {
		if faults := r.Faults(); fields(faults) != "currency" {
			t.Errorf("%+v: %+v", r, faults)
		}
	}
	s := survey(limit(5000, "EUR"))
	if s.Eligible != 1 {
		t.Errorf("EUR: %d eligible", s.Eligible)
	}
	for _, miss := range s.NearMisses {
		switch miss.Value {
		case nil:
			if miss.Gains != 2 {
				t.Errorf("without a limit: %+v", miss)
			}
		case int64(9000):
			if miss.Gains != 1 {
				t.Errorf("up to 90: %+v", miss)
			}
		default:
			t.Errorf("%+v", miss)
		}
	}
	res, err := a.Order(t.Context(), Order{OrgID: me, Key: "k2", Request: limit(5000, "JPY")})
	if err != nil || res.Outcome != Held || res.Hold.AssetTag != "J1" {
		t.Errorf("JPY: %s %v", res.Outcome, err)
	}
	// No price of one is called lower than one of the other.
	class := func(currency string, price int64) ranked {
		return ranked{class: &fleet.Class{Spec: fleet.Spec{Currency: currency, PriceMonthMinor: price}}}
	}
	if rule := decidingRule(class("EUR", 9000), class("JPY", 1)); rule != "currency" {
		t.Errorf("decided by %s", rule)
	}
	list, err := a.Offers(t.Context(), OfferQuery{Sort: "-price"})
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("%d offers, %v", len(list.Items), err)
	}
	for i, want := range []int64{9000, 4000, 4500} {
		if got := list.Items[i].Class.PriceMonthMinor; got != want {
			t.Errorf("place %d: %d, want %d", i, got, want)
		}
	}
}
