package holds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// equalMachines finds free machines that are at least what the held one is, at the same site:
// same class first, then the cheapest. Machines that somebody holds overdue count as free.
const equalMachines = `
select m.id, m.asset_tag
  from machines o
  join machines m on m.site_code = o.site_code and m.id <> o.id and m.status = 'ready'
   and m.cores >= o.cores and m.threads >= o.threads and m.ram_gb >= o.ram_gb
   and m.nvme_gb >= o.nvme_gb and m.ssd_gb >= o.ssd_gb and m.hdd_gb >= o.hdd_gb and m.nic_mbps >= o.nic_mbps
   and (m.ecc or not o.ecc) and (o.gpu = '' or m.gpu <> '') and m.features @> o.features
 where o.id = $1
   and (select 1 from holds h where h.machine_id = m.id and h.state = 'held' and h.expires_at > clock_timestamp() limit 1) is null
   and (select 1 from services s where s.machine_id = m.id and s.ended_at is null limit 1) is null
 order by m.class_id <> o.class_id, m.price_month_minor, m.lot
 limit 10`

type equalMachine struct {
	ID       uuid.UUID
	AssetTag string
}

func (b *Book) equals(ctx context.Context, h Hold) ([]equalMachine, error) {
	var out []equalMachine
	err := pg.Engine(ctx, b.db, pg.By{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, equalMachines, h.MachineID)
		if err != nil {
			return fmt.Errorf("equal machines: %w", err)
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[equalMachine])
		return err
	})
	return out, err
}

func (b *Book) hasSubstitute(ctx context.Context, h Hold) (bool, error) {
	all, err := b.equals(ctx, h)
	return len(all) > 0, err
}

// substituteKey is the idempotency key of a substitute. A space is not allowed in the keys of
// requests, so that the two never meet.
func substituteKey(id uuid.UUID) string { return "substitute " + id.String() }

// errTaken says that the machine tried was no longer to be had.
type errTaken struct{}

func (errTaken) Error() string { return "the machine is taken" }

// Substitute gives the holder of a withdrawn machine an equal one under the same deadline and
// price, in one transaction: the old hold is cancelled, the new one names it. Asking again returns
// the substitute. Refusals: NotFound, HoldExpired, HoldCancelled, HoldConverted, NotWithdrawn,
// NoSubstitute, Busy, Checking.
func (b *Book) Substitute(ctx context.Context, by pg.By, s Scope, id uuid.UUID) (Hold, error) {
	h, err := b.Get(ctx, s, id)
	if err != nil {
		return Hold{}, err
	}
	all, err := b.equals(ctx, h)
	if err != nil {
		return Hold{}, err
	}
	// Without a candidate one transaction still finds the state of the hold, or its substitute.
	for _, m := range append(all, equalMachine{}) {
		got, err := b.substitute(ctx, by, s, h, m)
		if _, taken := errors.AsType[errTaken](err); taken {
			continue
		}
		return got, err
	}
	return Hold{}, &Refused{Kind: NoSubstitute, Hold: h, Detail: "no equal machine is free"}
}

func (b *Book) substitute(ctx context.Context, by pg.By, s Scope, h Hold, m equalMachine) (Hold, error) {
	var got Hold
	err := b.step(ctx, by, h.OrgID, func(tx pgx.Tx) error {
		if err := LockOrg(ctx, tx, h.OrgID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "select 1 from machines where id = any($1) order by id for no key update",
			[]uuid.UUID{h.MachineID, m.ID}); err != nil {
			return fmt.Errorf("lock machines: %w", err)
		}
		if err := lockHold(ctx, tx, h.ID); err != nil {
			return err
		}
		old, err := getHold(ctx, tx, s, h.ID)
		if err != nil {
			return err
		}
		before, found, err := FindByKey(ctx, tx, h.OrgID, substituteKey(h.ID))
		if err != nil {
			return err
		}
		if found {
			got = before
			return nil
		}
		if err := refuseUnlessLive(old); err != nil {
			return err
		}
		if !old.Withdrawn() {
			return &Refused{Kind: NotWithdrawn, Hold: old, Detail: "the machine is still for sale"}
		}
		if m.ID == uuid.Nil {
			return &Refused{Kind: NoSubstitute, Hold: old, Detail: "no equal machine is free"}
		}
		if err := cancelRow(ctx, tx, old, by, "the machine was withdrawn; replaced by "+m.AssetTag); err != nil {
			return err
		}
		got, err = replace(ctx, tx, by, s, old, m)
		return err
	}, func(tx pgx.Tx) (bool, error) {
		now, found, err := FindByKey(ctx, tx, h.OrgID, substituteKey(h.ID))
		got = now
		return found, err
	})
	return got, err
}

// replace holds m in the place of old. It frees an overdue hold of m first; whatever the index or
// a trigger says against m means that it is taken.
func replace(ctx context.Context, tx pgx.Tx, by pg.By, s Scope, old Hold, m equalMachine) (Hold, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Hold{}, fmt.Errorf("hold id: %w", err)
	}
	decision, err := json.Marshal(map[string]string{
		"rule": "substitute", "substitute_of": old.ID.String(), "withdrawn_machine": old.AssetTag,
	})
	if err != nil {
		return Hold{}, fmt.Errorf("decision: %w", err)
	}
	b := &pgx.Batch{}
	QueueExpireOverdue(b, m.ID, nop[uuid.UUID])
	QueueInsert(b, NewHold{
		ID: id, OrgID: old.OrgID, MachineID: m.ID, IdempotencyKey: substituteKey(old.ID),
		RequestHash: old.RequestHash, Request: old.Request, Decision: decision,
		PriceMonthMinor: old.PriceMonthMinor, SetupMinor: old.SetupMinor, Currency: old.Currency, Terms: old.Terms,
		AttemptID: old.AttemptID, SubstituteOf: &old.ID, ExpiresAt: &old.ExpiresAt,
	}, by.Actor, nopStamp)
	// An extension that was used stays used.
	b.Queue("update holds set extended_at = $2 where id = $1 and $2::timestamptz is not null", id, old.ExtendedAt)
	if err := pg.Pipeline(ctx, tx, b); err != nil {
		switch pg.Constraint(err) {
		case "holds_one_held_per_machine", "machines_ready_to_occupy", "machines_one_occupant", "machines_wiped_before_sale":
			return Hold{}, errTaken{}
		}
		return Hold{}, fmt.Errorf("substitute: %w", err)
	}
	return getHold(ctx, tx, s, id)
}
