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

// ClassBoard counts the fleet by class, the largest first, at one site or everywhere; page counts
// from 0. more is whether there are further classes than are returned. The order may shift between
// two pages when machines come or go: whoever needs all reads the list of machines.
func (r *Registry) ClassBoard(ctx context.Context, site string, page int) (list []ClassRow, more bool, err error) {
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
				select s.key as class_id, s.grp, s.status, s.n::int as n from (`+stock("class_id")+`) s
				join machine_classes k on k.id = s.key where $1 = '' or k.site_code = $1
			), top as (
				select class_id, n as total from c where grp = 'total' order by total desc, class_id limit $2 offset $3
			)
			select c.class_id, k.site_code, k.vendor, k.model, k.cpu, k.cpu_count, k.cores, k.threads, k.ram_gb, k.ecc, k.nvme_gb, k.ssd_gb,
				k.hdd_gb, k.drives, k.gpu, k.nic_mbps, k.features, k.price_month_minor, k.setup_minor, k.currency, c.grp, c.status, c.n
			from top join c using (class_id) join machine_classes k on k.id = c.class_id
			order by top.total desc, c.class_id`, site, maxClasses+1, max(page, 0)*maxClasses)
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
