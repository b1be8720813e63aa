package accounts

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// The caps and the setting of an organisation whose lock row nobody has needed yet are the
// defaults of the table.
const selectOrg = `
	select o.id, o.slug, o.name, o.suspended_at, coalesce(o.suspended_by, '') as suspended_by,
	       coalesce(o.suspended_reason, '') as suspended_reason,
	       coalesce(l.max_holds, 5) as max_holds, coalesce(l.max_machines, 50) as max_machines,
	       coalesce(l.rollout, 'inherit') as rollout
	  from organisations o left join org_limits l on l.org_id = o.id`

// AddOrg makes an organisation with its lock row. maxHolds caps live holds, maxMachines live holds
// plus active services.
func (d *Directory) AddOrg(ctx context.Context, by pg.By, slug, name string, maxHolds, maxMachines int) (Org, error) {
	name, err := cleanName(name)
	if err := first(checkSlug(slug), err, checkCap("max_holds", maxHolds), checkCap("max_machines", maxMachines)); err != nil {
		return Org{}, err
	}
	var org Org
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		var id uuid.UUID
		err := tx.QueryRow(ctx, "insert into organisations (slug, name) values ($1, $2) returning id", slug, name).Scan(&id)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "insert into org_limits (org_id, max_holds, max_machines) values ($1, $2, $3)", id, maxHolds, maxMachines)
		if err != nil {
			return err
		}
		org, err = orgBySlug(ctx, tx, slug)
		return err
	})
	if pg.Constraint(err) == "organisations_slug_key" {
		return Org{}, &Invalid{"slug", fmt.Sprintf("%q is taken by another organisation", slug)}
	}
	return org, err
}

// OrgBySlug finds an organisation, or answers NotFound.
func (d *Directory) OrgBySlug(ctx context.Context, slug string) (org Org, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		org, err = orgBySlug(ctx, tx, slug)
		return err
	})
	return org, err
}

// Org finds an organisation by its identifier, or answers NotFound.
func (d *Directory) Org(ctx context.Context, id uuid.UUID) (org Org, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, selectOrg+" where o.id = $1", id)
		org, err = one[Org](rows, err2, "organisation", id.String())
		return err
	})
	return org, err
}

// Orgs lists all organisations by slug.
func (d *Directory) Orgs(ctx context.Context) (orgs []Org, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, selectOrg+" order by o.slug")
		if err2 != nil {
			return err2
		}
		orgs, err = pgx.CollectRows(rows, pgx.RowToStructByName[Org])
		return err
	})
	return orgs, err
}

// SetLimits sets the caps under the organisation's lock: an order that runs at the moment is
// counted before or after, never in between. What is held already stays.
func (d *Directory) SetLimits(ctx context.Context, by pg.By, slug string, maxHolds, maxMachines int) (Org, error) {
	if err := first(checkCap("max_holds", maxHolds), checkCap("max_machines", maxMachines)); err != nil {
		return Org{}, err
	}
	return d.changeOrg(ctx, by, slug, `update org_limits
		set max_holds = $2, max_machines = $3, changed_at = clock_timestamp(), changed_by = ironhold_actor()
		where org_id = $1 and (max_holds, max_machines) <> ($2::int, $3::int)`, maxHolds, maxMachines)
}

// SetRollout sets the organisation's own setting (inherit, on or off) under its lock, so that an
// order which arrives after the commit is decided by it.
func (d *Directory) SetRollout(ctx context.Context, by pg.By, orgID uuid.UUID, setting string) (org Org, err error) {
	if setting != "inherit" && setting != "on" && setting != "off" {
		return Org{}, &Invalid{"setting", "must be inherit, on or off"}
	}
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if err := lockOrg(ctx, tx, orgID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `update org_limits
			set rollout = $2, changed_at = clock_timestamp(), changed_by = ironhold_actor()
			where org_id = $1 and rollout <> $2`, orgID, setting)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectOrg+" where o.id = $1", orgID)
		org, err = one[Org](rows, err, "organisation", orgID.String())
		return err
	})
	return org, err
}

// Suspend stops new holds of the organisation, with the reason that staff will read. Live holds and
// services go on. Suspending twice keeps the first reason.
func (d *Directory) Suspend(ctx context.Context, by pg.By, slug, reason string) (Org, error) {
	reason, err := checkReason(reason)
	if err != nil {
		return Org{}, err
	}
	return d.changeOrg(ctx, by, slug, `update organisations
		set suspended_at = clock_timestamp(), suspended_by = ironhold_actor(), suspended_reason = $2, resumed_reason = null
		where id = $1 and suspended_at is null`, reason)
}

// Resume ends a suspension, with the reason that staff will read. Resuming what is not suspended
// changes nothing.
func (d *Directory) Resume(ctx context.Context, by pg.By, slug, reason string) (Org, error) {
	reason, err := checkReason(reason)
	if err != nil {
		return Org{}, err
	}
	return d.changeOrg(ctx, by, slug, `update organisations
		set suspended_at = null, suspended_by = null, suspended_reason = null, resumed_reason = $2
		where id = $1 and suspended_at is not null`, reason)
}

// Suspensions lists when an organisation was suspended and resumed, by whom and why, the newest first.
// The reasons are for staff. Events are "suspended" and "resumed", their After the reason as JSON.
func (d *Directory) Suspensions(ctx context.Context, org uuid.UUID, limit int) (list []HistoryEntry, err error) {
	err = d.read(ctx, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, `select e.at, 'organisation' as kind, e.org_id as subject_id, o.name as subject, e.event, e.actor,
			null::jsonb as before, jsonb_build_object('reason', e.reason) as after, 'suspension:' || e.id as key
			from organisation_events e join organisations o on o.id = e.org_id
			where e.org_id = $1 order by e.at desc, e.id desc limit $2`, org, limit)
		if err2 != nil {
			return err2
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[HistoryEntry])
		return err
	})
	return list, err
}

// changeOrg runs one statement with the organisation's id as $1 under its lock.
func (d *Directory) changeOrg(ctx context.Context, by pg.By, slug, sql string, args ...any) (org Org, err error) {
	err = pg.Engine(ctx, d.db, by, func(tx pgx.Tx) error {
		if org, err = orgBySlug(ctx, tx, slug); err != nil {
			return err
		}
		if err = lockOrg(ctx, tx, org.ID); err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, sql, append([]any{org.ID}, args...)...); err != nil {
			return err
		}
		org, err = orgBySlug(ctx, tx, slug)
		return err
	})
	return org, err
}

func orgBySlug(ctx context.Context, tx pgx.Tx, slug string) (Org, error) {
	if checkSlug(slug) != nil { // nor would the server take every byte
		return Org{}, &NotFound{"organisation", fmt.Sprintf("%q", slug)}
	}
	rows, err := tx.Query(ctx, selectOrg+" where o.slug = $1", slug)
	return one[Org](rows, err, "organisation", fmt.Sprintf("%q", slug))
}

// read runs f as the engine: accounts are looked up before it is known whose they are.
func (d *Directory) read(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pg.Engine(ctx, d.db, pg.By{}, f)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
