package bench

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// FillKinds puts a fleet of so many classes into an empty migrated database: few for a large fleet
// of equal machines, as many as machines for an auction. Triggers are off, since they would take
// most of an hour; the classes are what intake would have made, under other fingerprints.
func FillKinds(ctx context.Context, owner *pgxpool.Pool, machines, classes, orgs int) (*Fleet, error) {
	f := &Fleet{Owner: owner, Machines: machines}
	err := pgx.BeginFunc(ctx, owner, func(tx pgx.Tx) error {
		for _, s := range []struct {
			sql  string
			args []any
		}{
			{"set local session_replication_role = replica", nil},
			{"insert into sites (code, name) select 'SITE' || i, 'Site ' || i from generate_series(1, 4) i", nil},
			{`
insert into machine_classes (fingerprint, site_code, vendor, model, cpu, cpu_count, cores, threads, ram_gb, ecc, nvme_gb, ssd_gb, hdd_gb,
  drives, gpu, nic_mbps, features, price_month_minor, setup_minor, currency)
select sha256(i::text::bytea), 'SITE' || 1 + i % 4, 'Vendor', 'Model', 'AMD EPYC ' || 7000 + i % 900, 1, c, t, r, true, n, 0, 0, '[]', '', nic, '{}',
       3000 + (i::bigint * 7919) % 40000, 0, 'EUR'
  from generate_series(1, $1::int) i cross join lateral (
   select 8 + 8 * (i % 12), 16 + 16 * (i % 12), (array[16,32,64,128,256,512,768])[1 + (i / 3) % 7], 480 * (1 + i % 11), (array[1000,10000,25000])[1 + i % 3]) x(c, t, r, n, nic)`, []any{classes}},
			{"update catalogue_version set version = version + 1", nil},
			{`
insert into machines (id, asset_tag, site_code, vendor, model, cpu, cores, threads, ram_gb, ecc, nvme_gb, nic_mbps, price_month_minor, status, class_id)
select gen_random_uuid(), 'm-' || i, c.site_code, c.vendor, c.model, c.cpu, c.cores, c.threads, c.ram_gb, c.ecc, c.nvme_gb, c.nic_mbps,
       c.price_month_minor, 'ready', c.id
  from generate_series(1, $1::int) i join machine_classes c on c.id = (select min(id) from machine_classes) + i % $2::int`, []any{machines, classes}},
			{"insert into organisations (slug, name) select 'org-' || i, 'Org ' || i from generate_series(1, $1::int) i", []any{orgs}},
			{"insert into org_limits (org_id, max_holds, max_machines) select id, 1000000, 1000000 from organisations", nil},
		} {
			if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
				return fmt.Errorf("fill the fleet: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, err := owner.Exec(ctx, "vacuum (analyze)"); err != nil {
		return nil, fmt.Errorf("fill the fleet: %w", err)
	}
	rows, err := owner.Query(ctx, "select id from organisations order by slug")
	if err != nil {
		return nil, fmt.Errorf("organisations: %w", err)
	}
	f.Orgs, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return f, err
}
