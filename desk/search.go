package desk

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Found is something that a search has found. Kind is "hold", "service", "attempt", "purchase",
// "machine" or "organisation"; Key is what its page is asked by, Text what people call it.
type Found struct {
	Kind string `db:"kind"`
	Key  string `db:"key"`
	Text string `db:"text"`
	Org  string `db:"org"`
}

// maxFound bounds one kind of what is found.
const maxFound = 20

// Find finds anything by its reference, asset tag or serial number, or organisation; parts of tags,
// slugs and names are enough. Less than two characters find nothing.
func (d *Desk) Find(ctx context.Context, text string) (list []Found, err error) {
	text = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), ""))
	if runes := []rune(text); len(runes) < 2 || len(runes) > 200 {
		return nil, nil
	}
	err = d.read(ctx, func(tx pgx.Tx) error {
		if id, err := uuid.Parse(text); err == nil {
			list, err = collect(ctx, tx, `
				select 'hold' as kind, h.id::text as key, m.asset_tag as text, o.slug as org from holds h
				  join machines m on m.id = h.machine_id join organisations o on o.id = h.org_id where h.id = $1
				union all
				select 'service', s.id::text, m.asset_tag, o.slug from services s
				  join machines m on m.id = s.machine_id join organisations o on o.id = s.org_id where s.id = $1
				union all
				(select 'attempt', t.id::text, t.outcome, coalesce(o.slug, '') from allocation_attempts t
				  left join organisations o on o.id = t.org_id where t.id = $1 limit 1)
				union all
				select 'purchase', p.id::text, p.site_code, '' from purchase_requests p where p.id = $1
				union all
				select 'organisation', o.slug, o.name, o.slug from organisations o where o.id = $1`, id)
			return err
		}
		like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
		list, err = collect(ctx, tx, `
			(select 'organisation' as kind, slug as key, name as text, slug as org from organisations
			  where slug ilike $1 or name ilike $1 order by slug limit $3)
			union all
			(select 'machine', asset_tag, trim(vendor || ' ' || cpu), site_code from machines
			  where asset_tag ilike $1 or serial = $2 order by (lower(asset_tag) <> lower($2)), asset_tag limit $3)
			union all
			(select 'attempt', t.id::text, t.outcome, coalesce(o.slug, '') from allocation_attempts t
			  left join organisations o on o.id = t.org_id where t.request_id = $2 and t.at > clock_timestamp() - interval '30 days'
			  order by t.at desc limit $3)`, like, text, maxFound)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return list, nil
}

func collect(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]Found, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Found])
}
