package fleet

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// MachinesByTag returns the machines with the given asset tags by tag; unknown tags are left out.
func (r *Registry) MachinesByTag(ctx context.Context, tags []string) (map[string]Machine, error) {
	byTag := make(map[string]Machine, len(tags))
	if len(tags) == 0 {
		return byTag, nil
	}
	err := r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "select "+columns+" from machines where asset_tag = any ($1)", tags)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Machine])
		for _, m := range list {
			byTag[m.AssetTag] = m
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("machines by tag: %w", err)
	}
	return byTag, nil
}
