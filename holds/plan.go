package holds

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// PlanEnd lets a service end at a time to come, in the place of an end that was planned before. Until then
// KeepService withdraws it. Refusals: NotFound, ServiceEnded, EndInPast, Busy, Checking.
func (b *Book) PlanEnd(ctx context.Context, by pg.By, s Scope, id uuid.UUID, at time.Time, reason string) (Service, error) {
	return b.plan(ctx, by, s, id, &at, &by.Actor, reason)
}

// KeepService withdraws a planned end; without one nothing changes. Refusals: NotFound, ServiceEnded, Busy,
// Checking.
func (b *Book) KeepService(ctx context.Context, by pg.By, s Scope, id uuid.UUID) (Service, error) {
	return b.plan(ctx, by, s, id, nil, nil, "")
}

func (b *Book) plan(ctx context.Context, by pg.By, s Scope, id uuid.UUID, at *time.Time, who *string, reason string) (Service, error) {
	v, err := b.GetService(ctx, s, id)
	if err != nil {
		return v, err
	}
	err = b.step(ctx, by, v.OrgID, func(tx pgx.Tx) error {
		// The service alone: a planned end frees and takes nothing.
		if err := lockService(ctx, tx, id); err != nil {
			return err
		}
		if v, err = getService(ctx, tx, s, " where s.id = $1", id); err != nil {
			return err
		}
		if v.EndedAt != nil {
			return &Refused{Kind: ServiceEnded, ServiceID: &id, Detail: "the service has ended"}
		}
		_, err := tx.Exec(ctx, `
update services set end_at = $2, end_planned_by = $3, end_planned_reason = $4 where id = $1 and ended_at is null`,
			id, at, who, reason)
		if pg.Constraint(err) == "services_end_at_future" {
			return &Refused{Kind: EndInPast, ServiceID: &id, Detail: "the planned end is not in the future"}
		}
		if err != nil {
			return fmt.Errorf("planned end: %w", err)
		}
		v, err = getService(ctx, tx, s, " where s.id = $1", id)
		return err
	}, func(tx pgx.Tx) (bool, error) {
		now, err := getService(ctx, tx, s, " where s.id = $1", id)
		if err != nil {
			return false, err
		}
		v = now
		if at == nil {
			return v.EndAt == nil, nil
		}
		return v.EndAt != nil && v.EndAt.Equal(at.Truncate(time.Microsecond)), nil
	})
	return v, err
}

// endsBatch bounds one run of EndDue.
const endsBatch = 200

// EndDue ends the services whose planned end has come, each in a transaction of its own, and returns how
// many it ended. One that cannot be ended now does not hold up the others; the first error is returned.
func (b *Book) EndDue(ctx context.Context) (n int, err error) {
	var due []uuid.UUID
	err = pg.Engine(ctx, b.db, pg.By{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select id from services
 where ended_at is null and end_at is not null and end_at <= (select clock_timestamp()) order by end_at limit $1`, endsBatch)
		if err != nil {
			return err
		}
		due, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("planned ends: %w", err)
	}
	for _, id := range due {
		v, err2 := b.end(ctx, pg.By{Actor: "planned"}, Scope{}, id, ending{
			reason: "the planned end has come", status: "cleaning", statusReason: "service " + id.String() + " ended", due: true,
		})
		if err2 != nil && err == nil {
			err = fmt.Errorf("planned end of service %s: %w", id, err2)
		}
		if err2 == nil && v.EndedAt != nil {
			n++
		}
	}
	return n, err
}
