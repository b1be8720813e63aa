package allocator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Waiting is an entry of the waiting list: somebody asked to be told when a machine comes free.
// State is "waiting", "told" or "cancelled".
type Waiting struct {
	ID        uuid.UUID       `db:"id"`
	OrgID     uuid.UUID       `db:"org_id"`
	Actor     string          `db:"actor"`
	Request   json.RawMessage `db:"request"`
	AttemptID *uuid.UUID      `db:"attempt_id"`
	State     string          `db:"state"`
	CreatedAt time.Time       `db:"created_at"`
	ToldAt    *time.Time      `db:"told_at"`
	AssetTag  *string         `db:"asset_tag"` // told: the machine that came free
	ClosedAt  *time.Time      `db:"closed_at"`
	Free      bool            `db:"free"`    // told: nobody has taken the machine since
	HoldID    *uuid.UUID      `db:"hold_id"` // told: the organisation's own live hold on it
}

const (
	// maxWaiting bounds the open entries of one organisation.
	maxWaiting = 20
	// toldFor is how long a machine that somebody was told about is not told to the next.
	toldFor = 10 * time.Minute
	// matchLock serialises matching, so that one machine is told once.
	matchLock = 727_003_003
)

// WaitingFull says that an organisation waits for as much as it may.
type WaitingFull struct{ Limit int }

func (e *WaitingFull) Error() string { return fmt.Sprintf("at most %d entries wait at once", e.Limit) }

const selectWaiting = `
select w.id, w.org_id, w.actor, w.request, w.attempt_id, w.state, w.created_at, w.told_at, m.asset_tag, w.closed_at,
       coalesce(m.status = 'ready', false) and h.id is null
         and not exists (select from services s where s.machine_id = m.id and s.ended_at is null) as free,
       case when h.org_id = w.org_id then h.id end as hold_id
  from waiting_list w
  left join machines m on m.id = w.machine_id
  left join holds h on h.machine_id = m.id and h.state = 'held' and h.expires_at > clock_timestamp()`

// Wait puts a request on the waiting list; asking again for the same returns the entry that waits.
// A request that is none gives its faults.
func (a *Allocator) Wait(ctx context.Context, by pg.By, org uuid.UUID, r Request, attempt *uuid.UUID) (Waiting, []Fault, error) {
	faults, err := a.Check(ctx, r)
	if err != nil || len(faults) > 0 {
		return Waiting{}, faults, err
	}
	var w Waiting
	err = pg.Engine(ctx, a.db, by, func(tx pgx.Tx) error {
		// The organisation's row makes the count and the insert one.
		var open int
		b := &pgx.Batch{}
		b.Queue("select 1 from org_limits where org_id = $1 for no key update", org)
		b.Queue("select count(*) from waiting_list where org_id = $1 and state = 'waiting' and request <> $2", org, toJSON(r)).
			QueryRow(func(row pgx.Row) error { return row.Scan(&open) })
		if err := pg.Pipeline(ctx, tx, b); err != nil {
			return fmt.Errorf("waiting list: %w", err)
		}
		if open >= maxWaiting {
			return &WaitingFull{Limit: maxWaiting}
		}
		if _, err := tx.Exec(ctx, `
insert into waiting_list (org_id, request, attempt_id) values ($1, $2, $3)
on conflict (org_id, request) where state = 'waiting' do nothing`, org, toJSON(r), attempt); err != nil {
			return fmt.Errorf("waiting list: %w", err)
		}
		rows, err := tx.Query(ctx, selectWaiting+" where w.org_id = $1 and w.request = $2 and w.state = 'waiting'", org, toJSON(r))
		if err != nil {
			return fmt.Errorf("waiting list: %w", err)
		}
		w, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Waiting])
		return err
	})
	if err == nil {
		a.opt.OnChange()
	}
	return w, nil, err
}

