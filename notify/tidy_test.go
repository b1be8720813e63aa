package notify_test

import (
	"testing"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
	"ironhold/notify"
)

// What is older than it is kept is removed, and nothing else.
func TestTidyRemovesWhatIsOld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fixture.Exec(t, b.owner, `insert into webhook_messages (org_id, kind, subject_id, event, body, relayed_at)
		select $1, 'hold', ironhold_uuid_v7(), age, '{}', clock_timestamp() - age::interval from unnest(array['31 days', '29 days']) age`, b.org)
	fixture.Exec(t, b.owner, `insert into webhook_messages (org_id, kind, subject_id, event, at) values ($1, 'hold', ironhold_uuid_v7(), 'new', clock_timestamp() - interval '31 days')`, b.org)
	fixture.Exec(t, b.owner, `insert into mails (kind, subject_id, person, state, finished_at)
		select 'invitation', ironhold_uuid_v7(), age, 'sent', clock_timestamp() - age::interval from unnest(array['31 days', '29 days']) age`)
	b.tidy()
	if left := fixture.Get[string](t, b.owner, "select string_agg(event, ', ' order by event) from webhook_messages"); left != "29 days, new" {
		t.Errorf("messages: %s", left)
	}
	if left := fixture.Get[string](t, b.owner, "select string_agg(person, ', ') from mails"); left != "29 days" {
		t.Errorf("mails: %s", left)
	}
}

// tidy runs the periodic job once.
func (b *bench) tidy() {
	b.t.Helper()
	w, err := newWorker(b.t.Context(), pgtest.LoginURL(b.t, b.owner.Config().ConnString()), "tidy", b.catcher, b.changed)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(w.db.Close)
	job, err := w.jobs.Insert(b.t.Context(), notify.TidyArgs{}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.work()
	eventually(b.t, "it is tidied", func() bool {
		return fixture.Get[string](b.t, b.owner, "select state::text from river.river_job where id = $1", job.Job.ID) == "completed"
	})
}

// What is queued and has no job any more is given up after days, and the secret of a link goes with it;
// an old one that a person sends once more is not.
func TestTidyGivesUpWhatIsLost(t *testing.T) {
	t.Parallel()
	b := post(t)
	w, err := newWorker(t.Context(), pgtest.LoginURL(t, b.owner.Config().ConnString()), "idle", b.catcher, b.changed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.db.Close)
	endpoint, _ := b.endpoint("https://hooks.example/")
	b.hold(b.org)
	b.hold(b.org)
	invite := func(email string) uuid.UUID {
		_, inv, err := b.directory().Invite(t.Context(), actor, b.org, email, accounts.Customer)
		if err != nil {
			t.Fatal(err)
		}
		return inv.ID
	}
	lostMail, keptMail := invite("lost@acme.example"), invite("kept@acme.example")
	relay := func() {
		if _, err := w.relay.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	relay()
	list := b.deliveries(endpoint)
	if len(list) != 2 || b.state(lostMail) != "queued" || b.state(keptMail) != "queued" {
		t.Fatalf("%+v, %q, %q", list, b.state(lostMail), b.state(keptMail))
	}
	lost, kept := list[0].ID, list[1].ID
	fixture.Exec(t, b.owner, "update webhook_deliveries set created_at = created_at - interval '6 days'")
	fixture.Exec(t, b.owner, "update mails set created_at = created_at - interval '6 days'")
	if err := b.hooks.Retry(t.Context(), actor, b.org, endpoint, kept); err != nil {
		t.Fatal(err)
	}
	relay()
	fixture.Exec(t, b.owner, "update river.river_job set state = 'scheduled', scheduled_at = now() + interval '1 hour'")
	fixture.Exec(t, b.owner, `update river.river_job set state = 'cancelled', finalized_at = now()
		where args ->> 'delivery' = $1::text or args ->> 'mail' = (select id::text from mails where subject_id = $2)`, lost.String(), lostMail)
	b.tidy()
	states := map[uuid.UUID]notify.State{}
	for _, d := range b.deliveries(endpoint) {
		states[d.ID] = d.State
	}
	if states[lost] != notify.Failed || states[kept] != notify.Queued {
		t.Errorf("lost is %s, kept is %s", states[lost], states[kept])
	}
	if b.state(lostMail) != "failed no_answer" || b.state(keptMail) != "queued" {
		t.Errorf("lost is %q, kept is %q", b.state(lostMail), b.state(keptMail))
	}
	if n := fixture.Get[int](t, b.owner, "select count(*) from mails where secret is not null"); n != 1 {
		t.Errorf("%d secrets are kept", n)
	}
}
