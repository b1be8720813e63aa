-- +goose Up

-- What may be installed. The first active one is what a customer gets who does not choose.
create table operating_systems (
  code     text primary key check (code ~ '^[a-z0-9][a-z0-9._-]{0,39}$'),
  name     text not null check (length(btrim(name)) between 1 and 80),
  active   boolean not null default true,
  position int not null default 100
);
insert into operating_systems (code, name, position) values
  ('debian-13', 'Debian 13', 10), ('ubuntu-24.04', 'Ubuntu 24.04 LTS', 20), ('almalinux-10', 'AlmaLinux 10', 30),
  ('rocky-10', 'Rocky Linux 10', 40), ('freebsd-14', 'FreeBSD 14', 50);

-- The keys of an organisation. What a server was set up with is kept with its service.
create table ssh_keys (
  id          uuid primary key default ironhold_uuid_v7(),
  org_id      uuid not null references organisations (id),
  name        text not null check (length(btrim(name)) between 1 and 100),
  public_key  text not null check (length(public_key) between 20 and 8000 and public_key !~ '[\r\n]'),
  fingerprint text not null check (fingerprint ~ '^SHA256:[A-Za-z0-9+/]{43}$'),
  created_at  timestamptz not null default clock_timestamp(),
  created_by  text not null default ironhold_actor(),
  removed_at  timestamptz
);
create index ssh_keys_by_org on ssh_keys (org_id, id);
create unique index ssh_keys_fingerprint on ssh_keys (org_id, fingerprint) where removed_at is null;

-- +goose StatementBegin
create function ssh_keys_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    perform account_event(new.org_id, 'ssh_key', new.id, new.name, 'added', null, jsonb_build_object('fingerprint', new.fingerprint));
  elsif old.removed_at is null and new.removed_at is not null then
    perform account_event(new.org_id, 'ssh_key', new.id, new.name, 'removed', null, '{}');
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger ssh_keys_history after insert or update of removed_at on ssh_keys
  for each row execute function ssh_keys_history();

-- How operators reach a machine's management controller. Apart from machines, which customers read.
create table machine_bmcs (
  machine_id  uuid primary key references machines (id) on delete cascade,
  address     text not null check (length(address) between 1 and 260 and address !~ '[[:space:]/@]'),
  fingerprint text not null default '' check (fingerprint ~ '^([0-9a-f]{64})?$') -- SHA-256 of its certificate
);

-- A machine that failed again and again is set aside: it does not come back on sale before an operator
-- has said so.
alter table machines add column set_aside_at timestamptz, add column set_aside_reason text not null default '';

-- What the customer chose, and when the service is to end.
alter table services
  add column os text not null default '',
  add column ssh_keys text[] not null default '{}',
  add column end_at timestamptz,
  add column end_planned_by text,
  add column end_planned_reason text not null default '';
create index services_end_planned on services (end_at) where ended_at is null and end_at is not null;

-- What is done to the machine of a service: an installation when it begins, a wipe when it has ended.
--   queued -> running -> done | failed
--      +---------+-----> dropped       an installation whose service ended before
-- attempt is committed before each try outside, and what comes back counts for its attempt alone. begun says
-- that the driver took the attempt; due_at is when it is looked at next, and while somebody works on it, how
-- long nobody else does.
create table provisionings (
  service_id  uuid not null references services (id),
  kind        text not null check (kind in ('install', 'wipe')),
  org_id      uuid not null,
  machine_id  uuid not null references machines (id),
  state       text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed', 'dropped')),
  driver      text not null default '',
  attempt     int not null default 0 check (attempt >= 0),
  begun       boolean not null default false,
  step        text not null default '' check (step ~ '^([a-z][a-z0-9_]{0,39})?$'),
  percent     int check (percent between 0 and 100),
  detail      text not null default '', -- for staff
  error       text not null default '', -- of the last try, for staff
  errors      int not null default 0,   -- in a row
  due_at      timestamptz not null default clock_timestamp(),
  created_at  timestamptz not null default clock_timestamp(),
  started_at  timestamptz,
  finished_at timestamptz,
  finished_by text,
  primary key (service_id, kind),
  constraint provisionings_finished check ((state in ('queued', 'running')) = (finished_at is null)),
  constraint provisionings_dropped check (state <> 'dropped' or kind = 'install')
) with (fillfactor = 80);
create index provisionings_by_machine on provisionings (machine_id, created_at);
create index provisionings_open on provisionings (created_at) where state in ('queued', 'running');

