package holds

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Cancel gives the machine of a live hold back. Cancelling again returns the hold unchanged.
// Exactly one of cancel, convert and expire wins; the others get its name: HoldExpired,
// HoldConverted. Other refusals: NotFound, Busy, Checking.
func (b *Book) Cancel(ctx context.Context, by pg.By, s Scope, id uuid.UUID, reason string) (Hold, error) {
	h, err := b.Get(ctx, s, id)
	if err != nil || h.State == Cancelled {
		return h, err
	}
	err = b.step(ctx, by, h.OrgID, func(tx pgx.Tx) error {
		if err := lockAll(ctx, tx, h); err != nil {
			return err
		}
		if h, err = getHold(ctx, tx, s, id); err != nil || h.State == Cancelled {
			return err
		}
		if err := refuseUnlessLive(h); err != nil {
			return err
		}
		if err := cancelRow(ctx, tx, h, by, reason); err != nil {
			return err
		}
		h, err = getHold(ctx, tx, s, id)
		return err
	}, func(tx pgx.Tx) (bool, error) {
		now, err := getHold(ctx, tx, s, id)
		if err != nil {
			return false, err
		}
		h = now
		return h.State == Cancelled, nil
	})
	return h, err
}

func cancelRow(ctx context.Context, tx pgx.Tx, h Hold, by pg.By, reason string) error {
	tag, err := tx.Exec(ctx, `
update holds set state = 'cancelled', closed_at = clock_timestamp(), closed_by = $2, close_reason = $3
 where id = $1 and state = 'held' and expires_at > clock_timestamp()`, h.ID, by.Actor, reason)
	if err != nil {
		return refusal(err, h)
	}
	if tag.RowsAffected() == 0 {
		return &Refused{Kind: HoldExpired, Hold: h, Detail: "the deadline has passed"}
	}
	return nil
}

// lockAll takes the locks of a step on a hold and its machine, in the order of the house.
func lockAll(ctx context.Context, tx pgx.Tx, h Hold) error {
	if err := LockOrg(ctx, tx, h.OrgID); err != nil {
		return err
	}
	if err := lockMachine(ctx, tx, h.MachineID); err != nil {
		return err
	}
	return lockHold(ctx, tx, h.ID)
}
