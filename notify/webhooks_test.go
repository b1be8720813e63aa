package notify_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
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

// A failed attempt is repeated with the same id and body, and the answers are kept.
func TestRetriesUntilItWorks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := newReceiver(t, func(w http.ResponseWriter, n int) {
		if n < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = fmt.Fprintf(w, "answer %d\x00\xff", n)
	})
	id, secret := b.endpoint(r.URL)
	r.trust(secret)
	b.work()
	b.hold(b.org)
	for n := 1; n <= 3; n++ {
		eventually(t, fmt.Sprint("attempt ", n), func() bool {
			d := b.deliveries(id)
			b.now()
			return len(d) == 1 && d[0].Attempts >= n
		})
	}
	d := b.deliveries(id)[0]
	if d.State != notify.Delivered || d.Attempts != 3 || d.Status == nil || *d.Status != 200 || d.Answer != "answer 3\uFFFD" || d.TookMS == nil || d.NextAt != nil {
		t.Errorf("%+v", d)
	}
	all := r.all()
	if len(all) != 3 {
		t.Fatalf("%d requests", len(all))
	}
	for _, g := range all {
		if g.ID != d.MessageID.String() || g.Verified != nil {
			t.Errorf("%+v", g)
		}
	}
}

func TestGoneDisables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := newReceiver(t, func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusGone) })
	id, _ := b.endpoint(r.URL)
	b.work()
	b.hold(b.org)
	eventually(t, "it is disabled", func() bool {
		e, err := b.hooks.Endpoint(t.Context(), b.org, id)
		return err == nil && e.DisabledAt != nil && e.DisabledWhy == "gone" && e.Failed == 1
	})
	if d := b.deliveries(id); len(d) != 1 || d[0].State != notify.Failed || *d[0].Status != http.StatusGone {
		t.Errorf("%+v", d)
	}
	b.hold(b.org)
	if n := fixture.Get[int](t, b.owner, "select count(*) from webhook_messages"); n != 1 {
		t.Errorf("%d messages", n)
	}
	if n := fixture.Get[int](t, b.owner, "select count(*) from account_events where subject = 'webhook' and event = 'gone' and actor = 'webhooks'"); n != 1 {
		t.Errorf("%d entries in the history", n)
	}
}

// One receiver that never answers takes no more than its own places.
func TestSlowReceiverDelaysNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var now, most atomic.Int32
	held := make(chan struct{})
	slow := newReceiver(t, func(http.ResponseWriter, int) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-held
	})
	t.Cleanup(func() { close(held) })
	piled, _ := b.endpoint(slow.URL)
	for range 80 {
		b.hold(b.org)
	}
	b.work()
	eventually(t, "the slow one is busy", func() bool { return now.Load() >= 2 })
	fast := newReceiver(t, nil)
	id, secret := b.endpoint(fast.URL)
	fast.trust(secret)
	b.hold(b.org)
	eventually(t, "the fast one is told", func() bool { d := b.deliveries(id); return len(d) == 1 && d[0].State == notify.Delivered })
	if n := most.Load(); n > 4 {
		t.Errorf("%d requests at once to the slow one", n)
	}
	queued := 0
	for _, d := range b.deliveries(piled) {
		if d.State == notify.Queued {
			queued++
		}
	}
	if queued > 50 {
		t.Errorf("%d deliveries of the slow one lie in the queue", queued)
	}
}

// While the secret is being changed, receivers with either take the message.
func TestRotation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := newReceiver(t, nil)
	id, first := b.endpoint(r.URL)
	second, until, err := b.hooks.Rotate(t.Context(), actor, b.org, id)
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.hooks.Endpoint(t.Context(), b.org, id)
	if err != nil || e.OldSecretUntil == nil || !e.OldSecretUntil.Equal(until) {
		t.Errorf("%+v, %v", e.OldSecretUntil, err)
	}
	b.work()
	for i, c := range []struct {
		name    string
		secret  []byte
		over    bool
		accepts bool
	}{{"old", first, false, true}, {"new", second, false, true}, {"old, later", first, true, false}, {"new, later", second, true, true}} {
		if c.over {
			fixture.Exec(t, b.owner, "update webhook_endpoints set old_secret_until = clock_timestamp()")
		}
		r.trust(c.secret)
		b.hold(b.org)
		eventually(t, c.name, func() bool { return len(r.all()) > i })
		if g := r.all()[i]; (g.Verified == nil) != c.accepts {
			t.Errorf("%s: %v", c.name, g.Verified)
		}
	}
}

// A person looks at what failed and sends it once more; a test message says that it is one.
func TestOnceMoreAndTest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := newReceiver(t, func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	id, secret := b.endpoint(r.URL)
	r.trust(secret)
	b.work()
	if err := b.hooks.Test(t.Context(), actor, b.org, id); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first attempt", func() bool { d := b.deliveries(id); return len(d) == 1 && d[0].Attempts == 1 })
	d := b.deliveries(id)[0]
	if d.State != notify.Queued || d.NextAt == nil || d.Kind != "test" {
		t.Errorf("%+v", d)
	}
	if err := b.hooks.Retry(t.Context(), actor, b.org, id, d.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "once more", func() bool { return b.deliveries(id)[0].State == notify.Delivered })
	// The job of the first round comes to nothing.
	b.now()
	eventually(t, "the jobs are done", func() bool {
		return fixture.Get[int](t, b.owner, "select count(*) from river.river_job where kind = 'notify_deliver' and state <> 'completed'") == 0
	})
	if all := r.all(); len(all) != 2 || all[0].ID != all[1].ID || all[1].Type != "ironhold.test" || all[1].Verified != nil {
		t.Errorf("%+v", all)
	}
}

