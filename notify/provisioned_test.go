package notify_test

import (
	"strings"
	"testing"

	"ironhold/migrations/pgtest/fixture"
)

// Whoever confirmed is told once that the server is ready, or that it could not be set up; the
// organisation's receivers too. The trigger works on a table of this test's, so that nobody's rules about
// the real one are in its way.
func TestProvisioned(t *testing.T) {
	t.Parallel()
	b := post(t)
	ada := b.person("ada@acme.example", "Ada", "customer", "de", "Europe/Berlin")
	r := newReceiver(t, nil)
	_, secret := b.endpoint(r.URL)
	r.trust(secret)
	b.work()
	fixture.Exec(t, b.owner, "create table installed (service_id uuid, org_id uuid, state text)")
	fixture.Exec(t, b.owner, "create trigger tell after update on installed for each row execute function provisioning_tell()")
	by := actor
	by.Actor = "user:" + ada.String()
	for i, c := range []struct{ state, subject, event string }{
		{"done", "ist bereit", "ironhold.service.ready"}, {"failed", "ließ sich nicht einrichten", "ironhold.service.provisioning_failed"},
	} {
		hold := b.hold(b.org)
		service, _, err := b.book.Convert(t.Context(), by, b.scope(), hold)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Exec(t, b.owner, "insert into installed values ($1, $2, 'open')", service.ID, b.org)
		fixture.Exec(t, b.owner, "update installed set state = $2 where service_id = $1", service.ID, c.state)
		eventually(t, c.subject, func() bool { return len(b.mails("ada@acme.example")) == i+1 })
		if m := b.mails("ada@acme.example")[0]; !strings.Contains(m.Subject, c.subject) || !strings.Contains(m.Text, source+"/services/"+service.ID.String()) {
			t.Errorf("%q: %s", m.Subject, m.Text)
		}
		eventually(t, c.event, func() bool {
			for _, g := range r.all() {
				if g.Type == c.event && g.Subject == "services/"+service.ID.String() && g.Verified == nil && g.Data.Sequence == 2 && g.Data.Service["provisioning"] == c.state {
					return true
				}
			}
			return false
		})
	}
}
