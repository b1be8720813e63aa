package notify

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/notify/outbound"
)

// State is how far a delivery is; see doc.go.
type State string

// The states.
const (
	Waiting   State = "waiting"
	Queued    State = "queued"
	Delivered State = "delivered"
	Failed    State = "failed"
	Dropped   State = "dropped"
)

// Open reports whether it is still tried.
func (s State) Open() bool { return s == Waiting || s == Queued }

// Delivery is one message to one endpoint, with the last answer.
type Delivery struct {
	ID          uuid.UUID       `db:"id"`
	EndpointID  uuid.UUID       `db:"endpoint_id"`
	MessageID   uuid.UUID       `db:"message_id"` // webhook-id
	Kind        string          `db:"kind"`       // hold, service or test
	Event       string          `db:"event"`
	SubjectID   uuid.UUID       `db:"subject_id"`
	Sequence    *int64          `db:"sequence"`
	Body        json.RawMessage `db:"body"`
	State       State           `db:"state"`
	Attempts    int             `db:"attempts"`
	CreatedAt   time.Time       `db:"created_at"`
	AttemptedAt *time.Time      `db:"attempted_at"`
	NextAt      *time.Time      `db:"next_at"` // of the next attempt, while there is one
	Status      *int            `db:"status"`
	Reason      outbound.Reason `db:"reason"` // why there was no answer
	Answer      string          `db:"answer"`
	TookMS      *int            `db:"took_ms"`
}

const selectDelivery = `
select d.id, d.endpoint_id, d.message_id, m.kind, m.event, m.subject_id, m.sequence, m.body, d.state, d.attempts, d.created_at,
       d.attempted_at, case when d.state = 'queued' then d.next_at end as next_at, d.status, d.reason, d.answer, d.took_ms
  from webhook_deliveries d join webhook_messages m on m.id = d.message_id
 where d.org_id = $1`

// Deliveries lists those of an endpoint, the newest first, after the last row of the page before.
func (w *Webhooks) Deliveries(ctx context.Context, org, endpoint, after uuid.UUID, limit int) (list []Delivery, err error) {
	err = pg.Web(ctx, w.db, org, pg.By{}, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, selectDelivery+` and d.endpoint_id = $2 and ($3::uuid is null or d.id < $3)
			order by d.id desc limit $4`, org, endpoint, nullID(after), limit)
		if err2 != nil {
			return err2
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Delivery])
		return err
	})
	return list, err
}

// Delivery reads one of an endpoint; another organisation's is a *NotFound.
func (w *Webhooks) Delivery(ctx context.Context, org, endpoint, id uuid.UUID) (d Delivery, err error) {
	err = pg.Web(ctx, w.db, org, pg.By{}, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, selectDelivery+" and d.endpoint_id = $2 and d.id = $3", org, endpoint, id)
		d, err = one[Delivery](rows, err2, "delivery", id)
		return err
	})
	return d, err
}

// Retry sends a message once more now, whatever became of it; one that waits for its next attempt does
// not wait longer. It has all attempts again.
func (w *Webhooks) Retry(ctx context.Context, by pg.By, org, endpoint, id uuid.UUID) error {
	return w.change(ctx, by, org, endpoint, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update webhook_deliveries set state = 'waiting', round = round + 1, next_at = null
			where id = $1 and endpoint_id = $2`, id, endpoint)
		if err == nil && tag.RowsAffected() == 0 {
			err = &NotFound{"delivery", id.String()}
		}
		return err
	})
}

func nullID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