// WaitingCount is how many entries of an organisation wait, and how many were told of a machine in
// the last day and not taken off the list since.
func (a *Allocator) WaitingCount(ctx context.Context, org uuid.UUID) (open, told int, err error) {
	err = pg.Web(ctx, a.db, org, pg.By{}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
select count(*) filter (where state = 'waiting'), count(*) filter (where state = 'told' and told_at > clock_timestamp() - interval '1 day')
  from (select state, told_at from waiting_list where org_id = $1 order by id desc limit 200) w`, org).Scan(&open, &told)
	})
	if err != nil {
		err = fmt.Errorf("waiting list: %w", err)
	}
	return open, told, err
}

// WaitingList lists an organisation's entries, newest first; the zero organisation lists all, for
// staff.
func (a *Allocator) WaitingList(ctx context.Context, org uuid.UUID, limit int) ([]Waiting, error) {
	var out []Waiting
	err := a.reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectWaiting+" where ($1::uuid is null or w.org_id = $1) order by w.id desc limit $2", nullID(org), limit)
		if err != nil {
			return fmt.Errorf("waiting list: %w", err)
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[Waiting])
		return err
	})
	return out, err
}

// StopWaiting takes an entry off the list; it is no error when it waits no more. An entry of
// another organisation is a *NotFound.
func (a *Allocator) StopWaiting(ctx context.Context, by pg.By, org, id uuid.UUID) error {
	err := pg.Engine(ctx, a.db, by, func(tx pgx.Tx) error {
		var state string
		err := tx.QueryRow(ctx, "select state from waiting_list where id = $1 and org_id = $2 for no key update", id, org).Scan(&state)
		if errors.Is(err, pgx.ErrNoRows) {
			return &NotFound{ID: id}
		}
		if err != nil {
			return fmt.Errorf("waiting list: %w", err)
		}
		_, err = tx.Exec(ctx, `
update waiting_list set state = 'cancelled', closed_at = clock_timestamp(), told_at = null, machine_id = null
 where id = $1 and state <> 'cancelled'`, id)
		return err
	})
	if err == nil {
		a.opt.OnChange()
	}
	return err
}

// MatchWaiting tells those who wait which machine has come free: first come, first told, and one
// machine to one of them within toldFor. It returns how many were told. Nothing is held for them:
// who was told still has to order.
func (a *Allocator) MatchWaiting(ctx context.Context) (int, error) {
	told := 0
	err := pg.Engine(ctx, a.db, pg.By{Actor: "waiting-list"}, func(tx pgx.Tx) error {
		var alone bool
		if err := tx.QueryRow(ctx, "select pg_try_advisory_xact_lock($1)", matchLock).Scan(&alone); err != nil || !alone {
			return err
		}
		rows, err := tx.Query(ctx, selectWaiting+`
  join organisations o on o.id = w.org_id and o.suspended_at is null
 where w.state = 'waiting' order by w.created_at limit 2000`)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Waiting])
		if err != nil || len(list) == 0 {
			return err
		}
		rows, err = tx.Query(ctx, "select machine_id from waiting_list where state = 'told' and told_at > clock_timestamp() - $1::interval", toldFor)
		if err != nil {
			return err
		}
		taken, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return err
		}
		cat, err := a.current(ctx, tx)
		if err != nil {
			return err
		}
		for _, w := range list {
			c, err := a.firstFree(ctx, tx, cat, w, taken)
			if err != nil {
				return err
			}
			if c == nil {
				continue
			}
			taken = append(taken, c.ID)
			told++
			if _, err := tx.Exec(ctx, `
update waiting_list set state = 'told', told_at = clock_timestamp(), machine_id = $2, closed_at = clock_timestamp()
 where id = $1 and state = 'waiting'`, w.ID, c.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("waiting list: %w", err)
	}
	if told > 0 {
		a.opt.OnChange()
	}
	return told, nil
}

// firstFree finds the best machine for an entry that nobody was told about.
func (a *Allocator) firstFree(ctx context.Context, tx pgx.Tx, cat *catalogue, w Waiting, taken []uuid.UUID) (*candidate, error) {
	var r Request
	if err := json.Unmarshal(w.Request, &r); err != nil {
		return nil, fmt.Errorf("entry %s: %w", w.ID, err)
	}
	var only *uuid.UUID
	if r.Machine != "" {
		var id uuid.UUID
		err := tx.QueryRow(ctx, "select id from machines where asset_tag = $1", r.Machine).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		only = &id
	}
	l := a.newLooker(w.OrgID, rankClasses(&r, cat), only)
	l.tried = append(l.tried, taken...)
	found, err := l.look(ctx, tx, 1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}
