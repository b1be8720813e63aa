package holds_test

import (
	"testing"

	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// What the caps limit is what is counted: an overdue hold is none.
func TestUsage(t *testing.T) {
	t.Parallel()
	owner := pgtest.DB(t)
	book := holds.New(fixture.App(t, owner, 2), holds.DefaultPolicy())
	acme, rival := fixture.Org(t, owner, "acme", 5, 50), fixture.Org(t, owner, "rival", 5, 50)
	fixture.Equal(t, owner, "m", 4)
	fixture.Exec(t, owner, `insert into holds (org_id, machine_id, idempotency_key, expires_at)
		select case asset_tag when 'm-4' then $2::uuid else $1::uuid end, id, asset_tag, clock_timestamp() + interval '1 hour' from machines`, acme, rival)
	fixture.Exec(t, owner, "update holds set expires_at = clock_timestamp() - interval '1 second' where idempotency_key = 'm-1'")
	list, err := book.List(t.Context(), holds.Filter{Scope: holds.Scope{OrgID: acme}, State: holds.Held, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := book.Convert(t.Context(), pg.By{Actor: "test"}, holds.Scope{OrgID: acme}, list[0].ID); err != nil {
		t.Fatal(err)
	}
	u, err := book.Usage(t.Context(), acme)
	if err != nil || u.LiveHolds != 1 || u.Services != 1 || u.Machines() != 2 {
		t.Errorf("got %+v, %v", u, err)
	}
	all, err := book.UsageByOrg(t.Context())
	if err != nil || all[acme] != u || all[rival].LiveHolds != 1 {
		t.Errorf("by organisation: %+v, %v", all, err)
	}
}
