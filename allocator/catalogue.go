package allocator

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"ironhold/fleet"
)

// catalogue is the set of machine classes as of a version. Classes never change, so the copy in
// memory is right as long as the version is the database's, and a newer version only adds to it.
type catalogue struct {
	version int64
	byPrice []*fleet.Class // ascending within each currency, equal ones by identifier
	byID    []*fleet.Class // index = identifier, nil where there is none

	currencies []string // of all prices there ever were, sorted
}

// class returns a class, or nil when this version does not have it.
func (c *catalogue) class(id int) *fleet.Class {
	if id < 0 || id >= len(c.byID) {
		return nil
	}
	return c.byID[id]
}

// Classes are added one transaction after another, each behind the lock of catalogue_version: so
// those with higher identifiers than are known are all that are missing.
const selectClasses = `
select id, site_code, vendor, model, cpu, cpu_count, cores, threads, ram_gb, ecc, nvme_gb, ssd_gb, hdd_gb,
       drives, gpu, nic_mbps, features, price_month_minor, setup_minor, currency
  from machine_classes where id >= $1 order by id`

// current returns the classes as they are at this statement or later, from memory if it can.
func (a *Allocator) current(ctx context.Context, tx pgx.Tx) (*catalogue, error) {
	var version int64
	if err := tx.QueryRow(ctx, "select version from catalogue_version").Scan(&version); err != nil {
		return nil, fmt.Errorf("catalogue version: %w", err)
	}
	return a.at(ctx, tx, version)
}

// loaded reads the classes once for all, before anybody holds a lock: there may be a million.
func (a *Allocator) loaded(ctx context.Context) error {
	if a.classes.Load().version >= 0 {
		return nil
	}
	return a.reading(ctx, func(tx pgx.Tx) error {
		_, err := a.current(ctx, tx)
		return err
	})
}

// at returns the classes of a version that was read in this transaction, or newer ones.
func (a *Allocator) at(ctx context.Context, tx pgx.Tx, version int64) (*catalogue, error) {
	c := a.classes.Load()
	if c.version == version {
		return c, nil
	}
	// Read after the version: so it holds at least that version's classes. Those of a newer one
	// only make it more complete, and the next order will look again.
	rows, err := tx.Query(ctx, selectClasses, len(c.byID))
	if err != nil {
		return nil, fmt.Errorf("classes: %w", err)
	}
	added, err := pgx.CollectRows(rows, pgx.RowToStructByName[fleet.Class])
	if err != nil {
		return nil, fmt.Errorf("classes: %w", err)
	}
	c = c.with(version, added)
	a.classes.Store(c)
	return c, nil
}

// with is the catalogue with classes added, which are in the order of their identifiers.
func (c *catalogue) with(version int64, added []fleet.Class) *catalogue {
	if len(added) == 0 {
		return &catalogue{version: version, byPrice: c.byPrice, byID: c.byID, currencies: c.currencies}
	}
	out := &catalogue{version: version, currencies: c.currencies, byID: make([]*fleet.Class, added[len(added)-1].ID+1)}
	copy(out.byID, c.byID)
	fresh := make([]*fleet.Class, len(added))
	for i := range added {
		fresh[i] = &added[i]
		out.byID[added[i].ID] = fresh[i]
		if !slices.Contains(out.currencies, added[i].Currency) {
			out.currencies = append(slices.Clone(out.currencies), added[i].Currency)
			slices.Sort(out.currencies)
		}
	}
	byPrice := func(a, b *fleet.Class) int {
		return cmp.Or(cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.PriceMonthMinor, b.PriceMonthMinor), cmp.Compare(a.ID, b.ID))
	}
	slices.SortFunc(fresh, byPrice)
	out.byPrice = make([]*fleet.Class, 0, len(c.byPrice)+len(fresh))
	old := c.byPrice
	for len(old) > 0 && len(fresh) > 0 {
		if byPrice(old[0], fresh[0]) < 0 {
			out.byPrice, old = append(out.byPrice, old[0]), old[1:]
		} else {
			out.byPrice, fresh = append(out.byPrice, fresh[0]), fresh[1:]
		}
	}
	out.byPrice = append(append(out.byPrice, old...), fresh...)
	return out
}
