package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// BoardRow counts the machines of a site, each once:
// Held + InService + Free + the sum of OutOfSale = Total.
type BoardRow struct {
	Site      Site           // zero in the sum of all sites
	Held      int            // has a live hold, whatever the status
	InService int            // has an active service
	Free      int            // ready, neither of both
	OutOfSale map[Status]int // the rest, by status; only statuses that occur
	Total     int
}

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
			select statement_timestamp() as as_of, t.code, t.name, t.country, t.time_zone,
				coalesce(c.grp, '') as grp, coalesce(c.status, '') as status, coalesce(c.n, 0)::int as n
			from sites t left join (
				select m.site_code, m.status, count(*) as n,
					case when h.machine_id is not null then 'held'
					     when s.machine_id is not null then 'in_service'
					     when m.status = 'ready' then 'free'
					     else 'out' end as grp
				from machines m
				left join (select machine_id from holds
				           where state = 'held' and expires_at > statement_timestamp()) h on h.machine_id = m.id
				left join (select machine_id from services where ended_at is null) s on s.machine_id = m.id
				group by m.site_code, m.status, 4
			) c on c.site_code = t.code
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
	}
	b.Total += n
}
