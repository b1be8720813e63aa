package bench

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Fleet is what claims are measured on: equal machines, and organisations without tight caps.
type Fleet struct {
	Owner    *pgxpool.Pool // superuser
	Machines int
	Orgs     []uuid.UUID
	ClassID  int

	sample sample
}

// sample is what the allocator wrote for one hold: the statement writes rows of the same size.
type sample struct{ request, decision, walk, terms string }

// Fill puts the fleet into an empty migrated database.
func Fill(ctx context.Context, owner *pgxpool.Pool, machines, orgs int) (*Fleet, error) {
	f := &Fleet{Owner: owner, Machines: machines}
	steps := []struct {
		sql  string
		args []any
	}{
		{"insert into sites (code, name) values ('SITE1', 'SITE1')", nil},
		{`insert into machines (asset_tag, site_code, cpu, cores, threads, ram_gb, nvme_gb, nic_mbps, price_month_minor, status)
		  select 'm-' || i, 'SITE1', 'AMD EPYC 7302P', 16, 32, 64, 960, 1000, 4000, 'ready' from generate_series(1, $1::int) i`, []any{machines}},
		{"insert into organisations (slug, name) select 'org-' || i, 'Org ' || i from generate_series(1, $1::int) i", []any{orgs}},
		{"insert into org_limits (org_id, max_holds, max_machines) select id, 100000, 100000 from organisations", nil},
		{"vacuum (analyze)", nil},
	}
	for _, s := range steps {
		if _, err := owner.Exec(ctx, s.sql, s.args...); err != nil {
			return nil, fmt.Errorf("fill the fleet: %w", err)
		}
	}
	rows, err := owner.Query(ctx, "select id from organisations order by slug")
	if err != nil {
		return nil, fmt.Errorf("organisations: %w", err)
	}
	if f.Orgs, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
		return nil, fmt.Errorf("organisations: %w", err)
	}
	if err := owner.QueryRow(ctx, "select id from machine_classes").Scan(&f.ClassID); err != nil {
		return nil, fmt.Errorf("the class: %w", err)
	}
	return f, nil
}

// Clear ends all holds and moves what was granted out of the cool-down's window, so that a round
// begins with a free fleet and with the history of those before. Triggers are off: this is the
// passing of time, not work that anybody measures. Dead rows are cleared away and written out.
func (f *Fleet) Clear(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, f.Owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local session_replication_role = replica"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
update holds set state = 'cancelled', closed_at = clock_timestamp(),
       created_at = created_at - interval '2 days', expires_at = expires_at - interval '2 days' where state = 'held'`)
		return err
	})
	if err != nil {
		return fmt.Errorf("clear the fleet: %w", err)
	}
	for _, sql := range []string{"vacuum (analyze) holds", "vacuum machines, org_limits", "checkpoint"} {
		if _, err := f.Owner.Exec(ctx, sql); err != nil {
			return fmt.Errorf("clear the fleet: %w", err)
		}
	}
	return nil
}

// Held counts the holds that are open.
func (f *Fleet) Held(ctx context.Context) (int, error) {
	var n int
	err := f.Owner.QueryRow(ctx, "select count(*)::int from holds where state = 'held'").Scan(&n)
	return n, err
}

// Sample remembers what the newest hold and its attempt look like.
func (f *Fleet) Sample(ctx context.Context) error {
	err := f.Owner.QueryRow(ctx, `
select h.request::text, h.decision::text, t.walk::text, h.terms
  from holds h join allocation_attempts t on t.hold_id = h.id order by h.id desc limit 1`).
		Scan(&f.sample.request, &f.sample.decision, &f.sample.walk, &f.sample.terms)
	if err != nil {
		return fmt.Errorf("sample hold: %w", err)
	}
	return nil
}

// orgsOf are the organisations of one of n clients.
func (f *Fleet) orgsOf(client, n int) []uuid.UUID {
	each := max(1, len(f.Orgs)/n)
	from := client * each % len(f.Orgs)
	return f.Orgs[from:min(from+each, len(f.Orgs))]
}
