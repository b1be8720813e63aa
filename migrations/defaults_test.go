package migrations_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

// Whatever the server, the database or the login sets by default, the application's sessions work
// as they were written.
func TestSessionsIgnoreDefaults(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	org := orgs(t, s, 1, 5, 5)[0]
	fixture.Equal(t, s.owner, "m", 1)
	s.must(insertHold("org-1", "m-1", "k", "1 hour"))
	cfg, app := s.owner.Config().ConnConfig, fixture.App(t, s.owner, 2)
	for _, setting := range []string{
		"default_transaction_isolation = 'serializable'", "default_transaction_read_only = on", "search_path = 'pg_temp'",
		"timezone = 'Asia/Kathmandu'", "datestyle = 'German'", "standard_conforming_strings = off", "statement_timeout = '1ms'",
		"row_security = off", "synchronous_commit = off",
	} {
		fixture.Exec(t, s.owner, fmt.Sprintf("alter database %s set %s", pgx.Identifier{cfg.Database}.Sanitize(), setting))
	}
	app.Reset() // what follows begins after the change
	err := pg.Web(t.Context(), app, org, pg.By{Actor: `o'brien \ `}, func(tx pgx.Tx) error {
		var n int
		var actor, durable string
		err := tx.QueryRow(t.Context(), "select count(*), ironhold_actor(), current_setting('synchronous_commit') from holds").Scan(&n, &actor, &durable)
		if n != 1 || actor != `o'brien \ ` || durable != "on" {
			t.Errorf("%d holds, actor %q, synchronous_commit %s", n, actor, durable)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	err = pg.Engine(t.Context(), app, pg.By{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), setHold("k", "state = 'cancelled'"))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
