package notify_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
)

// What happens to a hold and its service arrives signed, numbered and at those alone who asked.
func TestEventsAreDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r, holdsOnly, stranger := newReceiver(t, nil), newReceiver(t, nil), newReceiver(t, nil)
	_, secret := b.endpoint(r.URL)
	r.trust(secret)
	_, secret, err := b.hooks.Add(t.Context(), actor, b.org, notify.NewEndpoint{URL: holdsOnly.URL, Holds: true})
	if err != nil {
		t.Fatal(err)
	}
	holdsOnly.trust(secret)
	other := fixture.Org(t, b.owner, "other", 10, 10)
	if _, _, err := b.hooks.Add(t.Context(), actor, other, notify.NewEndpoint{URL: stranger.URL, Holds: true, Services: true}); err != nil {
		t.Fatal(err)
	}
	b.work()

	hold := b.hold(b.org)
	if _, err := b.book.Extend(t.Context(), actor, b.scope(), hold, "e"); err != nil {
		t.Fatal(err)
	}
	service, _, err := b.book.Convert(t.Context(), actor, b.scope(), hold)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.book.EndService(t.Context(), actor, b.scope(), service.ID, "no longer needed"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "five messages", func() bool { return len(r.all()) >= 5 && len(holdsOnly.all()) >= 3 })

	seen := map[string]int{}
	for _, g := range r.all() {
		if g.Verified != nil {
			t.Errorf("%s: a public library says %v", g.Type, g.Verified)
		}
		if g.Source != source || g.Data.Org != "acme" || g.Sequence != fmt.Sprintf("%010d", g.Data.Sequence) {
			t.Errorf("%s: %+v", g.Type, g)
		}
		seen[g.Type+" "+g.Subject] = g.Data.Sequence
		subject := g.Data.Hold
		if subject == nil {
			subject = g.Data.Service
		}
		if m, ok := subject["machine"].(map[string]any); !ok || m["asset_tag"] != "M1" || m["site"] != "SITE1" {
			t.Errorf("%s: machine %v", g.Type, subject["machine"])
		}
	}
	for what, sequence := range map[string]int{
		"ironhold.hold.held holds/" + hold.String(): 1, "ironhold.hold.extended holds/" + hold.String(): 2,
		"ironhold.hold.converted holds/" + hold.String(): 3, "ironhold.service.started services/" + service.ID.String(): 1,
		"ironhold.service.ended services/" + service.ID.String(): 2,
	} {
		if seen[what] != sequence {
			t.Errorf("%s has number %d, not %d: %v", what, seen[what], sequence, seen)
		}
	}
	if n := len(holdsOnly.all()); n != 3 {
		t.Errorf("%d messages of holds", n)
	}
	if n := len(stranger.all()); n != 0 {
		t.Errorf("another organisation got %d messages", n)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.endpoint("https://hooks.example/")
	if err := b.hooks.Disable(t.Context(), actor, b.org, id); err != nil {
		t.Fatal(err)
	}
	b.hold(b.org)
	if err := b.hooks.Enable(t.Context(), actor, b.org, id); err != nil {
		t.Fatal(err)
	}
	if err := b.hooks.Remove(t.Context(), actor, b.org, id); err != nil {
		t.Fatal(err)
	}
	b.hold(b.org)
	if n := fixture.Get[int](t, b.owner, "select count(*) from webhook_messages"); n != 0 {
		t.Errorf("%d messages for nobody", n)
	}
	if _, err := b.hooks.Endpoint(t.Context(), b.org, id); !isMissing(err) {
		t.Errorf("removed: %v", err)
	}
}

// What was rolled back was never said.
func TestRolledBackIsNotTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.endpoint("https://hooks.example/")
	hold := b.hold(b.org)
	no := errors.New("no")
	err := pg.Engine(t.Context(), b.app, actor, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "update holds set state = 'cancelled' where id = $1", hold); err != nil {
			return err
		}
		return no
	})
	if !errors.Is(err, no) {
		t.Fatal(err)
	}
	if n := fixture.Get[int](t, b.owner, "select count(*) from webhook_messages"); n != 1 {
		t.Errorf("%d messages", n)
	}
}
