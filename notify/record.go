package notify

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Record says what became of a mail, for operators.
type Record struct {
	ID         uuid.UUID  `db:"id"`
	Kind       string     `db:"kind"`
	To         string     `db:"address"`
	State      string     `db:"state"` // waiting, queued, sent, failed or skipped
	Why        string     `db:"why"`
	Attempts   int        `db:"attempts"`
	CreatedAt  time.Time  `db:"created_at"`
	FinishedAt *time.Time `db:"finished_at"`
}

// Records lists the mails of all organisations, the newest first, after the last row of the page
// before. The links in them are not part of it.
func Records(ctx context.Context, db pg.DB, after uuid.UUID, limit int) (list []Record, err error) {
	err = pg.Engine(ctx, db, pg.By{}, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, `
select s.id, s.kind, coalesce(u.email, s.person) as address, s.state, s.why, s.attempts, s.created_at, s.finished_at
  from mails s left join users u on u.id = s.user_id
 where $1::uuid is null or s.id < $1 order by s.id desc limit $2`, nullID(after), limit)
		if err2 != nil {
			return err2
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[Record])
		return err
	})
	return list, err
}

// Lag is the age in seconds of the oldest message or mail that no relay has made a job of yet;
// 0 when there is none. A few seconds are usual.
func Lag(ctx context.Context, db pg.DB) (seconds float64, err error) {
	err = pg.Engine(ctx, db, pg.By{}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
select coalesce(extract(epoch from clock_timestamp() - least(
         (select at from webhook_messages where relayed_at is null order by at, id limit 1),
         (select created_at from mails where state = 'waiting' order by id limit 1))), 0)::float8`).Scan(&seconds)
	})
	return max(0, seconds), err
}
