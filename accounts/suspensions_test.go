package accounts_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Suspending and resuming have reasons, which staff read and the organisation does not; the database
// wants them too.
func TestSuspensionsHaveReasons(t *testing.T) {
	f := setup(t)
	_, err := f.dir.Suspend(f.ctx, by, "acme", " ")
	wantInvalid(t, err, "reason")
	must(f.dir.Resume(f.ctx, by, "acme", "was not suspended"))(t)
	must(f.dir.Suspend(f.ctx, by, "acme", "invoice 7 is open"))(t)
	must(f.dir.Suspend(f.ctx, by, "acme", "again"))(t)
	_, err = f.dir.Resume(f.ctx, by, "acme", "")
	wantInvalid(t, err, "reason")
	if org := must(f.dir.Resume(f.ctx, by, "acme", "invoice 7 is paid"))(t); org.SuspendedAt != nil {
		t.Errorf("%+v", org)
	}
	var lines []string
	for _, e := range must(f.dir.Suspensions(f.ctx, f.org.ID, 10))(t) {
		lines = append(lines, e.Event+" "+string(e.After)+" "+e.Actor)
	}
	wantLines(t, lines, `resumed {"reason": "invoice 7 is paid"} `+by.Actor, `suspended {"reason": "invoice 7 is open"} `+by.Actor)
	for _, sql := range []string{
		"update organisations set suspended_at = clock_timestamp()",
		"update organisations set suspended_at = clock_timestamp(), suspended_reason = ' '",
	} {
		if _, err := f.db.Exec(f.ctx, sql); pg.Constraint(err) != "organisation_events_reason" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	err = pg.Web(f.ctx, f.db, f.org.ID, pg.By{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(f.ctx, "select from organisation_events")
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("the organisation reads the reasons: %v", err)
	}
}
