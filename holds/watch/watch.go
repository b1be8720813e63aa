package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/fleet"
	"ironhold/holds/invariants"
	"ironhold/migrations/pg"
)

// actor is who the history names.
const actor = "watch"

// Watcher runs the checks and keeps what they found.
type Watcher struct {
	db    pg.DB
	check *invariants.Checker
	fleet *fleet.Registry
	log   *slog.Logger
}

// New makes a watcher.
func New(db pg.DB, check *invariants.Checker, machines *fleet.Registry, log *slog.Logger) *Watcher {
	return &Watcher{db: db, check: check, fleet: machines, log: log}
}

// Run asks every invariant once and returns how many are violated. What was found is kept and acted on
// even when a later check fails; the error says which.
func (w *Watcher) Run(ctx context.Context) (violated int, err error) {
	results, checkErr := w.check.Check(ctx)
	for _, r := range results {
		for _, e := range r.Examples {
			w.log.ErrorContext(ctx, "invariant violated", "check", r.Name, "violations", r.Violations, "what", e)
		}
	}
	if err := w.keep(ctx, results); err != nil {
		return 0, errors.Join(checkErr, err)
	}
	return len(invariants.Violated(results)), errors.Join(checkErr, w.withdraw(ctx))
}

// keep writes how the checks stand and which machines are named. An alarm that was gone begins anew.
func (w *Watcher) keep(ctx context.Context, results []invariants.Result) error {
	if len(results) == 0 {
		return nil
	}
	names := make([]string, 0, len(results))
	counts := make([]int32, 0, len(results))
	examples := make([]string, 0, len(results))
	machines, checks, whats := []uuid.UUID{}, []string{}, []string{}
	for _, r := range results {
		names, counts = append(names, r.Name), append(counts, int32(min(r.Violations, 1<<30))) //nolint:gosec // bounded
		example := ""
		if len(r.Examples) > 0 {
			example = r.Examples[0]
		}
		examples = append(examples, example)
		for _, m := range r.Machines {
			machines, checks, whats = append(machines, m.Machine), append(checks, r.Name), append(whats, m.What)
		}
	}
	err := pg.Engine(ctx, w.db, pg.By{Actor: actor}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
insert into invariant_states (name, violations, example, checked_at)
select name, violations, example, clock_timestamp() from unnest($1::text[], $2::int[], $3::text[]) as s(name, violations, example) order by name
on conflict (name) do update set violations = excluded.violations, example = excluded.example, checked_at = excluded.checked_at`,
			names, counts, examples); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
update machine_alarms a set gone_at = clock_timestamp()
 where gone_at is null and name = any($1)
   and not exists (select from unnest($2::uuid[], $3::text[], $4::text[]) as f(machine_id, name, what)
                    where (f.machine_id, f.name, f.what) = (a.machine_id, a.name, a.what))`, names, machines, checks, whats); err != nil {
			return err
		}
		// A machine that a broken database names but does not have cannot be kept from sale.
		_, err := tx.Exec(ctx, `
insert into machine_alarms (machine_id, name, what)
select distinct f.machine_id, f.name, f.what from unnest($1::uuid[], $2::text[], $3::text[]) as f(machine_id, name, what)
  join machines m on m.id = f.machine_id order by 1, 2, 3
on conflict (machine_id, name, what) do update set since = clock_timestamp(), withdrawn_at = null, gone_at = null
 where machine_alarms.gone_at is not null`, machines, checks, whats)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep the checks: %w", err)
	}
	return nil
}

// withdraw takes named machines off sale, each in a transaction of its own and once for each alarm.
func (w *Watcher) withdraw(ctx context.Context) error {
	type alarm struct {
		Machine uuid.UUID `db:"machine_id"`
		Tag     string    `db:"asset_tag"`
		Name    string    `db:"name"`
		What    string    `db:"what"`
	}
	var open []alarm
	err := pg.Engine(ctx, w.db, pg.By{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
select distinct on (a.machine_id) a.machine_id, m.asset_tag, a.name, a.what from machine_alarms a join machines m on m.id = a.machine_id
 where a.gone_at is null and a.withdrawn_at is null and m.status = 'ready' order by a.machine_id, a.since`)
		if err != nil {
			return err
		}
		open, err = pgx.CollectRows(rows, pgx.RowToStructByName[alarm])
		return err
	})
	if err != nil {
		return fmt.Errorf("machines with an alarm: %w", err)
	}
	var failed []error
	for _, a := range open {
		reason := "under investigation: check " + a.Name + " found: " + a.What
		if runes := []rune(reason); len(runes) > fleet.MaxReason {
			reason = string(runes[:fleet.MaxReason])
		}
		_, err := w.fleet.SetStatus(ctx, pg.By{Actor: actor}, a.Tag, fleet.Maintenance, reason)
		if err == nil {
			w.log.ErrorContext(ctx, "machine left sale", "machine", a.Tag, "check", a.Name)
			err = pg.Engine(ctx, w.db, pg.By{Actor: actor}, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, `update machine_alarms set withdrawn_at = clock_timestamp()
					where machine_id = $1 and gone_at is null and withdrawn_at is null`, a.Machine)
				return err
			})
		}
		if err != nil && !fleet.IsRefusal(err) { // a refusal: somebody moved it meanwhile
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// State is how one invariant stood when it was last asked.
type State struct {
	Name       string    `db:"name"`
	Violations int       `db:"violations"`
	Example    string    `db:"example"`
	CheckedAt  time.Time `db:"checked_at"`
}

// States are the last results of every invariant, by name, with no query but the one for them.
func States(ctx context.Context, db pg.DB) (out []State, err error) {
	err = pg.Engine(ctx, db, pg.By{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "select name, violations, example, checked_at from invariant_states order by name")
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[State])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("states of the invariants: %w", err)
	}
	return out, nil
}
