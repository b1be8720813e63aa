package holds

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Convert makes a live hold a service in one transaction; created is false when it was one
// already. The hold stays held until the service exists, so that no statement creates an instant
// in which the machine is free. Refusals: NotFound, HoldExpired, HoldCancelled, MachineWithdrawn,
// Busy, Checking.
func (b *Book) Convert(ctx context.Context, by pg.By, s Scope, id uuid.UUID) (v Service, created bool, err error) {
	return b.ConvertWith(ctx, by, s, id, Setup{})
}

// ConvertWith is Convert with what is to be installed. A hold that was converted before keeps what was
// chosen then. A further refusal: OSNotOffered.
func (b *Book) ConvertWith(ctx context.Context, by pg.By, s Scope, id uuid.UUID, setup Setup) (v Service, created bool, err error) {
	h, err := b.Get(ctx, s, id)
	if err != nil {
		return Service{}, false, err
	}
	err = b.step(ctx, by, h.OrgID, func(tx pgx.Tx) error {
		if err := lockAll(ctx, tx, h); err != nil {
			return err
		}
		if h, err = getHold(ctx, tx, s, id); err != nil {
			return err
		}
		if h.State == Converted {
			v, err = getService(ctx, tx, s, " where s.hold_id = $1", id)
			return err
		}
		if err := refuseUnlessLive(h); err != nil {
			return err
		}
		if h.Withdrawn() {
			return &Refused{Kind: MachineWithdrawn, Hold: h, Detail: "the machine has left sale"}
		}
		created = true
		v, err = b.convertLocked(ctx, tx, by, s, h, setup)
		return err
	}, func(tx pgx.Tx) (bool, error) {
		now, err := getHold(ctx, tx, s, id)
		if err != nil || now.State != Converted {
			return false, err
		}
		created = true
		v, err = getService(ctx, tx, s, " where s.hold_id = $1", id)
		return err == nil, err
	})
	if r, ok := asRefused(err); ok && r.Kind == MachineWithdrawn {
		// Outside the transaction: whether there is another is an offer, not a rule.
		r.Substitute, _ = b.hasSubstitute(ctx, h)
	}
	if err != nil {
		return Service{}, false, err
	}
	return v, created, nil
}

// convertLocked is the promotion itself: service first, then the hold, then the machine.
func (b *Book) convertLocked(ctx context.Context, tx pgx.Tx, by pg.By, s Scope, h Hold, setup Setup) (Service, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Service{}, fmt.Errorf("service id: %w", err)
	}
	_, err = tx.Exec(ctx, `
insert into services (id, org_id, machine_id, hold_id, price_month_minor, setup_minor, currency, terms, created_by, os, ssh_keys)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, coalesce($11::text[], '{}'))`,
		id, h.OrgID, h.MachineID, h.ID, h.PriceMonthMinor, h.SetupMinor, h.Currency, h.Terms, by.Actor, setup.OS, setup.Keys)
	if pg.Constraint(err) == "services_os_offered" {
		return Service{}, &Refused{Kind: OSNotOffered, Hold: h, Detail: "the operating system is not offered"}
	}
	if err != nil {
		return Service{}, refusal(err, h)
	}
	tag, err := tx.Exec(ctx, `
update holds set state = 'converted', closed_at = clock_timestamp(), closed_by = $2
 where id = $1 and state = 'held' and expires_at > clock_timestamp()`, h.ID, by.Actor)
	if err != nil {
		return Service{}, refusal(err, h)
	}
	if tag.RowsAffected() == 0 {
		return Service{}, &Refused{Kind: HoldExpired, Hold: h, Detail: "the deadline has passed"}
	}
	tag, err = tx.Exec(ctx, `
update machines set status = 'in_service', status_reason = $2 where id = $1 and status = 'ready'`,
		h.MachineID, "sold as service "+id.String())
	if err != nil {
		return Service{}, refusal(err, h)
	}
	if tag.RowsAffected() == 0 {
		return Service{}, &Refused{Kind: MachineWithdrawn, Hold: h, Detail: "the machine has left sale"}
	}
	if err := b.onService(ctx, tx, id, "install"); err != nil {
		return Service{}, fmt.Errorf("job of service %s: %w", id, err)
	}
	return getService(ctx, tx, s, " where s.id = $1", id)
}