create table provisioning_events (
  at         timestamptz not null default clock_timestamp(),
  service_id uuid not null,
  kind       text not null,
  org_id     uuid not null,
  machine_id uuid not null,
  event      text not null,
  actor      text not null,
  request_id text,
  after      jsonb not null
);
create index provisioning_events_by_service on provisioning_events (service_id, at);

-- +goose StatementBegin
create function provisionings_guard() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if (new.service_id, new.kind, new.org_id, new.machine_id) <> (old.service_id, old.kind, old.org_id, old.machine_id) then
    raise exception 'provisioning of service % keeps its service and its machine', old.service_id
      using errcode = 'check_violation', constraint = 'provisionings_keep_parties';
  end if;
  if old.state not in ('queued', 'running') then
    raise exception 'the % of service % has ended as % and stays so', old.kind, old.service_id, old.state
      using errcode = 'check_violation', constraint = 'provisionings_end_once';
  end if;
  if new.attempt < old.attempt then
    raise exception 'attempt % of service % is behind %', new.attempt, old.service_id, old.attempt
      using errcode = 'check_violation', constraint = 'provisionings_attempt_rises';
  end if;
  if new.state not in ('queued', 'running') then
    new.finished_at := coalesce(new.finished_at, clock_timestamp());
    new.finished_by := coalesce(new.finished_by, ironhold_actor());
  end if;
  return new;
end $$;
-- +goose StatementEnd
create trigger provisionings_guard before update on provisionings for each row execute function provisionings_guard();

-- +goose StatementBegin
create function provisionings_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'UPDATE' and (new.state, new.step, new.attempt, new.driver, new.error)
      is not distinct from (old.state, old.step, old.attempt, old.driver, old.error) then
    return null;
  end if;
  insert into provisioning_events (service_id, kind, org_id, machine_id, event, actor, request_id, after)
  values (new.service_id, new.kind, new.org_id, new.machine_id, new.state, ironhold_actor(), ironhold_request_id(),
    jsonb_build_object('step', new.step, 'attempt', new.attempt, 'driver', new.driver, 'detail', new.detail, 'error', new.error));
  return null;
end $$;
-- +goose StatementEnd
create trigger provisionings_history after insert or update on provisionings
  for each row execute function provisionings_history();

-- Two failures within 30 days, and the machine is set aside. Whoever lets one fail has locked the machine.
-- +goose StatementBegin
create function provisionings_set_aside() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  failures int;
begin
  select count(*) into failures from provisionings
   where machine_id = new.machine_id and state = 'failed' and finished_at > clock_timestamp() - interval '30 days';
  if failures >= 2 then
    update machines set set_aside_at = clock_timestamp(), set_aside_reason = failures || ' failures within 30 days'
     where id = new.machine_id and set_aside_at is null;
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger provisionings_set_aside after update of state on provisionings
  for each row when (new.state = 'failed' and old.state <> 'failed') execute function provisionings_set_aside();

-- +goose StatementBegin
create function machines_set_aside_guard() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if new.status = 'ready' and old.status <> 'ready' and new.set_aside_at is not null then
    raise exception 'machine % is set aside: %', old.asset_tag, new.set_aside_reason
      using errcode = 'check_violation', constraint = 'machines_set_aside';
  end if;
  -- While a driver works on the machine, a wipe by hand is none: what it does goes on.
  if new.wiped_at is distinct from old.wiped_at and exists (select from provisionings
      where machine_id = new.id and kind = 'wipe' and state = 'running' and driver not in ('', 'manual')) then
    raise exception 'machine % is being wiped', old.asset_tag
      using errcode = 'check_violation', constraint = 'machines_wipe_running';
  end if;
  return new;
