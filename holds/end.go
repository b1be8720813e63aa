package holds

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// EndService ends a service at once, whether or not its end was planned; its machine goes to cleaning and
// is not sold before a wipe is recorded. Ending again returns the service unchanged. Refusals: NotFound,
// Busy, Checking.
func (b *Book) EndService(ctx context.Context, by pg.By, s Scope, id uuid.UUID, reason string) (Service, error) {
	return b.end(ctx, by, s, id, ending{reason: reason, status: "cleaning", statusReason: "service " + id.String() + " ended"})
}

// FailService ends a service whose machine could not be set up: the machine goes to maintenance. first runs
// in the same transaction, after the locks and before the end; when it says no, nothing is done and the
// service is returned as it is.
func (b *Book) FailService(ctx context.Context, by pg.By, id uuid.UUID, reason string, first func(tx pgx.Tx) (bool, error)) (Service, error) {
	return b.end(ctx, by, Scope{}, id, ending{reason: reason, status: "maintenance", statusReason: reason, first: first})
}

// ending says how a service ends.
type ending struct {
	reason, status, statusReason string

	due   bool // only if its planned end has come
	first func(tx pgx.Tx) (bool, error)
}

func (b *Book) end(ctx context.Context, by pg.By, s Scope, id uuid.UUID, e ending) (Service, error) {
	v, err := b.GetService(ctx, s, id)
	if err != nil || v.EndedAt != nil {
		return v, err
	}
	err = b.step(ctx, by, v.OrgID, func(tx pgx.Tx) error {
		if err := lockForService(ctx, tx, v); err != nil {
			return err
		}
		if v, err = getService(ctx, tx, s, " where s.id = $1", id); err != nil || v.EndedAt != nil {
			return err
		}
		if e.first != nil {
			if yes, err := e.first(tx); err != nil || !yes {
				return err
			}
		}
		tag, err := tx.Exec(ctx, `
update services set ended_at = clock_timestamp(), ended_by = case when $4 then coalesce(end_planned_by, $2) else $2 end,
       end_reason = case when $4 and end_planned_reason <> '' then end_planned_reason else $3 end
 where id = $1 and ended_at is null and (not $4 or end_at <= clock_timestamp())`,
			id, by.Actor, e.reason, e.due)
		if err != nil {
			return fmt.Errorf("end service: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil // its planned end was moved or withdrawn
		}
		// A machine in maintenance stays there; it is out of sale all the same.
		_, err = tx.Exec(ctx, `
update machines set status = $3, status_reason = $2 where id = $1 and status = 'in_service'`,
			v.MachineID, e.statusReason, e.status)
		if err != nil {
			return fmt.Errorf("end service: %w", err)
		}
		if err := b.onService(ctx, tx, id, "wipe"); err != nil {
			return fmt.Errorf("job of service %s: %w", id, err)
		}
		v, err = getService(ctx, tx, s, " where s.id = $1", id)
		return err
	}, func(tx pgx.Tx) (bool, error) {
		now, err := getService(ctx, tx, s, " where s.id = $1", id)
		if err != nil {
			return false, err
		}
		v = now
		return v.EndedAt != nil, nil
	})
	return v, err
}

// lockForService takes the locks of a step on a service, in the order of the house.
func lockForService(ctx context.Context, tx pgx.Tx, v Service) error {
	if err := LockOrg(ctx, tx, v.OrgID); err != nil {
		return err
	}
	if err := lockMachine(ctx, tx, v.MachineID); err != nil {
		return err
	}
	return lockService(ctx, tx, v.ID)
}
