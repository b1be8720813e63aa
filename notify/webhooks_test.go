package notify_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
)

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
