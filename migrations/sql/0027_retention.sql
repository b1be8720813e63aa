-- +goose Up

-- How long attempts and history are kept. A month that is over for long enough leaves its table as a
-- whole: detached and moved to the schema "archive", which the application cannot read. Nothing is ever
-- deleted row by row. Whoever runs the database writes an archived table to a file, or drops it.
create schema archive;

-- Until when each table's months have left; what is older is not missing.
create table retired (
  table_name text primary key check (table_name in ('allocation_attempts', 'hold_events', 'service_events', 'machine_events')),
  before     timestamptz not null,
  at         timestamptz not null default clock_timestamp()
);
grant select on retired to ironhold_engine;

-- Detaches the months of the table that ended before now minus keep, oldest first, one a call, so that
-- the lock on the table lasts for one of them; returns its name, or null when there is none. Less than a
-- month is refused: whoever gets hold of the application's login must not hide what it did today.
-- +goose StatementBegin
create function ironhold_retire_month(tab text, keep interval) returns text
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  limit_at constant timestamptz := date_trunc('month', clock_timestamp() - keep);
  part record;
begin
  if tab not in ('allocation_attempts', 'hold_events', 'service_events', 'machine_events') then
    raise exception 'no table with retention: %', tab using errcode = 'invalid_parameter_value';
  end if;
  if keep is null or keep < interval '1 month' then
    raise exception 'attempts and history are kept for a month at least' using errcode = 'invalid_parameter_value';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('ironhold_make_partitions', 0));
  -- Partitions of ours are named after their month.
  select c.relname as name, to_timestamp(right(c.relname, 6), 'YYYYMM') as first into part
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = to_regclass('public.' || quote_ident(tab)) and c.relname ~ ('^' || tab || '_[0-9]{6}$')
     and to_timestamp(right(c.relname, 6), 'YYYYMM') + interval '1 month' <= limit_at
   order by c.relname limit 1;
  if not found then
    return null;
  end if;
  execute format('alter table public.%I detach partition public.%I', tab, part.name);
  execute format('alter table public.%I set schema archive', part.name);
  insert into public.retired (table_name, before) values (tab, part.first + interval '1 month')
    on conflict (table_name) do update set before = greatest(retired.before, excluded.before), at = clock_timestamp();
  return part.name;
end $$;
-- +goose StatementEnd
revoke execute on function ironhold_retire_month(text, interval) from public;
grant execute on function ironhold_retire_month(text, interval) to ironhold_engine;