// What is under way when an endpoint is disabled is dropped.
func TestDisabledDrops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := newReceiver(t, nil)
	id, _ := b.endpoint(r.URL)
	b.hold(b.org)
	// As the relay left it.
	fixture.Exec(t, b.owner, `update webhook_messages set relayed_at = clock_timestamp(), body = '{}', sequence = 1`)
	fixture.Exec(t, b.owner, `insert into webhook_deliveries (org_id, message_id, endpoint_id) select org_id, id, $1 from webhook_messages`, id)
	if err := b.hooks.Disable(t.Context(), actor, b.org, id); err != nil {
		t.Fatal(err)
	}
	b.work()
	eventually(t, "it is dropped", func() bool { return b.deliveries(id)[0].State == notify.Dropped })
	if n := len(r.all()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestEndpointsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	add := func(n notify.NewEndpoint) error {
		_, _, err := b.hooks.Add(t.Context(), actor, b.org, n)
		return err
	}
	for _, c := range []struct {
		n    notify.NewEndpoint
		want notify.Fault
	}{
		{notify.NewEndpoint{URL: "", Holds: true}, notify.Fault{Field: "url", Why: "url"}},
		{notify.NewEndpoint{URL: "https://10.0.0.1/", Holds: true}, notify.Fault{Field: "url", Why: "address"}},
		{notify.NewEndpoint{URL: "ftp://a.example/", Holds: true}, notify.Fault{Field: "url", Why: "scheme"}},
		{notify.NewEndpoint{URL: "https://u:p@a.example/", Holds: true}, notify.Fault{Field: "url", Why: "credentials"}},
		{notify.NewEndpoint{URL: "https://a.example/"}, notify.Fault{Field: "events", Why: "nothing"}},
		{notify.NewEndpoint{URL: "https://a.example/", Holds: true, Description: strings.Repeat("ä", 201)}, notify.Fault{Field: "description", Why: "long"}},
	} {
		err := add(c.n)
		if got, ok := errors.AsType[*notify.Invalid](err); !ok || len(got.Faults) != 1 || got.Faults[0] != c.want {
			t.Errorf("%+v: %v", c.n, err)
		}
	}
	if err := add(notify.NewEndpoint{URL: " https://a.example/ ", Holds: true, Description: strings.Repeat("ä", 200)}); err != nil {
		t.Error(err)
	}
	err := add(notify.NewEndpoint{URL: "https://a.example/", Services: true})
	if got, ok := errors.AsType[*notify.Invalid](err); !ok || len(got.Faults) != 1 || got.Faults[0].Why != "taken" {
		t.Errorf("twice: %v", err)
	}
	err = add(notify.NewEndpoint{URL: "nonsense", Description: "a\nb"})
	if got, ok := errors.AsType[*notify.Invalid](err); !ok || len(got.Faults) != 3 {
		t.Errorf("three things at once: %v", err)
	}
	for i := range 9 {
		if err := add(notify.NewEndpoint{URL: fmt.Sprintf("https://a.example/%d", i), Services: true}); err != nil {
			t.Fatal(err)
		}
	}
	if full, ok := errors.AsType[*notify.TooMany](add(notify.NewEndpoint{URL: "https://a.example/more", Holds: true})); !ok || full.Limit != 10 {
		t.Error("an eleventh endpoint was taken")
	}
}

// Another organisation's endpoints and deliveries are not there, whatever one asks for.
func TestForeignEndpointsAreMissing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, _ := b.endpoint("https://hooks.example/")
	b.hold(b.org)
	fixture.Exec(t, b.owner, `update webhook_messages set relayed_at = clock_timestamp(), body = '{}', sequence = 1`)
	delivery := fixture.Get[uuid.UUID](t, b.owner, `insert into webhook_deliveries (org_id, message_id, endpoint_id)
		select org_id, id, $1 from webhook_messages returning id`, id)
	other := fixture.Org(t, b.owner, "other", 10, 10)
	ctx := t.Context()
	for name, err := range map[string]error{
		"endpoint": second(b.hooks.Endpoint(ctx, other, id)),
		"delivery": second(b.hooks.Delivery(ctx, other, id, delivery)),
		"disable":  b.hooks.Disable(ctx, actor, other, id),
		"enable":   b.hooks.Enable(ctx, actor, other, id),
		"remove":   b.hooks.Remove(ctx, actor, other, id),
		"test":     b.hooks.Test(ctx, actor, other, id),
		"retry":    b.hooks.Retry(ctx, actor, other, id, delivery),
		"rotate":   func() error { _, _, err := b.hooks.Rotate(ctx, actor, other, id); return err }(),
		"no such":  b.hooks.Retry(ctx, actor, b.org, id, uuid.New()),
	} {
		if !isMissing(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := b.hooks.Deliveries(ctx, other, id, uuid.Nil, 10); err != nil || len(list) != 0 {
		t.Errorf("%d deliveries, %v", len(list), err)
	}
	// The web role reads no secret, not even its own organisation's.
	err := pg.Web(ctx, b.app, b.org, actor, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "select secret from webhook_endpoints")
		return err
	})
	if pg.Code(err) != "42501" {
		t.Errorf("the secret: %v", err)
	}
}

func isMissing(err error) bool {
	_, ok := errors.AsType[*notify.NotFound](err)
	return ok
}

func second[T any](_ T, err error) error { return err }
