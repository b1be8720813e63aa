package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// BoardRow counts the machines of a site. Each number is counted by itself, from the rows that it is
// about, so that Held + InService + Free + Out() = Total is a check and no tautology: a machine with
// two occupants makes the sum larger than the total.
type BoardRow struct {
	Site      Site           // zero in the sum of all sites
	Held      int            // live holds, whatever the machine's status
	InService int            // active services
	Free      int            // ready, neither of both
	OutOfSale map[Status]int // the rest, by status; only statuses that occur
	Total     int            // machines
}

// Adds reports whether the sum is the total.
func (b BoardRow) Adds() bool { return b.Held+b.InService+b.Free+b.Out() == b.Total }

// Out is the number of machines out of sale.
func (b BoardRow) Out() int {
	n := 0
	for _, c := range b.OutOfSale {
		n += c
	}
	return n
}

// Board is the fleet in numbers at one instant, by the database's clock.
type Board struct {
	AsOf  time.Time
	Sites []BoardRow // by code; also sites without machines
	All   BoardRow
}

// stock is the query of the counts, one row per key, group and status, by a column of machines.
func stock(key string) string {
	return fmt.Sprintf(`
		with live as (select machine_id from holds where state = 'held' and expires_at > statement_timestamp()),
		     active as (select machine_id from services where ended_at is null)
		select m.%[1]s as key, 'total' as grp, '' as status, count(*) as n from machines m group by 1
		union all
		select m.%[1]s, 'held', '', count(*) from live join machines m on m.id = live.machine_id group by 1
		union all
		select m.%[1]s, 'in_service', '', count(*) from active join machines m on m.id = active.machine_id group by 1
		union all
		select m.%[1]s, case m.status when 'ready' then 'free' else 'out' end, m.status, count(*) from machines m
		where not exists (select from live where machine_id = m.id) and not exists (select from active where machine_id = m.id)
		group by m.%[1]s, m.status`, key)
}

// Board counts the fleet in one statement, so that the sums agree.
func (r *Registry) Board(ctx context.Context) (Board, error) {
	type count struct {
		AsOf time.Time `db:"as_of"`
		Site
		Group  string `db:"grp"`
		Status Status `db:"status"`
		N      int    `db:"n"`
	}
	var counts []count
	err := r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select statement_timestamp() as as_of, t.code, t.name, t.country, t.time_zone, t.delivery_hours,
				coalesce(c.grp, '') as grp, coalesce(c.status, '') as status, coalesce(c.n, 0)::int as n
			from sites t left join (`+stock("site_code")+`) c on c.key = t.code
			order by t.code`)
		if err != nil {
			return err
		}
		counts, err = pgx.CollectRows(rows, pgx.RowToStructByName[count])
		return err
	})
	if err != nil {
		return Board{}, fmt.Errorf("board: %w", err)
	}
	b := Board{All: BoardRow{OutOfSale: map[Status]int{}}}
	for _, c := range counts {
		b.AsOf = c.AsOf
		if n := len(b.Sites); n == 0 || b.Sites[n-1].Site.Code != c.Code {
			b.Sites = append(b.Sites, BoardRow{Site: c.Site, OutOfSale: map[Status]int{}})
		}
		b.Sites[len(b.Sites)-1].add(c.Group, c.Status, c.N)
		b.All.add(c.Group, c.Status, c.N)
	}
	return b, nil
}

func (b *BoardRow) add(group string, status Status, n int) {
	switch group {
	case "held":
		b.Held += n
	case "in_service":
		b.InService += n
	case "free":
		b.Free += n
	case "out":
		b.OutOfSale[status] += n
	case "total":
		b.Total += n
	}
}
