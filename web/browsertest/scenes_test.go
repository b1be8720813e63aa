package browsertest

import (
	"net/url"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// over is true when a page says by itself that the deadline has passed.
const over = `(e => e && e.checkVisibility())(document.querySelector('[data-phase="over"]'))`

func (v *visit) german() { v.Language("de-DE,de") }

func (v *visit) off() {
	v.t.Helper()
	if _, err := v.Accounts.SetRollout(v.t.Context(), by, v.acme, "off"); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visit) limits(maxHolds, maxMachines int) {
	v.t.Helper()
	if _, err := v.Accounts.SetLimits(v.t.Context(), by, "acme", maxHolds, maxMachines); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visit) signInWith(email, word string) {
	v.t.Helper()
	v.Go("/")
	v.Fill("email", email)
	v.Fill("password", word)
	v.Follow(func() { v.Click(`form[action="/sign-in"] button`) })
}

func (v *visit) convert(id uuid.UUID) {
	v.t.Helper()
	if _, _, err := v.Holds.Convert(v.t.Context(), by, holds.Scope{OrgID: v.acme}, id); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visit) extend(id uuid.UUID) {
	v.t.Helper()
	if _, err := v.Holds.Extend(v.t.Context(), by, holds.Scope{OrgID: v.acme}, id, uuid.NewString()); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visit) end(id uuid.UUID) {
	v.t.Helper()
	if _, err := v.Holds.EndService(v.t.Context(), by, holds.Scope{OrgID: v.acme}, id, "No longer needed"); err != nil {
		v.t.Fatal(err)
	}
}

// worn uses up the time that the visitor's organisation may hold a machine.
func (v *visit) worn(tag string) {
	v.t.Helper()
	first := v.own(tag)
	v.extend(first)
	v.cancel(v.acme, first)
	v.cancel(v.acme, v.own(tag))
}

// confirmAfter holds, lets something happen, and confirms.
func (v *visit) confirmAfter(tag string, happens func(id uuid.UUID)) {
	v.t.Helper()
	id := v.own(tag)
	v.Go("/help") // the confirmation would hear of it
	happens(id)
	v.Post(path("/holds/", id, "/confirm"))
}

// class is the number of the group that a machine belongs to.
func (v *visit) class(tag string) string {
	v.t.Helper()
	return fixture.Get[string](v.t, v.Owner, "select class_id::text from machines where asset_tag = $1", tag)
}

func (v *visit) compare(tags ...string) {
	v.t.Helper()
	q := url.Values{}
	for _, tag := range tags {
		q.Add("class", v.class(tag))
	}
	v.Go("/offers/compare?" + q.Encode())
}

func (v *visit) wait(org uuid.UUID, r allocator.Request) {
	v.t.Helper()
	if _, faults, err := v.Allocator.Wait(v.t.Context(), pg.By{Actor: "user:" + v.user.String()}, org, r, nil); err != nil || len(faults) > 0 {
		v.t.Fatal(faults, err)
	}
}

// told lets two machines that the visitor waited for come free, one of them taken again since, and
// leaves a third wish open.
func (v *visit) told() {
	v.t.Helper()
	first, second := v.holdTag(v.rival, "OPO-1"), v.holdTag(v.rival, "OPO-2")
	v.wait(v.acme, allocator.Request{MinRAMGB: 256})
	v.wait(v.acme, allocator.Request{Machine: "OPO-2"})
	v.wait(v.acme, allocator.Request{MinRAMGB: 512, Sites: []string{"OPO1"}})
	v.cancel(v.rival, first)
	v.cancel(v.rival, second)
	if n, err := v.Allocator.MatchWaiting(v.t.Context()); err != nil || n != 2 {
		v.t.Fatalf("told %d, %v", n, err)
	}
	v.holdTag(v.rival, "OPO-2")
}

// past gives both organisations holds of every kind.
func (v *visit) past() {
	v.t.Helper()
	org := v.acme
	cancelled := v.holdTag(org, "GOT-1")
	v.cancel(org, cancelled)
	v.leave(v.holdTag(org, "GOT-2"), -time.Minute)
	v.rent(org, "OPO-1")
	v.holdTag(org, "LEJ-1")
	withdrawn := v.holdTag(org, "LEJ-2")
	_ = withdrawn
	v.status("LEJ-2", "maintenance")
	v.holdTag(v.rival, "LEJ-3")
}

// attempts makes refusals of several kinds.
func (v *visit) attempts() {
	v.t.Helper()
	price := int64(20_000)
	for _, r := range []allocator.Request{{MinRAMGB: 256, MaxPriceMonthMinor: &price}, {CPU: "Xeon"}, {Sites: []string{"LEJ1"}, MinCores: 24}} {
		if _, err := v.Allocator.Order(v.t.Context(), allocator.Order{OrgID: v.acme, By: by, Key: uuid.NewString(), Request: r}); err != nil {
			v.t.Fatal(err)
		}
	}
}

// attempt waits until an attempt of this outcome is on record.
func (v *visit) attempt(outcome string) string {
	v.t.Helper()
	var id string
	v.until("the record of an attempt", func() (bool, error) {
		err := v.Owner.QueryRow(v.t.Context(), "select coalesce(max(id::text), '') from allocation_attempts where outcome = $1", outcome).Scan(&id)
		return id != "", err
	})
	return id
}
