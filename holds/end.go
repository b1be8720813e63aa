package holds

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// EndService ends a service; its machine goes to cleaning and is not sold before a wipe is
// recorded. Ending again returns the service unchanged. Refusals: NotFound, Busy, Checking.
func (b *Book) EndService(ctx context.Context, by pg.By, s Scope, id uuid.UUID, reason string) (Service, error) {
	v, err := b.GetService(ctx, s, id)
	if err != nil || v.EndedAt != nil {
		return v, err
	}
	err = b.step(ctx, by, v.OrgID, func(tx pgx.Tx) error {
		if err := LockOrg(ctx, tx, v.OrgID); err != nil {
			return err
		}
		if err := lockMachine(ctx, tx, v.MachineID); err != nil {
			return err
		}
		if err := lockService(ctx, tx, id); err != nil {
			return err
		}
		if v, err = getService(ctx, tx, s, " where s.id = $1", id); err != nil || v.EndedAt != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
update services set ended_at = clock_timestamp(), ended_by = $2, end_reason = $3 where id = $1 and ended_at is null`,
			id, by.Actor, reason)
		if err != nil {
			return fmt.Errorf("end service: %w", err)
		}
		// A machine in maintenance stays there; it is out of sale all the same.
		_, err = tx.Exec(ctx, `
update machines set status = 'cleaning', status_reason = $2 where id = $1 and status = 'in_service'`,
			v.MachineID, "service "+id.String()+" ended")
		if err != nil {
			return fmt.Errorf("end service: %w", err)
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
