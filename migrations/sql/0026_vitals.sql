-- +goose Up

-- What the operator watches of the server itself. Other logins' sessions are hidden from the
-- application's login, and the one that matters, an outside session with a transaction left open, is
-- nearly always another's: hence functions of the owner's. They tell ages and names, never statements.
-- An owner without pg_read_all_stats sees its own sessions alone, which sees_all says.

-- +goose StatementBegin
create function ironhold_vitals(
  out sees_all boolean, out connections int, out max_connections int, out lock_waits int, out longest_lock_wait_s float8,
  out oldest_transaction_s float8, out idle_in_transaction int, out oldest_idle_s float8, out database_bytes bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select pg_has_role('pg_read_all_stats', 'usage'),
         count(*)::int,
         current_setting('max_connections')::int,
         (count(*) filter (where a.wait_event_type = 'Lock'))::int,
         coalesce((select extract(epoch from max(clock_timestamp() - l.waitstart)) from pg_locks l where not l.granted), 0)::float8,
         coalesce(extract(epoch from max(clock_timestamp() - a.xact_start)), 0)::float8,
         (count(*) filter (where a.state like 'idle in transaction%'))::int,
         coalesce(extract(epoch from max(clock_timestamp() - a.state_change) filter (where a.state like 'idle in transaction%')), 0)::float8,
         pg_database_size(current_database())
    from pg_stat_activity a
   where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
$$;
-- +goose StatementEnd

-- Who holds others up. pg_blocking_pids stops the lock manager for a moment: only for those who have
-- waited for a second already.
-- +goose StatementBegin
create function ironhold_blockers() returns table (pid int, application text, state text, transaction_s float8, holds_up int)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select b.pid, coalesce(b.application_name, ''), coalesce(b.state, ''),
         coalesce(extract(epoch from clock_timestamp() - b.xact_start), 0)::float8, w.n
    from (select p.pid, count(*)::int as n
            from (select distinct l.pid from pg_locks l where not l.granted and l.waitstart < clock_timestamp() - interval '1 second') waiting,
                 unnest(pg_blocking_pids(waiting.pid)) as p (pid)
           group by p.pid) w
    join pg_stat_activity b on b.pid = w.pid
   order by w.n desc, b.pid
   limit 20
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function ironhold_replicas() returns table (name text, state text, sync text, replay_lag_s float8, behind_bytes bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select r.application_name, coalesce(r.state, ''), coalesce(r.sync_state, ''), coalesce(extract(epoch from r.replay_lag), 0)::float8,
         coalesce(case when pg_is_in_recovery() then null else pg_wal_lsn_diff(pg_current_wal_lsn(), r.replay_lsn) end, 0)::bigint
    from pg_stat_replication r
   order by r.application_name, r.pid
   limit 20
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function ironhold_slots() returns table (name text, active boolean, wal_status text, safe_wal_bytes bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select s.slot_name, s.active, coalesce(s.wal_status, ''), s.safe_wal_size from pg_replication_slots s order by s.slot_name limit 20
$$;
-- +goose StatementEnd

revoke execute on function ironhold_vitals(), ironhold_blockers(), ironhold_replicas(), ironhold_slots() from public;
grant execute on function ironhold_vitals(), ironhold_blockers(), ironhold_replicas(), ironhold_slots() to ironhold_engine;
