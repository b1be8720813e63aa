package allocator

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ironhold/fleet"
)

// catalogue is the set of machine classes as of a version. Classes never change, so the copy in
// memory is right as long as the version is the database's.
type catalogue struct {
	version int64
	classes []fleet.Class
	byID    map[int]*fleet.Class
}

const selectClasses = `
select id, site_code, vendor, model, cpu, cpu_count, cores, threads, ram_gb, ecc, nvme_gb, ssd_gb, hdd_gb,
       drives, gpu, nic_mbps, features, price_month_minor, setup_minor, currency
  from machine_classes order by id`

// current returns the classes as they are at this statement or later, from memory if it can.
func (a *Allocator) current(ctx context.Context, tx pgx.Tx) (*catalogue, error) {
	var version int64
	if err := tx.QueryRow(ctx, "select version from catalogue_version").Scan(&version); err != nil {
		return nil, fmt.Errorf("catalogue version: %w", err)
	}
	return a.at(ctx, tx, version)
}

// at returns the classes of a version that was read in this transaction, or newer ones.
func (a *Allocator) at(ctx context.Context, tx pgx.Tx, version int64) (*catalogue, error) {
	if c := a.classes.Load(); c.version == version {
		return c, nil
	}
	// Read after the version: so it holds at least that version's classes. Those of a newer one
	// only make it more complete, and the next order will load again.
	rows, err := tx.Query(ctx, selectClasses)
	if err != nil {
		return nil, fmt.Errorf("classes: %w", err)
	}
	classes, err := pgx.CollectRows(rows, pgx.RowToStructByName[fleet.Class])
	if err != nil {
		return nil, fmt.Errorf("classes: %w", err)
	}
	c := &catalogue{version: version, classes: classes, byID: make(map[int]*fleet.Class, len(classes))}
	for i := range classes {
		c.byID[classes[i].ID] = &classes[i]
	}
	a.classes.Store(c)
	return c, nil
}
