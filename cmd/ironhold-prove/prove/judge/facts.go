// Package judge compares what was answered with what the database and its history say.
//
//	every success that was answered    is in the database
//	every key                          has one result, whatever got lost on the way
//	every refusal                      no matching machine was free during the whole request
//	every machine                      its answers are those of one machine (linearizable)
//	everything                         the invariants, no deadlock, no answer 500
package judge

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// hold is a hold as the database has it in the end.
type hold struct {
	ID, Org, Key, Tag, State string
	Expires                  time.Time
	Extended                 *time.Time
	Began                    time.Time  // its entry in the history, before the commit
	Ended                    *time.Time // commit of the cancellation or conversion
	Service                  string
	ServiceEnded             *time.Time
}

// move is a machine that became ready again.
type move struct {
	Tag       string
	At        time.Time // before the commit
	Committed time.Time
}

type facts struct {
	holds map[string]*hold // by id
	byKey map[string]*hold // by organisation and key
	ready map[string][]move
	tags  []string
	cpu   map[string]string
	ram   map[string]int
	added map[string]time.Time // commit of the intake
}

func keyOf(org, key string) string { return org + " " + key }

func readFacts(ctx context.Context, db *pgx.Conn) (*facts, error) {
	f := &facts{holds: map[string]*hold{}, byKey: map[string]*hold{}, ready: map[string][]move{}, cpu: map[string]string{}, ram: map[string]int{}, added: map[string]time.Time{}}
	rows, err := db.Query(ctx, `
select h.id::text, o.slug, h.idempotency_key, m.asset_tag, h.state, h.expires_at, h.extended_at,
       b.at, e.committed, coalesce(s.id::text, ''), s.ended_at
  from holds h join organisations o on o.id = h.org_id join machines m on m.id = h.machine_id
  join lateral (select at from hold_events where hold_id = h.id and event = 'held' order by at limit 1) b on true
  left join lateral (select pg_xact_commit_timestamp(xmin) as committed from hold_events
                      where hold_id = h.id and event in ('cancelled', 'converted') order by at limit 1) e on true
  left join services s on s.hold_id = h.id`)
	if err != nil {
		return nil, fmt.Errorf("holds: %w", err)
	}
	for rows.Next() {
		h := new(hold)
		if err := rows.Scan(&h.ID, &h.Org, &h.Key, &h.Tag, &h.State, &h.Expires, &h.Extended, &h.Began, &h.Ended, &h.Service, &h.ServiceEnded); err != nil {
			return nil, fmt.Errorf("holds: %w", err)
		}
		f.holds[h.ID], f.byKey[keyOf(h.Org, h.Key)] = h, h
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("holds: %w", err)
	}
	rows, err = db.Query(ctx, `
select m.asset_tag, e.at, pg_xact_commit_timestamp(e.xmin) from machine_events e join machines m on m.id = e.machine_id
 where e.event = 'status' and e.after ->> 'status' = 'ready' order by e.at`)
	if err != nil {
		return nil, fmt.Errorf("moves: %w", err)
	}
	for rows.Next() {
		var m move
		if err := rows.Scan(&m.Tag, &m.At, &m.Committed); err != nil {
			return nil, fmt.Errorf("moves: %w", err)
		}
		f.ready[m.Tag] = append(f.ready[m.Tag], m)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("moves: %w", err)
	}
	rows, err = db.Query(ctx, `
select m.asset_tag, m.cpu, m.ram_gb, (select pg_xact_commit_timestamp(e.xmin) from machine_events e where e.machine_id = m.id and e.event = 'added')
  from machines m order by m.asset_tag`)
	if err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	for rows.Next() {
		var tag, cpu string
		var ram int
		var added time.Time
		if err := rows.Scan(&tag, &cpu, &ram, &added); err != nil {
			return nil, fmt.Errorf("machines: %w", err)
		}
		f.tags = append(f.tags, tag)
		f.cpu[tag], f.ram[tag], f.added[tag] = cpu, ram, added
	}
	return f, rows.Err()
}
