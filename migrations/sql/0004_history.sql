-- +goose Up

-- Append-only history, partitioned by month from the start. Written by triggers, so that no code
-- path can forget it; the application's roles may not change or delete it.
create table hold_events (
  at         timestamptz not null default clock_timestamp(),
  hold_id    uuid not null,
  org_id     uuid not null,
  machine_id uuid not null,
  event      text not null,
  actor      text not null,
  request_id text,
  before     jsonb,
  after      jsonb not null
) partition by range (at);
create index hold_events_by_hold on hold_events (hold_id, at);

create table service_events (
  at         timestamptz not null default clock_timestamp(),
  service_id uuid not null,
  org_id     uuid not null,
  machine_id uuid not null,
  event      text not null,
  actor      text not null,
  request_id text,
  before     jsonb,
  after      jsonb not null
) partition by range (at);
create index service_events_by_service on service_events (service_id, at);

create table machine_events (
  at         timestamptz not null default clock_timestamp(),
  machine_id uuid not null,
  event      text not null,
  reason     text not null default '',
  actor      text not null,
  request_id text,
  before     jsonb,
  after      jsonb not null
) partition by range (at);
create index machine_events_by_machine on machine_events (machine_id, at);

-- One row per order request, whatever its outcome. Identifiers are made by the caller; no foreign
-- keys, so that logging a refusal locks nothing.
create table allocation_attempts (
  id              uuid not null,
  at              timestamptz not null default clock_timestamp(),
  org_id          uuid not null,
  actor           text not null,
  request_id      text,
  idempotency_key text not null,
  outcome         text not null,
  request         jsonb not null,
  considered      int  not null default 0,
  eligible        int  not null default 0,
  reasons         jsonb not null default '[]',
  near_misses     jsonb not null default '[]',
  walk            jsonb not null default '[]',
  walked          int  not null default 0,
  skipped         int  not null default 0,
  lost            int  not null default 0,
  changed         int  not null default 0,
  detail          jsonb not null default '{}',
  arrived_at      timestamptz,
  took_us         bigint not null default 0,
  hold_id         uuid
) partition by range (at);
create index allocation_attempts_by_id on allocation_attempts (id);
create index allocation_attempts_by_time on allocation_attempts (at, id);
create index allocation_attempts_by_org on allocation_attempts (org_id, at);

create table hold_events_default partition of hold_events default;
create table service_events_default partition of service_events default;
create table machine_events_default partition of machine_events default;
create table allocation_attempts_default partition of allocation_attempts default;

-- Makes the partitions of this month and the next ones; a month whose rows already lie in the
-- default partition is left there. Safe to call at any time. Owned by the owner of the tables.
-- +goose StatementBegin
create function ironhold_make_partitions(months int) returns int
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  made  int := 0;
  first date;
  name  text;
  tab   text;
begin
  perform pg_advisory_xact_lock(hashtextextended('ironhold_make_partitions', 0));
  for m in 0..months loop
    first := (date_trunc('month', clock_timestamp()) + make_interval(months => m))::date;
    foreach tab in array array['hold_events', 'service_events', 'machine_events', 'allocation_attempts'] loop
      name := tab || '_' || to_char(first, 'YYYYMM');
      continue when to_regclass('public.' || name) is not null;
      begin
        execute format('create table public.%I partition of public.%I for values from (%L) to (%L)',
          name, tab, first::timestamptz, (first + interval '1 month')::timestamptz);
        made := made + 1;
      exception when check_violation then
        raise notice 'rows of % are in the default partition of % already', first, tab;
      end;
    end loop;
  end loop;
  return made;
end $$;
-- +goose StatementEnd
select ironhold_make_partitions(2);

-- +goose StatementBegin
create function holds_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into hold_events (hold_id, org_id, machine_id, event, actor, request_id, before, after)
    values (new.id, new.org_id, new.machine_id, new.state, ironhold_actor(), ironhold_request_id(), null,
      jsonb_build_object('state', new.state, 'expires_at', new.expires_at, 'substitute_of', new.substitute_of));
    return null;
  end if;
  if new.state = old.state and new.expires_at = old.expires_at then
    return null;
  end if;
  insert into hold_events (hold_id, org_id, machine_id, event, actor, request_id, before, after)
  values (new.id, new.org_id, new.machine_id,
    case when new.state <> old.state then new.state else 'extended' end,
    ironhold_actor(), ironhold_request_id(),
    jsonb_build_object('state', old.state, 'expires_at', old.expires_at),
    jsonb_build_object('state', new.state, 'expires_at', new.expires_at, 'reason', new.close_reason));
  return null;
