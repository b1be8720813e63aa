package vitals

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// Reading is how the server was at one moment of its clock. Ages and waits are durations; counts
// are of this database alone.
type Reading struct {
	At      time.Time
	SeesAll bool // other logins' sessions are among the figures

	Connections, MaxConnections int
	LockWaits                   int
	LongestLockWait             time.Duration
	OldestTransaction           time.Duration
	IdleInTransaction           int
	OldestIdle                  time.Duration
	DatabaseBytes               int64

	Blockers []Blocker // asked only while somebody has waited for a second
	Tables   []Table
	Replicas []Replica
	Slots    []Slot
	Queues   []Queue
}

// Blocker is a session that others wait for.
type Blocker struct {
	PID          int32   `db:"pid"`
	Application  string  `db:"application"`
	State        string  `db:"state"`
	TransactionS float64 `db:"transaction_s"`
	HoldsUp      int     `db:"holds_up"`
}

// Table is how much work a table that orders change has left for autovacuum. HotRatio is the part
// of its updates that touched no index, 0 to 1; 1 without updates.
type Table struct {
	Name           string     `db:"name"`
	Live           int64      `db:"live"`
	Dead           int64      `db:"dead"`
	HotRatio       float64    `db:"hot_ratio"`
	LastAutovacuum *time.Time `db:"last_autovacuum"`
}

// Replica is a standby that is connected. Sync is async, potential, sync or quorum.
type Replica struct {
	Name        string  `db:"name"`
	State       string  `db:"state"`
	Sync        string  `db:"sync"`
	ReplayLagS  float64 `db:"replay_lag_s"`
	BehindBytes int64   `db:"behind_bytes"`
}

// Slot is a replication slot. SafeBytes is what may still be written before it is lost; nil when
// nothing bounds it.
type Slot struct {
	Name      string `db:"name"`
	Active    bool   `db:"active"`
	Status    string `db:"wal_status"`
	SafeBytes *int64 `db:"safe_wal_bytes"`
}

// Queue is what waits in one queue of jobs and how long the first of it is due.
type Queue struct {
	Name    string  `db:"name"`
	Waiting int     `db:"waiting"`
	AgeS    float64 `db:"age_s"`
}

// longWait is when it is worth asking who blocks.
const longWait = time.Second

// Read asks the server. It takes some milliseconds and no lock that orders take.
func Read(ctx context.Context, db pg.DB) (r Reading, err error) {
	err = pg.Engine(ctx, db, pg.By{Actor: "vitals"}, func(tx pgx.Tx) error {
		var wait, oldest, idle float64
		err := tx.QueryRow(ctx, `
			select clock_timestamp(), sees_all, connections, max_connections, lock_waits, longest_lock_wait_s,
			       oldest_transaction_s, idle_in_transaction, oldest_idle_s, database_bytes
			  from ironhold_vitals()`).Scan(&r.At, &r.SeesAll, &r.Connections, &r.MaxConnections, &r.LockWaits, &wait,
			&oldest, &r.IdleInTransaction, &idle, &r.DatabaseBytes)
		if err != nil {
			return err
		}
		r.LongestLockWait, r.OldestTransaction, r.OldestIdle = seconds(wait), seconds(oldest), seconds(idle)
		if r.LongestLockWait >= longWait {
			if r.Blockers, err = collect[Blocker](ctx, tx, "select * from ironhold_blockers()"); err != nil {
				return err
			}
		}
		if r.Tables, err = collect[Table](ctx, tx, hotTables); err != nil {
			return err
		}
		if r.Replicas, err = collect[Replica](ctx, tx, "select * from ironhold_replicas()"); err != nil {
			return err
		}
		if r.Slots, err = collect[Slot](ctx, tx, "select * from ironhold_slots()"); err != nil {
			return err
		}
		r.Queues, err = collect[Queue](ctx, tx, backlog)
		return err
	})
	return r, err
}

// hotTables are those that an order, a confirmation or a job changes; partitions count as their
// table.
const hotTables = `
	select t.name, sum(s.n_live_tup)::bigint as live, sum(s.n_dead_tup)::bigint as dead,
	       coalesce(sum(s.n_tup_hot_upd)::float8 / nullif(sum(s.n_tup_upd), 0), 1) as hot_ratio,
	       max(s.last_autovacuum) as last_autovacuum
	  from (values ('machines'), ('holds'), ('services'), ('org_limits'), ('allocation_attempts'), ('hold_events'), ('river_job')) as t (name)
	  join pg_class c on c.relname = t.name and c.relnamespace in ('public'::regnamespace, to_regnamespace('river'))
	  join pg_stat_user_tables s on s.relid = c.oid or s.relid in (select i.inhrelid from pg_inherits i where i.inhparent = c.oid)
	 group by t.name
	 order by t.name`

// backlog counts the jobs that could run now.
const backlog = `
	select queue as name, count(*)::int as waiting, extract(epoch from clock_timestamp() - min(scheduled_at))::float8 as age_s
	  from river.river_job
	 where state in ('available', 'retryable', 'scheduled') and scheduled_at <= clock_timestamp()
	 group by queue
	 order by queue`

func collect[T any](ctx context.Context, tx pgx.Tx, sql string) ([]T, error) {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
