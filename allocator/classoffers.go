package allocator

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// classCount is how many machines of a class stand alike.
type classCount struct {
	ClassID   int        `db:"class_id"`
	Ready     bool       `db:"ready"`
	Held      bool       `db:"held"`
	InService bool       `db:"in_service"`
	Count     int        `db:"count"`
	Tag       string     `db:"tag"`
	NextFree  *time.Time `db:"next_free"`
}

const selectClassCounts = `
select m.class_id, m.status = 'ready' as ready, h.id is not null as held, s.id is not null as in_service,
       count(*)::int as count, min(m.asset_tag) as tag, min(h.expires_at) as next_free
  from machines m
  left join holds h on h.machine_id = m.id and h.state = 'held' and h.expires_at > clock_timestamp()
  left join services s on s.machine_id = m.id and s.ended_at is null
 where m.class_id = any($1) and m.status <> 'retired'
 group by 1, 2, 3, 4`

// ClassOffers are the offers of single classes, in the order in which they are named. Classes that
// do not exist, or whose machines are all retired, are left out.
func (a *Allocator) ClassOffers(ctx context.Context, org uuid.UUID, classes ...int) (Offers, error) {
	var (
		counts []classCount
		cat    *catalogue
		mine   yours
		out    Offers
	)
	err := a.reading(ctx, func(tx pgx.Tx) (err error) {
		if err := tx.QueryRow(ctx, "select clock_timestamp()").Scan(&out.AsOf); err != nil {
			return fmt.Errorf("offers: %w", err)
		}
		rows, err := tx.Query(ctx, selectClassCounts, classes)
		if err != nil {
			return fmt.Errorf("offers: %w", err)
		}
		if counts, err = pgx.CollectRows(rows, pgx.RowToStructByName[classCount]); err != nil {
			return fmt.Errorf("offers: %w", err)
		}
		if cat, err = a.current(ctx, tx); err != nil {
			return err
		}
		mine, err = a.yours(ctx, tx, org)
		return err
	})
	if err != nil {
		return Offers{}, err
	}
	for _, id := range classes {
		class := cat.class(id)
		if class == nil {
			continue
		}
		o := Offer{Class: *class}
		for _, c := range counts {
			if c.ClassID == id {
				o.count(c.Count, c.InService, c.Held, c.Ready)
				o.Tag, o.NextFreeAt = c.Tag, earliest(o.NextFreeAt, c.NextFree)
			}
		}
		if o.Total == 0 {
			continue
		}
		if o.Total > 1 {
			o.Tag = ""
		}
		mine.mark(&o)
		out.Items = append(out.Items, o)
	}
	return out, nil
}