end $$;
-- +goose StatementEnd
create trigger machines_set_aside_guard before update of status, wiped_at on machines
  for each row execute function machines_set_aside_guard();

-- +goose StatementBegin
create function machines_set_aside_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into machine_events (machine_id, event, reason, actor, request_id, before, after)
  values (new.id, case when new.set_aside_at is null then 'released' else 'set_aside' end, new.set_aside_reason,
    ironhold_actor(), ironhold_request_id(), null, jsonb_build_object('set_aside_at', new.set_aside_at));
  return null;
end $$;
-- +goose StatementEnd
create trigger machines_set_aside_history after update of set_aside_at on machines
  for each row when ((new.set_aside_at is null) <> (old.set_aside_at is null)) execute function machines_set_aside_history();

-- Whoever records that the machine was wiped has done the wipe that waits for a hand.
-- +goose StatementBegin
create function machines_wiped_by_hand() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  update provisionings set state = 'done', driver = 'manual', step = '', percent = 100, begun = true
   where machine_id = new.id and kind = 'wipe' and state in ('queued', 'running') and driver in ('', 'manual')
     and exists (select from services s where s.id = service_id and s.ended_at <= new.wiped_at);
  return null;
end $$;
-- +goose StatementEnd
create trigger machines_wiped_by_hand after update of wiped_at on machines
  for each row when (new.wiped_at is not null and new.wiped_at is distinct from old.wiped_at)
  execute function machines_wiped_by_hand();

create or replace function machines_facts(m machines) returns jsonb
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select to_jsonb(m) - array['id', 'class_id', 'lot', 'status', 'status_reason', 'status_by', 'status_at',
    'wiped_at', 'wiped_by', 'wipe_reason', 'occupancy_version', 'created_at', 'updated_at', 'set_aside_at', 'set_aside_reason']
$$;

-- What is installed is what was agreed.
-- +goose StatementBegin
create function services_setup() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'UPDATE' then
    raise exception 'service % keeps its operating system and its keys', old.id
      using errcode = 'check_violation', constraint = 'services_setup_frozen';
  end if;
  if new.os = '' then
    select code into new.os from operating_systems where active order by position, code limit 1;
    new.os := coalesce(new.os, '');
  elsif not exists (select from operating_systems where code = new.os and active) then
    raise exception 'the operating system % is not offered', new.os
      using errcode = 'check_violation', constraint = 'services_os_offered';
  end if;
  return new;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create function services_plan_guard() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if old.ended_at is not null then
    raise exception 'service % has ended and stays so', old.id
      using errcode = 'check_violation', constraint = 'services_end_once';
  end if;
  if new.end_at <= clock_timestamp() then
    raise exception 'the end of service % is to come, but % is past', old.id, new.end_at
      using errcode = 'check_violation', constraint = 'services_end_at_future';
  end if;
  return new;
end $$;
-- +goose StatementEnd
create trigger services_plan_guard before update of end_at on services
  for each row when (new.end_at is distinct from old.end_at) execute function services_plan_guard();

-- +goose StatementBegin
create function services_plan_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into service_events (service_id, org_id, machine_id, event, actor, request_id, before, after)
  values (new.id, new.org_id, new.machine_id, case when new.end_at is null then 'end_withdrawn' else 'end_planned' end,
    ironhold_actor(), ironhold_request_id(), jsonb_build_object('end_at', old.end_at),
    jsonb_build_object('end_at', new.end_at, 'reason', new.end_planned_reason));
  return null;
end $$;
-- +goose StatementEnd
create trigger services_plan_history after update of end_at on services
  for each row when (new.end_at is distinct from old.end_at) execute function services_plan_history();

