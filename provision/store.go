package provision

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Store reads provisionings, operating systems and keys, and takes the steps of people. It is safe for
// concurrent use.
type Store struct {
	db       pg.DB
	onChange func()
}

// NewStore makes one over a pool.
func NewStore(db pg.DB) *Store { return &Store{db: db, onChange: func() {}} }

// OnChange makes the store call f after each committed change. Call it before the store is used.
func (s *Store) OnChange(f func()) *Store {
	s.onChange = f
	return s
}

// read sees what belongs to org, or with the zero value everything, which is for staff.
func (s *Store) read(ctx context.Context, org uuid.UUID, f func(tx pgx.Tx) error) error {
	if org == uuid.Nil {
		return pg.Engine(ctx, s.db, pg.By{}, f)
	}
	return pg.Web(ctx, s.db, org, pg.By{}, f)
}

// Of returns what is done to the machine of a service: the installation, and after its end the wipe. An
// unknown service, or another organisation's, has nothing.
func (s *Store) Of(ctx context.Context, org, service uuid.UUID) (list []Progress, err error) {
	err = s.read(ctx, org, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
select service_id, kind, state, attempt, step, percent, created_at, started_at, finished_at
  from provisionings where service_id = $1 and ($2::uuid is null or org_id = $2) order by kind`, service, null(org))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Progress])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("provisionings of service %s: %w", service, err)
	}
	return list, nil
}

// maxBoard bounds the board; more than that is looked at machine by machine.
const maxBoard = 500

// Board lists what is open, the oldest first, for operators.
func (s *Store) Board(ctx context.Context) (list []Item, err error) {
	err = pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
select p.service_id, p.kind, p.state, p.attempt, p.step, p.percent, p.created_at, p.started_at, p.finished_at,
       o.name as org, m.asset_tag, m.site_code, m.room, m.rack, p.driver, s.os, s.ssh_keys, p.detail, p.error, p.errors,
       extract(epoch from clock_timestamp() - p.created_at)::float8 as age, p.due_at, m.set_aside_at
  from provisionings p
  join services s on s.id = p.service_id
  join organisations o on o.id = p.org_id
  join machines m on m.id = p.machine_id
 where p.state in ('queued', 'running')
 order by p.created_at limit $1`, maxBoard)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Item])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open provisionings: %w", err)
	}
	return list, nil
}

// Oldest is the age in seconds of the oldest open provisioning, 0 when there is none.
func (s *Store) Oldest(ctx context.Context) (seconds float64, err error) {
	err = pg.Engine(ctx, s.db, pg.By{}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8
  from provisionings where state in ('queued', 'running')`).Scan(&seconds)
	})
	return seconds, err
}

// null makes the zero identifier a NULL.
func null(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
