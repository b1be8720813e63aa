-- +goose Up

-- Who asked to be told when a machine comes free: constraints, kept as they were asked.
create table waiting_list (
  id         uuid primary key default ironhold_uuid_v7(),
  org_id     uuid not null references organisations (id),
  actor      text not null default ironhold_actor(),
  request    jsonb not null,
  attempt_id uuid,
  state      text not null default 'waiting' check (state in ('waiting', 'told', 'cancelled')),
  created_at timestamptz not null default clock_timestamp(),
  told_at    timestamptz,
  machine_id uuid references machines (id),
  closed_at  timestamptz,
  constraint waiting_list_told check ((state = 'told') = (told_at is not null and machine_id is not null))
);
-- Asking twice for the same is one entry.
create unique index waiting_list_once on waiting_list (org_id, request) where state = 'waiting';
create index waiting_list_waiting on waiting_list (created_at) where state = 'waiting';
create index waiting_list_by_org on waiting_list (org_id, id);
create index waiting_list_told on waiting_list (told_at) where state = 'told';

alter table waiting_list enable row level security, force row level security;
create policy own_organisation on waiting_list for select to ironhold_web using (org_id = ironhold_org());
grant select on waiting_list to ironhold_web, ironhold_engine;
grant insert, update on waiting_list to ironhold_engine;