end $$;
-- +goose StatementEnd
create trigger holds_history after insert or update of state, expires_at on holds
  for each row execute function holds_history();

-- +goose StatementBegin
create function services_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into service_events (service_id, org_id, machine_id, event, actor, request_id, before, after)
    values (new.id, new.org_id, new.machine_id, 'started', ironhold_actor(), ironhold_request_id(), null,
      jsonb_build_object('hold_id', new.hold_id, 'started_at', new.started_at, 'ended_at', new.ended_at));
    return null;
  end if;
  if new.ended_at is not distinct from old.ended_at then
    return null;
  end if;
  insert into service_events (service_id, org_id, machine_id, event, actor, request_id, before, after)
  values (new.id, new.org_id, new.machine_id, 'ended', ironhold_actor(), ironhold_request_id(),
    jsonb_build_object('ended_at', old.ended_at),
    jsonb_build_object('ended_at', new.ended_at, 'reason', new.end_reason));
  return null;
end $$;
-- +goose StatementEnd
create trigger services_history after insert or update of ended_at on services
  for each row execute function services_history();

-- Facts of a machine as they are kept in its history.
-- +goose StatementBegin
create function machines_facts(m machines) returns jsonb
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select to_jsonb(m) - array['id', 'class_id', 'lot', 'status', 'status_reason', 'status_by', 'status_at',
    'wiped_at', 'wiped_by', 'wipe_reason', 'occupancy_version', 'created_at', 'updated_at']
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function machines_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if new.status <> old.status then
    insert into machine_events (machine_id, event, reason, actor, request_id, before, after)
    values (new.id, 'status', new.status_reason, new.status_by, ironhold_request_id(),
      jsonb_build_object('status', old.status), jsonb_build_object('status', new.status));
  end if;
  if new.wiped_at is distinct from old.wiped_at then
    insert into machine_events (machine_id, event, reason, actor, request_id, before, after)
    values (new.id, 'wiped', new.wipe_reason, coalesce(new.wiped_by, ironhold_actor()), ironhold_request_id(),
      jsonb_build_object('wiped_at', old.wiped_at), jsonb_build_object('wiped_at', new.wiped_at));
  end if;
  -- Compared before they are written out: most updates are moves and change no fact.
  if (new.asset_tag, new.site_code, new.room, new.rack, new.vendor, new.model, new.serial, new.cpu, new.cpu_count,
      new.cores, new.threads, new.ram, new.ram_gb, new.ecc, new.nvme_gb, new.ssd_gb, new.hdd_gb, new.drives, new.gpu,
      new.nic_mbps, new.features, new.price_month_minor, new.setup_minor, new.currency)
     is distinct from
     (old.asset_tag, old.site_code, old.room, old.rack, old.vendor, old.model, old.serial, old.cpu, old.cpu_count,
      old.cores, old.threads, old.ram, old.ram_gb, old.ecc, old.nvme_gb, old.ssd_gb, old.hdd_gb, old.drives, old.gpu,
      old.nic_mbps, old.features, old.price_month_minor, old.setup_minor, old.currency) then
    insert into machine_events (machine_id, event, reason, actor, request_id, before, after)
    values (new.id, 'changed', '', ironhold_actor(), ironhold_request_id(), machines_facts(old), machines_facts(new));
  end if;
  return null;
end $$;
-- +goose StatementEnd

-- An intake adds many machines with one statement: their history is one statement too.
-- +goose StatementBegin
create function machines_added() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into machine_events (machine_id, event, reason, actor, request_id, before, after)
  select m.id, 'added', m.status_reason, b.actor, b.request_id, null, jsonb_build_object('status', m.status)
    from added m, (select ironhold_actor() as actor, ironhold_request_id() as request_id offset 0) b;
  return null;
end $$;
-- +goose StatementEnd
create trigger machines_added after insert on machines
  referencing new table as added for each statement execute function machines_added();

-- Named columns only: the occupancy ticket is no history and must stay cheap.
create trigger machines_history after update of asset_tag, site_code, room, rack, vendor, model, serial, cpu,
  cpu_count, cores, threads, ram, ram_gb, ecc, nvme_gb, ssd_gb, hdd_gb, drives, gpu, nic_mbps, features, status, wiped_at,
  price_month_minor, setup_minor, currency on machines for each row execute function machines_history();
