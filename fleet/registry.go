package fleet

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Registry reads and writes the fleet. Its methods see every organisation's machines: who may call
// them is decided above.
type Registry struct {
	db       pg.DB
	onChange func()
}

// New makes a registry over a pool or a transaction.
func New(db pg.DB) *Registry { return &Registry{db: db, onChange: func() {}} }

// OnChange makes the registry call f after each change that was committed, never inside a
// transaction. Call it before the registry is used; f must not block.
func (r *Registry) OnChange(f func()) *Registry {
	r.onChange = f
	return r
}

// changed tells of a change that was committed, and gives its error on.
func (r *Registry) changed(err error) error {
	if err == nil {
		r.onChange()
	}
	return err
}

// Filter selects machines. Zero fields select everything.
type Filter struct {
	Status Status
	Site   string // site code
	Query  string // part of asset tag, serial, vendor, model, processor, room or rack, whatever the case
	After  string // asset tag of the last row of the page before
	Limit  int    // 50 when zero, at most 1000
}

const columns = `id, asset_tag, room, rack, serial, ram, site_code, vendor, model, cpu, cpu_count, cores, threads,
	ram_gb, ecc, nvme_gb, ssd_gb, hdd_gb, drives, gpu, nic_mbps, features, price_month_minor, setup_minor, currency,
	class_id, lot, status, status_reason, status_by, status_at, wiped_at, created_at, updated_at`

// Machine returns the machine with the asset tag, or *NotFound.
func (r *Registry) Machine(ctx context.Context, tag string) (m Machine, err error) {
	err = r.read(ctx, func(tx pgx.Tx) error {
		m, err = machineByTag(ctx, tx, tag, "")
		return err
	})
	return m, err
}

// machineByTag reads one machine; lock is "" or a locking clause.
func machineByTag(ctx context.Context, tx pgx.Tx, tag, lock string) (Machine, error) {
	rows, err := tx.Query(ctx, "select "+columns+" from machines where asset_tag = $1 "+lock, storable(tag))
	if err != nil {
		return Machine{}, fmt.Errorf("machine %s: %w", tag, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Machine])
	if err != nil {
		return Machine{}, fmt.Errorf("machine %s: %w", tag, err)
	}
	if len(list) == 0 {
		return Machine{}, &NotFound{Tag: tag}
	}
	return list[0], nil
}

// Machines returns the machines of the filter by ascending asset tag.
func (r *Registry) Machines(ctx context.Context, f Filter) (list []Machine, err error) {
	limit := f.Limit
	if limit <= 0 {
		limit = 50
	}
	err = r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select `+columns+` from machines
			where asset_tag > @after
			  and (@status = '' or status = @status)
			  and (@site = '' or site_code = @site)
			  and (@query = '' or strpos(lower(concat_ws(E'\n', asset_tag, serial, vendor, model, cpu, room, rack)), lower(@query)) > 0)
			order by asset_tag limit @limit`,
			pgx.StrictNamedArgs{
				"after": storable(f.After), "status": storable(string(f.Status)), "site": storable(f.Site),
				"query": storable(strings.TrimSpace(f.Query)), "limit": min(limit, 1000),
			})
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Machine])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	return list, nil
}

// Vendors returns the vendors of the machines that are not retired, sorted.
func (r *Registry) Vendors(ctx context.Context) (list []string, err error) {
	err = r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select distinct vendor from machines
			where vendor <> '' and status <> 'retired' order by vendor`)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("vendors: %w", err)
	}
	return list, nil
}

func (r *Registry) read(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pg.Engine(ctx, r.db, pg.By{}, f)
}

// storable makes any text one that the server takes as a parameter; what it cannot take matches
// nothing anyway.
func storable(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}
