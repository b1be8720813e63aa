-- +goose Up

-- The launch state of the module, set by an operator: off is the default and final.
create table rollout_launch (
  only_row   boolean primary key default true check (only_row),
  launch     text not null default 'off' check (launch ~ '^(off|opt-in|on|([0-9]|[1-9][0-9]|100)%)$'),
  changed_at timestamptz not null default clock_timestamp(),
  changed_by text not null default ironhold_actor()
);
insert into rollout_launch (launch) values ('off');

-- Append-only: who changed what, for the launch (org_id null) and for an organisation.
create table rollout_events (
  id         uuid primary key default ironhold_uuid_v7(),
  at         timestamptz not null default clock_timestamp(),
  org_id     uuid references organisations (id),
  actor      text not null,
  request_id text,
  before     text not null,
  after      text not null
);
create index rollout_events_by_org on rollout_events (org_id, at);

-- +goose StatementBegin
create function rollout_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_table_name = 'rollout_launch' then
    if new.launch <> old.launch then
      insert into rollout_events (org_id, actor, request_id, before, after)
      values (null, ironhold_actor(), ironhold_request_id(), old.launch, new.launch);
    end if;
  elsif new.rollout <> old.rollout then
    insert into rollout_events (org_id, actor, request_id, before, after)
    values (new.org_id, ironhold_actor(), ironhold_request_id(), old.rollout, new.rollout);
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger rollout_history after update of launch on rollout_launch
  for each row execute function rollout_history();
create trigger rollout_history after update of rollout on org_limits
  for each row execute function rollout_history();

-- Caps are history too: an organisation above its cap is a fault unless an event lowered it.
create table limit_events (
  id         uuid primary key default ironhold_uuid_v7(),
  at         timestamptz not null default clock_timestamp(),
  org_id     uuid not null references organisations (id),
  actor      text not null,
  request_id text,
  before     jsonb,
  after      jsonb not null
);
create index limit_events_by_org on limit_events (org_id, at);

-- +goose StatementBegin
create function org_limits_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if (new.max_holds, new.max_machines) <> (old.max_holds, old.max_machines) then
    insert into limit_events (org_id, actor, request_id, before, after)
    values (new.org_id, ironhold_actor(), ironhold_request_id(),
      jsonb_build_object('max_holds', old.max_holds, 'max_machines', old.max_machines),
      jsonb_build_object('max_holds', new.max_holds, 'max_machines', new.max_machines));
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger org_limits_history after update of max_holds, max_machines on org_limits
  for each row execute function org_limits_history();
