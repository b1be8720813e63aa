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
	byPrice []int32  // identifiers, by ascending price within each currency, equal ones by identifier
	classes []packed // index = identifier
	texts   []texts
	drives  [][]fleet.Drive
	store   *store // what the next version grows from; nil: nothing yet

	currencies []string // of all prices there ever were, sorted
}

// class returns a class, or nil when this version does not have it.
func (c *catalogue) class(id int) *fleet.Class {
	out := &fleet.Class{}
	if !c.fill(id, out) {
		return nil
	}
	return out
}

// currency is that of a class which there is.
func (c *catalogue) currency(id int32) string { return c.texts[c.classes[id].text].currency }

// Classes are added one transaction after another, each behind the lock of catalogue_version: so
// those with higher identifiers than are known are all that are missing.
const selectClasses = `
select id, site_code, vendor, model, cpu, cpu_count, cores, threads, ram_gb, ecc, nvme_gb, ssd_gb, hdd_gb,
       drives, gpu, nic_mbps, features, price_month_minor, setup_minor, currency
  from machine_classes where id >= $1 order by id limit $2`

// classesAtOnce bounds what is unpacked in memory while a fleet of very many classes is read.
const classesAtOnce = 20_000

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
	if c := a.classes.Load(); c.version == version {
		return c, nil
	}
	// One reads for all; the others wait for it here and not for a lock of the database's.
	select {
	case a.reload <- struct{}{}:
		defer func() { <-a.reload }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c := a.classes.Load()
	if c.version == version {
		return c, nil
	}
	// Read after the version: so it holds at least that version's classes. Those of a newer one
	// only make it more complete, and the next order will look again.
	for more := true; more; {
		rows, err := tx.Query(ctx, selectClasses, len(c.classes), classesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("classes: %w", err)
		}
		added, err := pgx.CollectRows(rows, pgx.RowToStructByName[fleet.Class])
		if err != nil {
			return nil, fmt.Errorf("classes: %w", err)
		}
		c, more = c.with(c.version, added), len(added) == classesAtOnce
	}
	c = c.with(version, nil)
	a.classes.Store(c)
	return c, nil
}

// with is the catalogue with classes added, which are in the order of their identifiers.
func (c *catalogue) with(version int64, added []fleet.Class) *catalogue {
	s := c.store
	if s == nil || len(s.classes) != max(1, len(c.classes)) { // grown by another successor of c already
		s = newStore()
		var one fleet.Class
		for id := range c.classes {
			if c.fill(id, &one) {
				s.add(&one)
			}
		}
	}
	currencies := c.currencies
	fresh := make([]int32, len(added))
	for i := range added {
		s.add(&added[i])
		fresh[i] = int32(added[i].ID) //nolint:gosec // the column's type
		if !slices.Contains(currencies, added[i].Currency) {
			currencies = append(slices.Clone(currencies), added[i].Currency)
			slices.Sort(currencies)
		}
	}
	out := &catalogue{version: version, byPrice: c.byPrice, classes: s.classes, texts: s.texts, drives: s.drives, store: s, currencies: currencies}
	if len(added) == 0 {
		return out
	}
	byPrice := func(a, b int32) int {
		return cmp.Or(cmp.Compare(out.currency(a), out.currency(b)), cmp.Compare(s.classes[a].price, s.classes[b].price), cmp.Compare(a, b))
	}
	slices.SortFunc(fresh, byPrice)
	out.byPrice = make([]int32, 0, len(c.byPrice)+len(fresh))
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
