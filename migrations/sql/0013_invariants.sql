-- +goose Up

-- How each invariant stood when it was last asked. One row each, overwritten: scraped by metrics and
-- shown to operators by every process, whichever ran the check.
create table invariant_states (
  name       text primary key,
  violations int not null check (violations >= 0),
  example    text not null default '',
  checked_at timestamptz not null default clock_timestamp()
);

-- The machines that a violation named. While gone_at is null the violation was there at the last
-- check; withdrawn_at says when the machine left sale because of it. It leaves once for each violation:
-- a person who puts it back on sale, with a reason, has seen it. A violation that was gone and is found
-- again counts as new.
create table machine_alarms (
  machine_id   uuid not null references machines (id) on delete cascade,
  name         text not null,
  what         text not null,
  since        timestamptz not null default clock_timestamp(),
  withdrawn_at timestamptz,
  gone_at      timestamptz,
  primary key (machine_id, name, what)
);
create index machine_alarms_open on machine_alarms (machine_id) where gone_at is null;

grant select, insert, update on invariant_states, machine_alarms to ironhold_engine;
grant delete on invariant_states to ironhold_engine;
