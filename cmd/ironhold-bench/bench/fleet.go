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

// SellOut lets the first organisation hold every machine for a long time. Triggers are off: it is
// the state that is wanted, not the work.
func (f *Fleet) SellOut(ctx context.Context) error {
	if err := f.Clear(ctx); err != nil {
		return err
	}
	return f.quietly(ctx, `
insert into holds (id, org_id, machine_id, idempotency_key, created_at, expires_at, created_by)
select gen_random_uuid(), $1, m.id, gen_random_uuid()::text, clock_timestamp() - interval '1 hour', clock_timestamp() + interval '1 day', 'bench'
  from machines m`, f.Orgs[0])
}

// GiveBack frees so many of the machines that are held.
func (f *Fleet) GiveBack(ctx context.Context, n int) error {
	return f.quietly(ctx, `
update holds set state = 'cancelled', closed_at = clock_timestamp()
 where id in (select id from holds where state = 'held' limit $1)`, n)
}

// quietly runs a statement without triggers and renews the statistics.
func (f *Fleet) quietly(ctx context.Context, sql string, args ...any) error {
	err := pgx.BeginFunc(ctx, f.Owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local session_replication_role = replica"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
	if err == nil {
		_, err = f.Owner.Exec(ctx, "vacuum (analyze) holds")
	}
	if err != nil {
		return fmt.Errorf("prepare the fleet: %w", err)
	}
	return nil
}

// Overdue gives the fleet so many overdue holds that no sweep has come by, on machines of their own.
func (f *Fleet) Overdue(ctx context.Context, n int) error {
	if err := f.quietly(ctx, `
insert into machines (id, asset_tag, site_code, cpu, cores, threads, ram_gb, price_month_minor, status, class_id)
select gen_random_uuid(), 'late-' || i, 'SITE1', 'late', 1, 1, 1, 1, 'retired', $1 from generate_series(1, $2::int) i on conflict do nothing`,
		f.ClassID, n); err != nil {
		return err
	}
	return f.quietly(ctx, `
insert into holds (id, org_id, machine_id, idempotency_key, created_at, expires_at, created_by)
select gen_random_uuid(), $1, m.id, gen_random_uuid()::text, clock_timestamp() - interval '2 hours', clock_timestamp() - interval '1 hour', 'bench'
  from machines m where asset_tag like 'late-%'`, f.Orgs[1])
}