-- The work begins as a row in the transaction that decided, whoever that was. Jobs follow from the rows.
-- +goose StatementBegin
create function services_provision() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'INSERT' and new.ended_at is null then
    insert into provisionings (service_id, kind, org_id, machine_id) values (new.id, 'install', new.org_id, new.machine_id);
  elsif new.ended_at is not null then
    update provisionings set state = 'dropped' where service_id = new.id and kind = 'install' and state in ('queued', 'running');
    insert into provisionings (service_id, kind, org_id, machine_id) values (new.id, 'wipe', new.org_id, new.machine_id);
  end if;
  return null;
end $$;
-- +goose StatementEnd

-- Those from before: what runs was installed; what ended is wiped as the machine says.
insert into provisionings (service_id, kind, org_id, machine_id, state, driver, percent, created_at, finished_at, finished_by)
select id, 'install', org_id, machine_id, 'done', 'manual', 100, started_at, started_at, created_by from services where ended_at is null;
insert into provisionings (service_id, kind, org_id, machine_id, state, driver, percent, created_at, finished_at, finished_by)
select s.id, 'wipe', s.org_id, s.machine_id, case when w.done then 'done' else 'queued' end, case when w.done then 'manual' else '' end,
       case when w.done then 100 end, s.ended_at, case when w.done then m.wiped_at end, case when w.done then coalesce(m.wiped_by, 'database') end
  from services s join machines m on m.id = s.machine_id
 cross join lateral (select coalesce(m.wiped_at >= s.ended_at, false) as done) w
 where s.ended_at is not null;

create trigger services_setup_insert before insert on services for each row execute function services_setup();
create trigger services_setup_update before update of os, ssh_keys on services
  for each row when ((new.os, new.ssh_keys) is distinct from (old.os, old.ssh_keys)) execute function services_setup();
create trigger services_provision_begin after insert on services for each row execute function services_provision();
create trigger services_provision_end after update of ended_at on services
  for each row when (new.ended_at is not null and old.ended_at is null) execute function services_provision();

-- Who is told is in the file of the mails, which comes later in a new database and was there before in one
-- that is brought up to date.
-- +goose StatementBegin
do $$
begin
  if to_regprocedure('public.provisioning_tell()') is not null then
    create trigger provisioning_tell after update of state on provisionings
      for each row when (new.kind = 'install' and new.state in ('done', 'failed') and old.state not in ('done', 'failed'))
      execute function provisioning_tell();
  end if;
end $$;
-- +goose StatementEnd

grant select on operating_systems to ironhold_engine, ironhold_web;
grant insert, update on operating_systems to ironhold_engine;
grant select, insert, update, delete on machine_bmcs to ironhold_engine;
grant select, insert, update on ssh_keys, provisionings to ironhold_engine;
grant select, insert on provisioning_events to ironhold_engine;
grant select on ssh_keys to ironhold_web;
grant select (service_id, kind, org_id, state, attempt, step, percent, created_at, started_at, finished_at) on provisionings to ironhold_web;
alter table ssh_keys enable row level security, force row level security;
alter table provisionings enable row level security, force row level security;
create policy own_organisation on ssh_keys for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on provisionings for select to ironhold_web using (org_id = ironhold_org());

grant create on schema public to ironhold_engine;
alter function ssh_keys_history() owner to ironhold_engine;
alter function provisionings_guard() owner to ironhold_engine;
alter function provisionings_history() owner to ironhold_engine;
alter function provisionings_set_aside() owner to ironhold_engine;
alter function machines_set_aside_guard() owner to ironhold_engine;
alter function machines_set_aside_history() owner to ironhold_engine;
alter function machines_wiped_by_hand() owner to ironhold_engine;
alter function services_setup() owner to ironhold_engine;
alter function services_plan_guard() owner to ironhold_engine;
alter function services_plan_history() owner to ironhold_engine;
alter function services_provision() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;
revoke execute on function ssh_keys_history(), provisionings_guard(), provisionings_history(), provisionings_set_aside(),
  machines_set_aside_guard(), machines_set_aside_history(), machines_wiped_by_hand(), services_setup(), services_plan_guard(),
  services_plan_history(), services_provision() from public;
