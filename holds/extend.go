package holds

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Extend moves the deadline of a live hold by Policy.Extension, once per hold. A repeat with the
// key of the extension returns the hold as it is now. Refusals: NotFound, HoldExpired,
// HoldCancelled, HoldConverted, ExtensionUsed, CeilingReached, Busy, Checking.
func (b *Book) Extend(ctx context.Context, by pg.By, s Scope, id uuid.UUID, key string) (Hold, error) {
	h, err := b.Get(ctx, s, id)
	if err != nil {
		return Hold{}, err
	}
	err = b.step(ctx, by, h.OrgID, func(tx pgx.Tx) error {
		if err := LockOrg(ctx, tx, h.OrgID); err != nil {
			return err
		}
		if err := lockHold(ctx, tx, id); err != nil {
			return err
		}
		if h, err = getHold(ctx, tx, s, id); err != nil {
			return err
		}
		used, err := extensionKey(ctx, tx, id)
		if err != nil || key != "" && used == key {
			return err
		}
		if err := refuseUnlessLive(h); err != nil {
			return err
		}
		if h.ExtendedAt != nil {
			return &Refused{Kind: ExtensionUsed, Hold: h, Detail: "a hold is extended once"}
		}
		until, err := b.ceiling(ctx, tx, h.OrgID, h.MachineID, b.policy.Extension)
		if err != nil {
			return err
		}
		if until != nil {
			return &Refused{Kind: CeilingReached, Hold: h, Until: until,
				Detail: fmt.Sprintf("one machine is held for at most %s in %s", b.policy.Ceiling, b.policy.Window)}
		}
		tag, err := tx.Exec(ctx, `
update holds set expires_at = expires_at + $2::interval, extended_at = clock_timestamp(), extension_key = nullif($3, '')
 where id = $1 and state = 'held' and expires_at > clock_timestamp() and extended_at is null`, id, b.policy.Extension, key)
		if err != nil {
			return refusal(err, h)
		}
		if tag.RowsAffected() == 0 {
			return &Refused{Kind: HoldExpired, Hold: h, Detail: "the deadline has passed"}
		}
		h, err = getHold(ctx, tx, s, id)
		return err
	}, func(tx pgx.Tx) (bool, error) {
		now, err := getHold(ctx, tx, s, id)
		if err != nil {
			return false, err
		}
		h = now
		return h.ExtendedAt != nil, nil
	})
	return h, err
}

func extensionKey(ctx context.Context, tx pgx.Tx, id uuid.UUID) (string, error) {
	var key string
	err := tx.QueryRow(ctx, "select coalesce(extension_key, '') from holds where id = $1", id).Scan(&key)
	return key, err
}

// refuseUnlessLive names the end that a hold has come to.
func refuseUnlessLive(h Hold) error {
	switch h.Shown() {
	case Held:
		return nil
	case Expired:
		return &Refused{Kind: HoldExpired, Hold: h, Detail: "the deadline has passed"}
	case Cancelled:
		return &Refused{Kind: HoldCancelled, Hold: h, Detail: "the hold was given back"}
	case Converted:
		return &Refused{Kind: HoldConverted, Hold: h, ServiceID: h.ServiceID, Detail: "the hold became a service"}
	}
	return fmt.Errorf("hold %s is in unknown state %q", h.ID, h.State)
}

// refusal reads by the constraint's name what the triggers decided against.
func refusal(err error, h Hold) error {
	switch pg.Constraint(err) {
	case "holds_deadline_passed", "services_live_hold":
		return &Refused{Kind: HoldExpired, Hold: h, Detail: "the deadline has passed"}
	case "machines_ready_to_occupy", "machines_wiped_before_sale":
		return &Refused{Kind: MachineWithdrawn, Hold: h, Detail: "the machine has left sale"}
	}
	return err
}

// Grant is time that an organisation was given for a machine, whatever became of the hold.
type Grant struct {
	CreatedAt time.Time
	Granted   time.Duration
}

// ceiling tells when wanted more time may be granted for the machine: nil means now.
func (b *Book) ceiling(ctx context.Context, tx pgx.Tx, org, machine uuid.UUID, wanted time.Duration) (*time.Time, error) {
	rows, err := tx.Query(ctx, `
select created_at, greatest(expires_at - created_at, interval '0') from holds
 where machine_id = $2 and org_id = $1 and created_at > clock_timestamp() - $3::interval order by created_at`,
		org, machine, b.policy.Window)
	if err != nil {
		return nil, fmt.Errorf("granted time: %w", err)
	}
	grants, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Grant])
	if err != nil {
		return nil, fmt.Errorf("granted time: %w", err)
	}
	return b.policy.Until(grants, wanted), nil
}

// Until tells when wanted more time fits under the ceiling, given the grants of the window, oldest
// first: nil means now. Time leaves the window with the hold that was given it.
func (p Policy) Until(grants []Grant, wanted time.Duration) *time.Time {
	var sum time.Duration
	for _, g := range grants {
		sum += g.Granted
	}
	var until *time.Time
	for _, g := range grants {
		if sum+wanted <= p.Ceiling {
			break
		}
		sum -= g.Granted
		t := g.CreatedAt.Add(p.Window)
		until = &t
	}
	return until
}
