package holds

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// NewHold is what a claim writes. Price, terms and decision are frozen into the row.
type NewHold struct {
	ID              uuid.UUID
	OrgID           uuid.UUID
	MachineID       uuid.UUID
	IdempotencyKey  string
	RequestHash     []byte
	Request         []byte // JSON
	Decision        []byte // JSON
	PriceMonthMinor int64
	SetupMinor      int64
	Currency        string
	Terms           string
	AttemptID       *uuid.UUID
	SubstituteOf    *uuid.UUID
	Duration        time.Duration // from the database's clock, unless ExpiresAt is set
	ExpiresAt       *time.Time
}

// QueueInsert queues the insertion of a hold on a batch. The caller holds the locks of the
// organisation and of the machine and has a savepoint: a unique violation of
// holds_one_held_per_machine means that the machine is taken, one of holds_one_per_request that
// this request has its hold already. stamp gets the row's times.
func QueueInsert(b *pgx.Batch, n NewHold, by string, stamp func(created, expires time.Time)) {
	b.Queue(`
insert into holds (id, org_id, machine_id, state, idempotency_key, request_hash, request, decision,
  price_month_minor, setup_minor, currency, terms, created_by, created_at, expires_at, attempt_id, substitute_of)
select $1, $2, $3, 'held', $4, $5, $6, $7, $8, $9, $10, $11, $12, c.now, coalesce($13, c.now + $14::interval), $15, $16
  from (select clock_timestamp() as now offset 0) c
returning created_at, expires_at`,
		n.ID, n.OrgID, n.MachineID, n.IdempotencyKey, n.RequestHash, n.Request, n.Decision,
		n.PriceMonthMinor, n.SetupMinor, n.Currency, n.Terms, by, n.ExpiresAt, n.Duration, n.AttemptID, n.SubstituteOf,
	).QueryRow(func(row pgx.Row) error {
		var created, expires time.Time
		if err := row.Scan(&created, &expires); err != nil {
			return err
		}
		stamp(created, expires)
		return nil
	})
}

// QueueExpireOverdue queues the freeing of a machine's overdue hold, if it has one that nobody
// else has locked. freed gets its id. The caller has locked the machine.
func QueueExpireOverdue(b *pgx.Batch, machine uuid.UUID, freed func(id uuid.UUID)) {
	b.Queue(`
with due as (
  select id from holds
   where machine_id = $1 and state = 'held' and expires_at <= clock_timestamp()
   for no key update skip locked)
update holds h set state = 'expired', closed_at = clock_timestamp(), closed_by = ironhold_actor(),
       close_reason = 'the deadline had passed when another order took the machine'
  from due where h.id = due.id and h.state = 'held'
returning h.id`, machine).Query(func(rows pgx.Rows) error {
		ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		for _, id := range ids {
			freed(id)
		}
		return err
	})
}
