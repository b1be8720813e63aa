package fleet

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ClassRow counts the machines of one class; the sum is that of a BoardRow.
type ClassRow struct {
	ClassID int
	Spec    Spec
	BoardRow
}

// maxClasses bounds the classes of one answer, so that a page stays small; an auction fleet has nearly one per machine.
const maxClasses = 60

// ClassBoard counts the fleet by class, the largest first, at one site or everywhere. more is
// whether there are further classes than are returned.
func (r *Registry) ClassBoard(ctx context.Context, site string) (list []ClassRow, more bool, err error) {
	type count struct {
		ClassID int `db:"class_id"`
		Spec
		Group  string `db:"grp"`
		Status Status `db:"status"`
		N      int    `db:"n"`
	}
	var counts []count
	err = r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			with c as materialized (
				select m.class_id, m.status, count(*)::int as n,
					case when h.machine_id is not null then 'held'
					     when s.machine_id is not null then 'in_service'
					     when m.status = 'ready' then 'free'
					     else 'out' end as grp
				from machines m
				left join (select machine_id from holds
				           where state = 'held' and expires_at > statement_timestamp()) h on h.machine_id = m.id
				left join (select machine_id from services where ended_at is null) s on s.machine_id = m.id
				where $1 = '' or m.site_code = $1
				group by m.class_id, m.status, 4
			), top as (select class_id, sum(n) as total from c group by class_id order by total desc, class_id limit $2)
			select c.class_id, k.site_code, k.vendor, k.model, k.cpu, k.cpu_count, k.cores, k.threads, k.ram_gb, k.ecc, k.nvme_gb, k.ssd_gb,
				k.hdd_gb, k.drives, k.gpu, k.nic_mbps, k.features, k.price_month_minor, k.setup_minor, k.currency, c.grp, c.status, c.n
			from top join c using (class_id) join machine_classes k on k.id = c.class_id
			order by top.total desc, c.class_id`, site, maxClasses+1)
		if err != nil {
			return err
		}
		counts, err = pgx.CollectRows(rows, pgx.RowToStructByName[count])
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("board of classes: %w", err)
	}
	for _, c := range counts {
		if n := len(list); n == 0 || list[n-1].ClassID != c.ClassID {
			if n == maxClasses {
				return list, true, nil
			}
			list = append(list, ClassRow{ClassID: c.ClassID, Spec: c.Spec, BoardRow: BoardRow{OutOfSale: map[Status]int{}}})
		}
		list[len(list)-1].add(c.Group, c.Status, c.N)
	}
	return list, false, nil
}
