-- +goose Up

-- Which states occupy a machine is written here, beside the index that decides. No foreign key
-- leads here: it would lock one shared tuple in every claim.
create table hold_states (
  state    text primary key,
  occupies boolean not null
);
insert into hold_states (state, occupies) values
  ('held', true), ('converted', false), ('expired', false), ('cancelled', false);

create table holds (
  id                uuid primary key default ironhold_uuid_v7(),
  org_id            uuid not null references org_limits (org_id),
  machine_id        uuid not null references machines (id),
  state             text not null default 'held'
                    constraint holds_state_known check (state in ('held', 'converted', 'expired', 'cancelled')),
  idempotency_key   text not null check (length(idempotency_key) between 1 and 300),
  request_hash      bytea not null default '',
  request           jsonb not null default '{}',
  decision          jsonb not null default '{}',
  price_month_minor bigint not null default 0 check (price_month_minor >= 0),
  setup_minor       bigint not null default 0 check (setup_minor >= 0),
  currency          text not null default 'EUR',
  terms             text not null default '',
  created_by        text not null default ironhold_actor(),
  created_at        timestamptz not null default clock_timestamp(),
  expires_at        timestamptz not null,
  extended_at       timestamptz,
  extension_key     text,
  closed_at         timestamptz,
  closed_by         text,
  close_reason      text not null default '',
  substitute_of     uuid references holds (id),
  attempt_id        uuid
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- One request, one hold.
create unique index holds_one_per_request on holds (org_id, idempotency_key);
create index holds_by_org on holds (org_id, id);
create index holds_by_machine on holds (machine_id, created_at);
-- These two ask for more than "held", so that the arbiter alone serves whoever asks for a machine's
-- hold. After a quiet night the statistics say that nothing is held; then all partial indexes look
-- empty and equally good, and a plan made then would read every open hold for each machine.
create index holds_held_by_org on holds (org_id, expires_at) where state = 'held' and org_id is not null;
-- Used by the statements that say it in the same words.
create index holds_held_by_deadline on holds (expires_at) where state || '' = 'held';
-- The arbiter: a machine is held at most once. Made last, and those by machine after those by
-- organisation: of indexes that look equally good, as all do on an empty table, the planner takes
-- the newest.
create unique index holds_one_held_per_machine on holds (machine_id) where state = 'held';

create table services (
  id                uuid primary key default ironhold_uuid_v7(),
  org_id            uuid not null references org_limits (org_id),
  machine_id        uuid not null references machines (id),
  hold_id           uuid not null references holds (id),
  started_at        timestamptz not null default clock_timestamp(),
  ended_at          timestamptz,
  ended_by          text,
  end_reason        text not null default '',
  price_month_minor bigint not null,
  setup_minor       bigint not null,
  currency          text not null,
  terms             text not null default '',
  created_by        text not null default ironhold_actor(),
  constraint services_one_per_hold unique (hold_id),
  constraint services_end_after_start check (ended_at is null or ended_at >= started_at)
);
create index services_by_machine on services (machine_id, ended_at);
create index services_by_org on services (org_id, id);
-- As with holds: not for whoever asks for a machine's service, whose index is the newest.
create index services_active_by_org on services (org_id) where ended_at is null and org_id is not null;
create unique index services_one_active_per_machine on services (machine_id) where ended_at is null;

-- Occupancy is decided on fresh snapshots only: at a higher isolation level the counts below would
-- be those of an old snapshot.
-- +goose StatementBegin
create function occupancy_isolation() returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'occupancy changes at READ COMMITTED only, not at %', current_setting('transaction_isolation')
      using errcode = 'invalid_transaction_state', constraint = 'occupancy_isolation';
  end if;
end $$;
-- +goose StatementEnd

-- The organisation's row, locked; made when it is missing.
-- +goose StatementBegin
create function occupancy_lock_org(org uuid) returns org_limits
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
declare
  row org_limits;
begin
  select * into row from org_limits where org_id = org for no key update;
  if not found then
    insert into org_limits (org_id) values (org) on conflict do nothing;
    select * into strict row from org_limits where org_id = org for no key update;
  end if;
  return row;
end $$;
-- +goose StatementEnd

-- The machine's ticket: an update, so that a concurrent transaction at any isolation level
-- conflicts with it. Refuses a machine that is not for sale, or that is occupied by a service, or
-- that was not wiped after its last one.
-- +goose StatementBegin
create function occupancy_take_machine(machine uuid) returns void
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
declare
  wiped timestamptz;
  last  record;
begin
  update machines set occupancy_version = occupancy_version + 1
   where id = machine and status = 'ready'
  returning wiped_at into wiped;
  if not found then
    raise exception 'machine % cannot be occupied: it is not ready for sale', machine
      using errcode = 'check_violation', constraint = 'machines_ready_to_occupy';
  end if;
  for last in select id, ended_at from services where machine_id = machine
                and (ended_at is null or ended_at > coalesce(wiped, '-infinity')) limit 1 loop
    if last.ended_at is null then
      raise exception 'machine % is occupied by service %', machine, last.id
        using errcode = 'exclusion_violation', constraint = 'machines_one_occupant';
    end if;
    raise exception 'machine % cannot be occupied: not wiped since its last service', machine
      using errcode = 'check_violation', constraint = 'machines_wiped_before_sale';
  end loop;
end $$;
-- +goose StatementEnd

-- Whether the organisation has a live hold or an active service that began after this transaction
-- did, by the clock of the history: it may have been counted on the place of a hold that this
-- transaction cancelled. Asked only where a hold is replaced.
-- +goose StatementBegin
create function occupancy_begun_meanwhile(org uuid) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  return exists (select from holds h join hold_events e on e.hold_id = h.id
                  where h.org_id = org and h.state = 'held' and h.expires_at > clock_timestamp()
                    and e.event = 'held' and e.at >= transaction_timestamp())
      or exists (select from services s join service_events e on e.service_id = s.id
                  where s.org_id = org and s.ended_at is null and e.event = 'started' and e.at >= transaction_timestamp());
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create function holds_guard() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  caps   org_limits;
  live   int;
  active int;
begin
  if tg_op = 'UPDATE' then
    if new.org_id <> old.org_id or new.machine_id <> old.machine_id then
      raise exception 'a hold keeps its organisation and its machine'
        using errcode = 'check_violation', constraint = 'holds_keep_parties';
    end if;
    if old.state <> 'held' and new.state <> old.state then
      raise exception 'hold % has ended as % and stays so', old.id, old.state
        using errcode = 'check_violation', constraint = 'holds_end_once';
    end if;
    if new.expires_at <> old.expires_at and (old.state <> 'held' or old.expires_at <= clock_timestamp()) then
      raise exception 'the deadline of hold % has passed and does not move', old.id
        using errcode = 'check_violation', constraint = 'holds_deadline_passed';
    end if;
  end if;
  perform occupancy_isolation();

  if tg_op = 'INSERT' then
    if new.state <> 'held' then
      return new;
    end if;
    caps := occupancy_lock_org(new.org_id);
    perform occupancy_take_machine(new.machine_id);
    -- What replaces a hold that this transaction cancelled adds nothing: a cap that was lowered
    -- meanwhile does not take from the holder of a withdrawn machine what it has.
    if new.substitute_of is not null
       and exists (select from holds h join hold_events e on e.hold_id = h.id
                    where h.id = new.substitute_of and h.org_id = new.org_id and h.state = 'cancelled'
                      and h.expires_at = new.expires_at and e.event = 'cancelled' and e.xmin = pg_current_xact_id()::xid)
       and not exists (select from holds where org_id = new.org_id and substitute_of = new.substitute_of)
       and not occupancy_begun_meanwhile(new.org_id) then
      return new;
    end if;
    -- Statements of their own after the lock: joined with it they would count on an older snapshot.
    select count(*) into live from holds
     where org_id = new.org_id and state = 'held' and expires_at > clock_timestamp();
    if live >= caps.max_holds then
      raise exception 'organisation % has % live holds, its cap is %', new.org_id, live, caps.max_holds
        using errcode = 'check_violation', constraint = 'org_limits_max_holds';
    end if;
    select count(*) into active from services where org_id = new.org_id and ended_at is null;
    if live + active >= caps.max_machines then
      raise exception 'organisation % has % live holds and % services, its cap is %',
        new.org_id, live, active, caps.max_machines
        using errcode = 'check_violation', constraint = 'org_limits_max_machines';
    end if;
    return new;
  end if;

  if new.state = 'held' and new.expires_at <> old.expires_at then
    perform occupancy_lock_org(new.org_id);
    -- Asked again after waiting for the lock: meanwhile an order may have counted this hold as gone.
    if old.expires_at <= clock_timestamp() then
      raise exception 'the deadline of hold % has passed and does not move', old.id
        using errcode = 'check_violation', constraint = 'holds_deadline_passed';
    end if;
  end if;
  if old.state = 'held' and new.state = 'converted' and old.expires_at <= clock_timestamp() then
    raise exception 'hold % ran out at % and cannot be converted', old.id, old.expires_at
      using errcode = 'check_violation', constraint = 'holds_deadline_passed';
  end if;
  if old.state = 'held' and new.state = 'expired' and old.expires_at > clock_timestamp() then
    raise exception 'hold % is live until % and cannot expire', old.id, old.expires_at
      using errcode = 'check_violation', constraint = 'holds_expire_late';
  end if;
  return new;
end $$;
-- +goose StatementEnd

create trigger holds_guard before insert or update of state, machine_id, org_id, expires_at
  on holds for each row execute function holds_guard();

-- What was agreed stays agreed: under another key the order would get a second hold, and the price
-- is the one that was shown.
-- +goose StatementBegin
create function holds_frozen() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'hold % keeps its id, key, request, price and terms', old.id
    using errcode = 'check_violation', constraint = 'holds_frozen';
end $$;
-- +goose StatementEnd

create trigger holds_frozen before update of id, idempotency_key, request_hash, request, price_month_minor, setup_minor,
  currency, terms, substitute_of on holds for each row
  when ((new.id, new.idempotency_key, new.request_hash, new.request, new.price_month_minor, new.setup_minor, new.currency,
         new.terms, new.substitute_of)
        is distinct from
        (old.id, old.idempotency_key, old.request_hash, old.request, old.price_month_minor, old.setup_minor, old.currency,
         old.terms, old.substitute_of))
  execute function holds_frozen();

-- A service ends when the database is told: with an end that lies before the last wipe the machine
-- would be sold as the customer left it, and with one that is yet to come it would be in use
-- without being counted.
-- +goose StatementBegin
create function services_end_now(asked timestamptz) returns timestamptz
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  if asked > clock_timestamp() then
    raise exception 'a service cannot have ended at %, which is yet to come', asked
      using errcode = 'check_violation', constraint = 'services_ended_at_past';
  end if;
  return clock_timestamp();
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create function services_guard() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  h holds;
begin
  if tg_op = 'UPDATE' then
    if new.org_id <> old.org_id or new.machine_id <> old.machine_id or new.hold_id <> old.hold_id then
      raise exception 'a service keeps its organisation, its machine and its hold'
        using errcode = 'check_violation', constraint = 'services_keep_parties';
    end if;
    if old.ended_at is not null and new.ended_at is distinct from old.ended_at then
      raise exception 'service % has ended and stays so', old.id
        using errcode = 'check_violation', constraint = 'services_end_once';
    end if;
    perform occupancy_isolation();
    if old.ended_at is null and new.ended_at is not null then
      new.ended_at := services_end_now(new.ended_at);
    end if;
    return new;
  end if;

  perform occupancy_isolation();
  if new.ended_at is not null then
    new.ended_at := services_end_now(new.ended_at);
  else
    perform occupancy_lock_org(new.org_id);
    perform occupancy_take_machine(new.machine_id);
  end if;
  select * into h from holds where id = new.hold_id;
  if not found or h.machine_id <> new.machine_id or h.org_id <> new.org_id then
    raise exception 'machine % is not occupied by hold % of this organisation', new.machine_id, new.hold_id
      using errcode = 'check_violation', constraint = 'services_own_hold';
  end if;
  if new.ended_at is null and (h.state <> 'held' or h.expires_at <= clock_timestamp()) then
    raise exception 'a service needs a live hold: % is % with deadline %, the machine may be occupied by another',
      h.id, h.state, h.expires_at
      using errcode = 'check_violation', constraint = 'services_live_hold';
  end if;
  if exists (select from holds where machine_id = new.machine_id and state = 'held' and id <> new.hold_id) then
    raise exception 'machine % is occupied by another hold', new.machine_id
      using errcode = 'exclusion_violation', constraint = 'machines_one_occupant';
  end if;
  -- The price of the hold counts, not what the machine costs by now.
  new.price_month_minor := coalesce(new.price_month_minor, h.price_month_minor);
  new.setup_minor := coalesce(new.setup_minor, h.setup_minor);
  new.currency := coalesce(new.currency, h.currency);
  if (new.price_month_minor, new.setup_minor, new.currency) <> (h.price_month_minor, h.setup_minor, h.currency) then
    raise exception 'service % must have the price of its hold', new.id
      using errcode = 'check_violation', constraint = 'services_price_of_hold';
  end if;
  return new;
end $$;
-- +goose StatementEnd

create trigger services_guard before insert or update of org_id, machine_id, hold_id, ended_at
  on services for each row execute function services_guard();

-- At commit a service and its converted hold exist together or not at all.
-- +goose StatementBegin
create function services_hold_converted() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if not exists (select from holds where id = new.hold_id and state = 'converted') then
    raise exception 'service % was begun but its hold % is not converted', new.id, new.hold_id
      using errcode = 'check_violation', constraint = 'services_hold_converted';
  end if;
  return null;
end $$;
-- +goose StatementEnd
create constraint trigger services_hold_converted after insert on services
  deferrable initially deferred for each row execute function services_hold_converted();

-- +goose StatementBegin
create function holds_converted_has_service() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if not exists (select from services where hold_id = new.id) then
    raise exception 'hold % is converted without a service', new.id
      using errcode = 'check_violation', constraint = 'holds_converted_has_service';
  end if;
  return null;
end $$;
-- +goose StatementEnd
create constraint trigger holds_converted_inserted after insert on holds
  deferrable initially deferred for each row when (new.state = 'converted')
  execute function holds_converted_has_service();
create constraint trigger holds_converted_updated after update of state on holds
  deferrable initially deferred for each row when (new.state = 'converted' and old.state <> 'converted')
  execute function holds_converted_has_service();

-- At commit the status of a machine agrees with its services. The steps of the application move the
-- machine themselves, with their reason; for whoever begins or ends a service by plain SQL it is
-- moved here.
-- +goose StatementBegin
create function services_machine_agrees() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  m      record;
  active boolean := exists (select from services where machine_id = new.machine_id and ended_at is null);
begin
  select asset_tag, status, wiped_at into m from machines where id = new.machine_id;
  if active and m.status not in ('in_service', 'maintenance') then
    update machines set status = 'in_service', status_reason = 'service ' || new.id || ' began' where id = new.machine_id;
  elsif not active and m.status = 'in_service' then
    update machines set status = 'cleaning', status_reason = 'service ' || new.id || ' ended' where id = new.machine_id;
  elsif m.status = 'ready' and exists (select from services where machine_id = new.machine_id
                                        and ended_at > coalesce(m.wiped_at, '-infinity')) then
    raise exception 'machine % is ready but was not wiped since its last service', m.asset_tag
      using errcode = 'check_violation', constraint = 'machines_wiped_before_sale';
  end if;
  return null;
end $$;
-- +goose StatementEnd
create constraint trigger services_machine_agrees after insert or update of ended_at on services
  deferrable initially deferred for each row execute function services_machine_agrees();

-- The life of a machine: legal moves only, and none that contradicts who has it.
-- +goose StatementBegin
create function machines_legal_moves(from_status text) returns text[]
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select case from_status
    when 'intake'      then array['ready', 'retired']
    when 'ready'       then array['in_service', 'maintenance', 'retired']
    when 'in_service'  then array['cleaning', 'maintenance']
    when 'cleaning'    then array['ready', 'maintenance', 'retired']
    when 'maintenance' then array['ready', 'cleaning', 'in_service', 'retired']
    else array[]::text[] end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function machines_guard() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  active  boolean;
  last_end timestamptz;
begin
  if tg_op = 'INSERT' then
    if new.status = 'in_service' then
      raise exception 'a machine comes into service by a sale, not by intake'
        using errcode = 'check_violation', constraint = 'machines_status_facts';
    end if;
    if new.wiped_at > clock_timestamp() then
      raise exception 'machine % cannot have been wiped at %, which is yet to come', new.asset_tag, new.wiped_at
        using errcode = 'check_violation', constraint = 'machines_wiped_at_past';
    end if;
    return new;
  end if;
  if tg_op = 'DELETE' or (new.status = 'retired' and old.status <> 'retired') then
    -- Locked first, in the order of the house: an extension that has not committed yet may have
    -- moved a deadline that has passed meanwhile.
    perform from holds where machine_id = old.id and state = 'held' for no key update;
    if exists (select from services where machine_id = old.id and ended_at is null)
       or exists (select from holds where machine_id = old.id and state = 'held' and expires_at > clock_timestamp()) then
      raise exception 'machine % is held or in service: it can be neither retired nor deleted', old.asset_tag
        using errcode = 'check_violation', constraint = 'machines_occupied_stay';
    end if;
    if tg_op = 'DELETE' then
      return old;
    end if;
  end if;
  if new.status <> old.status and not new.status = any (machines_legal_moves(old.status)) then
    raise exception 'machine % cannot go from % to %', old.asset_tag, old.status, new.status
      using errcode = 'check_violation', constraint = 'machines_legal_move',
            detail = array_to_string(machines_legal_moves(old.status), ',');
  end if;
  if new.status = old.status and new.wiped_at is not distinct from old.wiped_at then
    return new;
  end if;
  if new.wiped_at > clock_timestamp() then
    raise exception 'machine % cannot have been wiped at %, which is yet to come', old.asset_tag, new.wiped_at
      using errcode = 'check_violation', constraint = 'machines_wiped_at_past';
  end if;
  if new.status = 'in_service' and old.status <> 'in_service' then
    -- Whoever ends the service at this moment either has ended it when it is looked at, or waits
    -- and finds the machine in service.
    perform from services where machine_id = old.id and ended_at is null for share;
  end if;
  select bool_or(ended_at is null), max(ended_at) into active, last_end from services where machine_id = old.id;
  active := coalesce(active, false);
  if new.status <> old.status then
    if new.status = 'in_service' and not active then
      raise exception 'machine % has no active service', old.asset_tag
        using errcode = 'check_violation', constraint = 'machines_status_facts';
    end if;
    if new.status in ('cleaning', 'ready') and active then
      raise exception 'machine % is in service', old.asset_tag
        using errcode = 'check_violation', constraint = 'machines_status_facts';
    end if;
    new.status_at := clock_timestamp();
    if new.status_by = old.status_by then
      new.status_by := ironhold_actor();
    end if;
  end if;
  if new.status = 'ready' and last_end is not null and (new.wiped_at is null or new.wiped_at < last_end) then
    raise exception 'machine % was not wiped since its last service ended at %', old.asset_tag, last_end
      using errcode = 'check_violation', constraint = 'machines_wiped_before_sale';
  end if;
  return new;
end $$;
-- +goose StatementEnd
create trigger machines_guard before insert or delete or update of status, wiped_at on machines
  for each row execute function machines_guard();
