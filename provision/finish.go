package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/holds"
	"ironhold/migrations/pg"
	"ironhold/provision/driver"
)

// close sets the final state of the row in tx, and reports whether it still was the caller's to set.
type closer func(ctx context.Context, tx pgx.Tx, state State) (bool, error)

// close is the closer of a step: the attempt must still be the row's.
func (t turn) close(ctx context.Context, tx pgx.Tx, state State, why string) (bool, error) {
	tag, err := tx.Exec(ctx, `update provisionings set state = $5, error = $6, begun = true, step = case when $5 = 'done' then '' else step end,
 percent = case when $5 = 'done' then 100 else percent end`+mine, t.service, t.kind, t.task.Attempt, t.driver.Name(), state, clip(why, maxText))
	return err == nil && tag.RowsAffected() == 1, err
}

func (w *Works) done(ctx context.Context, t turn) error {
	ok, err := finish(ctx, w.db, by, t.service, t.kind, "wiped after service "+t.service.String(),
		func(ctx context.Context, tx pgx.Tx, state State) (bool, error) { return t.close(ctx, tx, state, "") })
	if err == nil && ok {
		w.onChange()
		w.log.InfoContext(ctx, "provisioning done", "kind", t.kind, "service", t.service.String(), "machine", t.task.Machine.Tag)
	}
	return err
}

func (w *Works) fail(ctx context.Context, t turn, why string) error {
	if why == "" {
		why = "the driver gave no reason"
	}
	ok, err := giveUp(ctx, w.db, w.book, by, t.service, t.kind, why,
		func(ctx context.Context, tx pgx.Tx, state State) (bool, error) { return t.close(ctx, tx, state, why) })
	if err == nil && ok {
		w.onChange()
		w.log.WarnContext(ctx, "provisioning failed", "kind", t.kind, "service", t.service.String(), "machine", t.task.Machine.Tag, "why", clip(why, maxText))
	}
	return err
}

// finish closes a row as done. With a wipe the machine is recorded as wiped and becomes ready, in the same
// transaction and only while it has no later service.
func finish(ctx context.Context, db pg.DB, by pg.By, service uuid.UUID, kind driver.Kind, reason string, close closer) (ok bool, err error) {
	err = pg.Engine(ctx, db, by, func(tx pgx.Tx) error {
		if kind == driver.Install {
			// Whoever ends the service at this moment has closed the row, or finds it done.
			ok, err = close(ctx, tx, Done)
			return err
		}
		machine, err := lockMachineOf(ctx, tx, service)
		if err != nil {
			return err
		}
		if ok, err = close(ctx, tx, Done); err != nil || !ok {
			return err
		}
		_, err = tx.Exec(ctx, `
update machines m set wiped_at = clock_timestamp(), wiped_by = $3, wipe_reason = $4, updated_at = clock_timestamp(),
       status = case when m.status = 'cleaning' and m.set_aside_at is null then 'ready' else m.status end,
       status_reason = case when m.status = 'cleaning' and m.set_aside_at is null then $4 else m.status_reason end
 where m.id = $1 and not exists (select from services s where s.machine_id = m.id and s.id <> $2
         and s.started_at >= (select ended_at from services where id = $2))`,
			machine, service, by.Actor, reason)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("%s of service %s: %w", kind, service, err)
	}
	return ok, nil
}

// giveUp closes a row as failed. The service of an installation ends and its machine goes to maintenance;
// so does the machine of a wipe. All in one transaction, the row first.
func giveUp(ctx context.Context, db pg.DB, book *holds.Book, by pg.By, service uuid.UUID, kind driver.Kind, why string, close closer) (ok bool, err error) {
	if kind == driver.Install {
		_, err = book.FailService(ctx, by, service, "setting up failed: "+clip(why, maxText), func(tx pgx.Tx) (bool, error) {
			ok, err = close(ctx, tx, Failed)
			return ok, err
		})
		if r, is := errors.AsType[*holds.Refused](err); is {
			return false, fmt.Errorf("service %s: %w", service, r)
		}
		return ok, err
	}
	err = pg.Engine(ctx, db, by, func(tx pgx.Tx) error {
		machine, err := lockMachineOf(ctx, tx, service)
		if err != nil {
			return err
		}
		if ok, err = close(ctx, tx, Failed); err != nil || !ok {
			return err
		}
		_, err = tx.Exec(ctx, `update machines set status = 'maintenance', status_reason = $2 where id = $1 and status = 'cleaning'`,
			machine, "the wipe failed: "+clip(why, maxText))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("%s of service %s: %w", kind, service, err)
	}
	return ok, nil
}

func lockMachineOf(ctx context.Context, tx pgx.Tx, service uuid.UUID) (id uuid.UUID, err error) {
	if err = tx.QueryRow(ctx, "select machine_id from services where id = $1", service).Scan(&id); err != nil {
		return id, err
	}
	err = tx.QueryRow(ctx, "select id from machines where id = $1 for no key update", id).Scan(&id)
	return id, err
}
