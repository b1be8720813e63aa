-- +goose Up

-- Identifiers are UUID version 7, so that they sort by time. The application makes its own;
-- the default serves whoever writes plain SQL.
-- +goose StatementBegin
create function ironhold_uuid_v7() returns uuid
language plpgsql volatile parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  ms    bigint := floor(extract(epoch from clock_timestamp()) * 1000);
  bytes bytea  := uuid_send(gen_random_uuid());
begin
  for i in 0..5 loop
    bytes := set_byte(bytes, i, ((ms >> (8 * (5 - i))) & 255)::int);
  end loop;
  bytes := set_byte(bytes, 6, (get_byte(bytes, 6) & 15) | 112);
  return encode(bytes, 'hex')::uuid;
end $$;
-- +goose StatementEnd

-- Who acts, for the history that triggers write: set per transaction by the application.
-- +goose StatementBegin
create function ironhold_actor() returns text
language sql stable parallel safe set search_path = pg_catalog, pg_temp as $$
  select coalesce(nullif(current_setting('app.actor', true), ''), 'database:' || session_user)
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function ironhold_request_id() returns text
language sql stable parallel safe set search_path = pg_catalog, pg_temp as $$
  select nullif(current_setting('app.request_id', true), '')
$$;
-- +goose StatementEnd

-- The organisation of the transaction, for row-level security. After a transaction the setting
-- reads '' and not NULL, hence the nullif.
-- +goose StatementBegin
create function ironhold_org() returns uuid
language sql stable parallel safe as $$
  select nullif(current_setting('app.org_id', true), '')::uuid
$$;
-- +goose StatementEnd

create table organisations (
  id               uuid primary key default ironhold_uuid_v7(),
  slug             text not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  name             text not null check (length(btrim(name)) between 1 and 200),
  created_at       timestamptz not null default clock_timestamp(),
  suspended_at     timestamptz,
  suspended_by     text,
  suspended_reason text
);

-- The organisation's lock row: whatever makes or keeps a hold live locks it first. The caps and
-- the rollout setting live here on purpose: they are read under this lock.
create table org_limits (
  org_id       uuid primary key references organisations (id),
  max_holds    int  not null default 5  check (max_holds >= 0),
  max_machines int  not null default 50 check (max_machines >= 0),
  rollout      text not null default 'inherit' check (rollout in ('inherit', 'on', 'off')),
  changed_at   timestamptz not null default clock_timestamp(),
  changed_by   text not null default ironhold_actor()
) with (fillfactor = 70);

create table users (
  id            uuid primary key default ironhold_uuid_v7(),
  org_id        uuid references organisations (id),
  email         text not null check (email = lower(email) and email ~ '^[^@[:space:]]+@[^@[:space:]]+$' and length(email) <= 254),
  name          text not null check (length(btrim(name)) between 1 and 200),
  role          text not null check (role in ('customer', 'org-admin', 'sales', 'operator')),
  password_hash text not null default '',
  time_zone     text not null default 'UTC',
  language      text not null default '',
  created_at    timestamptz not null default clock_timestamp(),
  disabled_at   timestamptz,
  constraint users_email unique (email),
  -- Customers and org admins belong to an organisation, staff belong to none.
  constraint users_org_by_role check ((role in ('customer', 'org-admin')) = (org_id is not null))
);
create index users_by_org on users (org_id);

create table sessions (
  token        text primary key,
  user_id      uuid references users (id) on delete cascade,
  data         bytea not null,
  expiry       timestamptz not null,
  created_at   timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  user_agent   text not null default ''
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expiry);

create table api_tokens (
  id           uuid primary key default ironhold_uuid_v7(),
  org_id       uuid references organisations (id),
  name         text not null check (length(btrim(name)) between 1 and 200),
  role         text not null check (role in ('customer', 'org-admin', 'sales', 'operator')),
  hash         bytea not null unique,
  created_at   timestamptz not null default clock_timestamp(),
  created_by   text not null default ironhold_actor(),
  last_used_at timestamptz,
  revoked_at   timestamptz,
  constraint api_tokens_org_by_role check ((role in ('customer', 'org-admin')) = (org_id is not null))
);
create index api_tokens_by_org on api_tokens (org_id);
