package bench

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
)

// lots is where a draw ends: the statement does not wrap round, so the last twentieth of the lots
// is reached from before it alone.
const lots = 2_040_109_465

func drawLot() int32 { return rand.Int32N(lots) }

// Statement is the cheapest correct claim in one statement: a machine by lot that nobody has
// locked, its hold, its attempt; the event is written by the trigger, and the same triggers check
// what they check for the allocator. lot and org are SQL expressions. One row is written, or none
// when the machine was taken since the statement began.
func (f *Fleet) Statement(lot, org string) string {
	return fmt.Sprintf(strings.TrimSpace(`
with m as materialized (
  select m.id, m.price_month_minor, m.setup_minor, m.currency from machines m
   where m.class_id = %d and m.status = 'ready' and m.lot >= %s
     and (select 1 from holds h where h.machine_id = m.id and h.state = 'held' limit 1) is null
     and (select 1 from services s where s.machine_id = m.id and s.ended_at is null limit 1) is null
   order by m.lot, m.id limit 1 for no key update skip locked),
h as (
  insert into holds (id, org_id, machine_id, state, idempotency_key, request_hash, request, decision, price_month_minor, setup_minor,
    currency, terms, created_by, created_at, expires_at, attempt_id)
  select gen_random_uuid(), %s, m.id, 'held', gen_random_uuid()::text, %s, %s::jsonb, %s::jsonb, m.price_month_minor, m.setup_minor,
    m.currency, %s, 'bench', c.now, c.now + interval '15 min', gen_random_uuid()
    from m, (select clock_timestamp() as now offset 0) c
  on conflict (machine_id) where state = 'held' do nothing
  returning id, org_id, idempotency_key, request, created_at, attempt_id)
insert into allocation_attempts (id, at, org_id, actor, idempotency_key, outcome, request, considered, eligible, reasons, near_misses,
  walk, walked, skipped, lost, changed, detail, arrived_at, took_us, hold_id)
select h.attempt_id, h.created_at, h.org_id, 'bench', h.idempotency_key, 'held', h.request, 0, 4, '[]', '[]',
  %s::jsonb, 1, 0, 0, 0, '{}', h.created_at, 1000, h.id from h`),
		f.ClassID, lot, org, text(strings.Repeat("h", 32))+"::bytea", text(f.sample.request), text(f.sample.decision), text(f.sample.terms),
		text(f.sample.walk))
}

// text is a literal without a colon in it, which pgbench would take for a variable. The server
// computes it once, with the plan.
func text(s string) string {
	return "convert_from(decode('" + hex.EncodeToString([]byte(s)) + "', 'hex'), 'UTF8')"
}
