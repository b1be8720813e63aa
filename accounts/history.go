package accounts

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

// HistoryEntry is one thing that happened in an organisation.
type HistoryEntry struct {
	At        time.Time       `db:"at"`
	Kind      string          `db:"kind"`       // hold, service, member, token, invitation, webhook, organisation, rollout, launch, limits
	SubjectID uuid.UUID       `db:"subject_id"` // of the hold, service, member, ...
	Subject   string          `db:"subject"`    // asset tag or name
	Event     string          `db:"event"`      // "set" for rollout, launch and limits
	Actor     string          `db:"actor"`      // as in pg.By
	Before    json.RawMessage `db:"before"`
	After     json.RawMessage `db:"after"`
	Key       string          `db:"key"` // tells entries of the same time apart
}

// HistoryFilter selects a page of an organisation's history, the newest first.
type HistoryFilter struct {
	Orders, People, Settings bool   // which kinds; all when none is named
	After                    string // cursor of the last entry of the page before, "" for the first page
	Limit                    int
}

// Cursor is where the next page begins when this entry is the last one of a page.
func (e HistoryEntry) Cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(e.At.UTC().Format(time.RFC3339Nano) + " " + e.Key))
}

func parseCursor(cursor string) (at time.Time, key string, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || strings.ContainsRune(string(raw), 0) {
		return at, "", false
	}
	stamp, key, found := strings.Cut(string(raw), " ")
	at, err = time.Parse(time.RFC3339Nano, stamp)
	return at, key, found && err == nil && len(key) < 200 && at.Year() > 1 && at.Year() < 9999
}

// historySQL reads the newest entries of each table and merges them. Each entry's place is its time
// and a key that is its own. The confirmation of a hold is the start of its service: one entry.
const historySQL = `
with page as (
  (select at, 'hold' as kind, hold_id as subject_id, machine_id, '' as name, event, actor, before, after,
          'hold:' || hold_id || ':' || event as key
     from hold_events where $5::boolean and org_id = $1 and event <> 'converted' and at <= $2::timestamptz and (at, 'hold:' || hold_id || ':' || event) < ($2::timestamptz, $3::text)
    order by at desc, key desc limit $4)
  union all
  (select at, 'service', service_id, machine_id, '', event, actor, before, after, 'service:' || service_id || ':' || event as key
     from service_events where $5::boolean and org_id = $1 and at <= $2::timestamptz and (at, 'service:' || service_id || ':' || event) < ($2::timestamptz, $3::text)
    order by at desc, key desc limit $4)
  union all
  (select at, subject, subject_id, null, subject_name, event, actor, before, after, 'account:' || id as key
     from account_events where case subject when 'organisation' then $7::boolean else $6::boolean end and org_id = $1
      and at <= $2::timestamptz and (at, 'account:' || id) < ($2::timestamptz, $3::text)
    order by at desc, key desc limit $4)
  union all
  (select at, case when org_id is null then 'launch' else 'rollout' end, coalesce(org_id, $1), null, '', 'set', actor,
          to_jsonb(before), to_jsonb(after), 'rollout:' || id as key
     from rollout_events where $7::boolean and (org_id = $1 or org_id is null) and at <= $2::timestamptz and (at, 'rollout:' || id) < ($2::timestamptz, $3::text)
    order by at desc, key desc limit $4)
  union all
  (select at, 'limits', org_id, null, '', 'set', actor, before, after, 'limits:' || id as key
     from limit_events where $7::boolean and org_id = $1 and at <= $2::timestamptz and (at, 'limits:' || id) < ($2::timestamptz, $3::text)
    order by at desc, key desc limit $4))
select p.at, p.kind, p.subject_id, coalesce(m.asset_tag, p.name) as subject, p.event, p.actor, p.before, p.after, p.key
  from (select * from page order by at desc, key desc limit $4) p
  left join machines m on m.id = p.machine_id
 order by p.at desc, p.key desc`

// History reads what happened in the organisation. An unknown cursor begins at the newest. It reads
// as the organisation, so that nothing of another's can come along.
func (d *Directory) History(ctx context.Context, org uuid.UUID, f HistoryFilter) (list []HistoryEntry, err error) {
	if !f.Orders && !f.People && !f.Settings {
		f.Orders, f.People, f.Settings = true, true, true
	}
	at, key, ok := parseCursor(f.After)
	if !ok {
		at, key = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), ""
	}
	err = pg.Web(ctx, d.db, org, pg.By{}, func(tx pgx.Tx) error {
		rows, err2 := tx.Query(ctx, historySQL, org, at, key, f.Limit, f.Orders, f.People, f.Settings)
		if err2 != nil {
			return err2
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[HistoryEntry])
		return err
	})
	return list, err
}
