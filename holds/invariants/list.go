package invariants

// invariant is one query that must return no row. Its first column says what is wrong.
type invariant struct {
	name        string
	description string
	query       string
	sweep       bool // $1 is two sweep intervals
	machine     bool // a second column is the machine that must leave sale
}

var all = []invariant{
	{name: "one_occupant", machine: true, description: "a machine has at most one occupant: one held hold or one active service", query: `
select 'machine ' || m.asset_tag || ' has ' || x.n || ' occupants', m.id
  from (select machine_id, count(*) as n
          from (select machine_id from holds where state = 'held'
                union all select machine_id from services where ended_at is null) o
         group by machine_id having count(*) > 1) x
  join machines m on m.id = x.machine_id`},

	{name: "board_sum", description: "held + in service + free + out of sale = total", query: `
select 'held ' || held || ' + in service ' || serving || ' + free ' || free || ' + out of sale ' || out || ' is not ' || total
  from (select count(*) filter (where h) as held, count(*) filter (where s) as serving,
               count(*) filter (where status = 'ready' and not h and not s) as free,
               count(*) filter (where status <> 'ready' and not h and not s) as out, count(*) as total
          from (select m.status,
                       exists (select from holds x where x.machine_id = m.id and x.state = 'held' and x.expires_at > clock.now) as h,
                       exists (select from services x where x.machine_id = m.id and x.ended_at is null) as s
                  from machines m, (select clock_timestamp() as now offset 0) clock) each) b
 where held + serving + free + out <> total`},

	{name: "status_facts", machine: true, description: "a machine's status agrees with who has it", query: `
select 'machine ' || asset_tag || ' is ' || status || case when active then ' with' else ' without' end || ' an active service', id
  from (select m.id, m.asset_tag, m.status,
               exists (select from services s where s.machine_id = m.id and s.ended_at is null) as active from machines m) x
 where (status = 'in_service' and not active) or (active and status not in ('in_service', 'maintenance'))`},

	{name: "held_machine_stays", machine: true, description: "a machine with a live hold is neither retired nor in intake", query: `
select 'machine ' || m.asset_tag || ' is ' || m.status || ' with live hold ' || h.id, m.id
  from holds h join machines m on m.id = h.machine_id
 where h.state = 'held' and h.expires_at > clock_timestamp() and m.status in ('retired', 'intake')`},

	{name: "converted_one_to_one", machine: true, description: "a converted hold and its service belong together: machine, organisation, price", query: `
select 'hold ' || h.id || ' is converted without a service', h.machine_id from holds h
 where h.state = 'converted' and not exists (select from services s where s.hold_id = h.id)
union all
select 'service ' || s.id || ' differs from its hold ' || h.id, s.machine_id from services s join holds h on h.id = s.hold_id
 where h.state <> 'converted' or h.machine_id <> s.machine_id or h.org_id <> s.org_id
    or (h.price_month_minor, h.setup_minor, h.currency) <> (s.price_month_minor, s.setup_minor, s.currency)
union all
select 'service ' || s.id || ' has no hold', s.machine_id from services s where not exists (select from holds h where h.id = s.hold_id)
union all
select 'hold ' || hold_id || ' has ' || count(*) || ' services', min(machine_id::text)::uuid from services group by hold_id having count(*) > 1`},

	{name: "converted_in_time", machine: true, description: "no hold was converted after its deadline", query: `
select 'hold ' || h.id || ' ran out at ' || h.expires_at || ' and was converted at ' || s.started_at, h.machine_id
  from holds h join services s on s.hold_id = h.id
 where h.state = 'converted' and (s.started_at > h.expires_at or h.closed_at > h.expires_at)`},

	{name: "one_end", machine: true, description: "no hold came to two ends", query: `
select 'hold ' || hold_id || ' ended ' || count(*) || ' times', min(machine_id::text)::uuid from hold_events
 where event in ('converted', 'expired', 'cancelled') group by hold_id having count(*) > 1`},

	{name: "one_key_one_hold", description: "one request, one hold", query: `
select 'key ' || idempotency_key || ' of organisation ' || org_id || ' has ' || count(*) || ' holds'
  from holds group by org_id, idempotency_key having count(*) > 1`},

	// A substitute may keep an organisation above a cap that was lowered; so may whatever it had.
	{name: "caps", description: "no organisation is above its caps unless they were lowered", query: `
select 'organisation ' || o.slug || ' has ' || c.live || ' live holds and ' || c.active || ' services, its caps are '
       || l.max_holds || ' and ' || l.max_machines
  from org_limits l join organisations o on o.id = l.org_id
  cross join lateral (
    select (select count(*) from holds h where h.org_id = l.org_id and h.state = 'held' and h.expires_at > clock_timestamp()) as live,
           (select count(*) from services s where s.org_id = l.org_id and s.ended_at is null) as active) c
 where (c.live > l.max_holds or c.live + c.active > l.max_machines)
   and not exists (select from limit_events e where e.org_id = l.org_id
     and ((e.after ->> 'max_holds')::int < (e.before ->> 'max_holds')::int
       or (e.after ->> 'max_machines')::int < (e.before ->> 'max_machines')::int))`},

	{name: "sweep_in_time", description: "overdue holds are younger than two sweep intervals", sweep: true, query: `
select 'hold ' || id || ' has been overdue since ' || expires_at from holds
 where state = 'held' and expires_at < clock_timestamp() - $1::interval`},

	{name: "wiped_before_sale", machine: true, description: "no machine is ready without a wipe after its last service", query: `
select 'machine ' || m.asset_tag || ' is ready, wiped at ' || coalesce(m.wiped_at::text, 'no time') || ', last service ended at ' || max(s.ended_at), m.id
  from machines m join services s on s.machine_id = m.id
 where m.status = 'ready' and s.ended_at is not null
 group by m.id having m.wiped_at is null or m.wiped_at < max(s.ended_at)`},

	{name: "history_complete", description: "every transition has its entry in the history", query: `
select 'hold ' || h.id || ' is ' || h.state || ', its history does not say so' from holds h
 where h.created_at >= ` + keptSince("hold_events") + ` and not exists (select from hold_events e where e.hold_id = h.id and e.event = 'held')
    or h.state <> 'held' and coalesce(h.closed_at, 'infinity') >= ` + keptSince("hold_events") + `
   and not exists (select from hold_events e where e.hold_id = h.id and e.event = h.state)
union all
select 'service ' || s.id || ' has no entry in the history' from services s
 where s.started_at >= ` + keptSince("service_events") + ` and not exists (select from service_events e where e.service_id = s.id and e.event = 'started')
    or s.ended_at >= ` + keptSince("service_events") + ` and not exists (select from service_events e where e.service_id = s.id and e.event = 'ended')
union all
select 'machine ' || m.asset_tag || ' is ' || m.status || ', its history ends with ' || coalesce(last.status, 'nothing')
  from machines m left join lateral (
    select e.after ->> 'status' as status from machine_events e
     where e.machine_id = m.id and e.event in ('added', 'status') order by e.at desc limit 1) last on true
 where last.status is distinct from m.status and (last.status is not null or m.created_at >= ` + keptSince("machine_events") + `)`},

	{name: "history_append_only", description: "the application's roles cannot change history", query: `
select r.role || ' may ' || p.privilege || ' ' || c.oid::regclass
  from pg_class c
 cross join (values ('ironhold_web'), ('ironhold_engine')) r(role)
 cross join (values ('UPDATE'), ('DELETE'), ('TRUNCATE')) p(privilege)
 where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
   and (c.relname ~ '(^allocation_attempts|_events)(_|$)' or c.relname = 'notes')
   and has_table_privilege(r.role, c.oid, p.privilege)`},

	{name: "attempts_match_holds", description: "an attempt that became a hold matches it, and the other way round", query: `
select 'attempt ' || t.id || ' names hold ' || t.hold_id || ', which is not there or another''s'
  from allocation_attempts t left join holds h on h.id = t.hold_id
 where t.hold_id is not null and (h.id is null or h.org_id <> t.org_id or h.attempt_id is distinct from t.id)
union all
select 'hold ' || h.id || ' names attempt ' || h.attempt_id || ', which did not become it' from holds h
 where h.attempt_id is not null and h.substitute_of is null and h.created_at >= ` + keptSince("allocation_attempts") + `
   and not exists (select from allocation_attempts t where t.id = h.attempt_id and t.hold_id = h.id and t.outcome = 'held')`},

	// What is told outside on behalf of a service, and what works for one: a job or a message without the
	// service was put in by a transaction that did not decide.
	{name: "side_effects", description: "every side effect belongs to a committed hold or service", query: `
select 'job ' || j.id || ' (' || j.kind || ') works for service ' || (j.args ->> 'service_id') || ', which is not there'
  from river.river_job j
 where j.args ? 'service_id' and not exists (select from services s where s.id::text = j.args ->> 'service_id')
union all
select 'message ' || w.id || ' tells of ' || w.kind || ' ' || w.subject_id || ', which is not there' from webhook_messages w
 where w.kind = 'service' and not exists (select from services s where s.id = w.subject_id)
    or w.kind = 'hold' and not exists (select from holds h where h.id = w.subject_id)`},

	{name: "provisioning", description: "what is to be done to a machine follows from its services", machine: true, query: `
select 'service ' || s.id || ' is active and its installation is ' || coalesce(p.state, 'missing'), s.machine_id
  from services s left join provisionings p on p.service_id = s.id and p.kind = 'install'
 where s.ended_at is null and coalesce(p.state, '') not in ('queued', 'running', 'done')
union all
select 'service ' || s.id || ' has ended without a wipe to come', s.machine_id from services s
 where s.ended_at is not null and not exists (select from provisionings p where p.service_id = s.id and p.kind = 'wipe')
union all
select 'the ' || p.kind || ' of service ' || p.service_id || ' is ' || p.state || ' but the service '
       || case when s.ended_at is null then 'is active' else 'has ended' end, p.machine_id
  from provisionings p join services s on s.id = p.service_id
 where p.state in ('queued', 'running') and (p.kind = 'wipe') = (s.ended_at is null)
union all
select 'machine ' || m.asset_tag || ' is ready while its wipe after service ' || p.service_id || ' is ' || p.state, p.machine_id
  from provisionings p join machines m on m.id = p.machine_id
 where p.kind = 'wipe' and p.state in ('queued', 'running') and m.status = 'ready'
union all
select 'the wipe after service ' || p.service_id || ' was done before the service ended', p.machine_id
  from provisionings p join services s on s.id = p.service_id
 where p.kind = 'wipe' and p.state = 'done' and p.finished_at < s.ended_at`},

	{name: "arbiters", description: "the indexes and triggers that decide are in place", query: `
select 'index ' || want || ' is missing or not valid' from unnest(array['holds_one_held_per_machine', 'holds_one_per_request',
    'services_one_active_per_machine', 'services_one_per_hold']) want
 where not exists (select from pg_index i where i.indexrelid = to_regclass('public.' || want) and i.indisunique and i.indisvalid)
union all
select 'trigger ' || want || ' is missing or off' from unnest(array['holds_guard', 'services_guard', 'machines_guard',
    'machines_classify', 'services_hold_converted', 'holds_converted_inserted', 'holds_converted_updated', 'holds_history',
    'services_history', 'machines_history', 'machines_added', 'services_machine_agrees', 'machine_classes_frozen',
    'org_limits_history', 'rollout_history', 'users_history', 'api_tokens_history', 'invitations_history',
    'password_resets_history', 'organisations_history', 'email_changes_history', 'sites_history', 'purchase_requests_history', 'hold_events_tell', 'service_events_tell',
    'webhook_endpoints_history', 'provisionings_guard', 'provisionings_history', 'provisionings_set_aside',
    'machines_set_aside_guard', 'machines_wiped_by_hand', 'services_setup_insert', 'services_setup_update',
    'services_plan_guard', 'services_plan_history', 'services_provision_begin', 'services_provision_end',
    'provisioning_tell']) want
 where not exists (select from pg_trigger t where t.tgname = want and t.tgenabled in ('O', 'A'))
union all
select 'triggers are off in sessions like this one: session_replication_role is ' || current_setting('session_replication_role')
 where current_setting('session_replication_role') = 'replica'`},

	{name: "occupying_states", description: "hold_states, the states' CHECK and the arbiter's predicate agree", query: `
select 'hold_states says ' || states || ', the CHECK says ' || checked
  from (select (select string_agg(state, ',' order by state) from hold_states) as states,
               (select string_agg(m[1], ',' order by m[1]) from pg_constraint c,
                  regexp_matches(pg_get_constraintdef(c.oid), '''([a-z_]+)''::text', 'g') m
                 where c.conname = 'holds_state_known') as checked) x
 where states is distinct from checked
union all
select 'hold_states says that ' || coalesce(occupying, 'nothing') || ' occupies, the index says ' || coalesce(predicate, 'nothing')
  from (select (select string_agg(state, ',' order by state) from hold_states where occupies) as occupying,
               (select string_agg(m[1], ',' order by m[1]) from pg_index i,
                  regexp_matches(pg_get_expr(i.indpred, i.indrelid), '''([a-z_]+)''::text', 'g') m
                 where i.indexrelid = to_regclass('public.holds_one_held_per_machine')) as predicate) x
 where occupying is distinct from predicate`},
}

// keptSince is since when the rows of a table are there: older months may have left it (see the
// migration of retention). Transactions that were open when their month ended write up to their own
// time, not beyond it.
func keptSince(table string) string {
	return "coalesce((select r.before from retired r where r.table_name = '" + table + "'), '-infinity')"
}
