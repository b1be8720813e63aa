package notify_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
)

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
	eventually(t, "it is dropped", func() bool { return b.deliveries(id)[0].State == notify.Dropped && b.changes.Load() == 1 })
	if n := len(r.all()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
