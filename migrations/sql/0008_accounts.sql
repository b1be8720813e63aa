-- +goose Up

-- What people see of their sessions: an identifier that is no secret, and from where.
alter table sessions add column id uuid not null default ironhold_uuid_v7();
alter table sessions add column network text not null default '';
create unique index sessions_by_id on sessions (id);

-- Failed sign-ins by account within a window, for all processes. The key is a hash of the address
-- that was typed, whether or not somebody has it: nothing here tells which addresses exist.
create table sign_in_failures (
  account  bytea primary key,
  failures int not null check (failures > 0),
  since    timestamptz not null default clock_timestamp()
);
create index sign_in_failures_by_time on sign_in_failures (since);

-- One-use links. Only a hash of the secret is kept.
create table invitations (
  id         uuid primary key default ironhold_uuid_v7(),
  org_id     uuid not null references organisations (id),
  email      text not null check (email = lower(email) and email ~ '^[^@[:space:]]+@[^@[:space:]]+$' and length(email) <= 254),
  role       text not null check (role in ('customer', 'org-admin')),
  token_hash bytea not null unique,
  created_at timestamptz not null default clock_timestamp(),
  created_by text not null default ironhold_actor(),
  expires_at timestamptz not null,
  user_id    uuid references users (id),
  accepted_at timestamptz,
  revoked_at timestamptz,
  constraint invitations_one_end check (accepted_at is null or revoked_at is null),
  constraint invitations_accepted_by check ((accepted_at is null) = (user_id is null))
);
-- A second invitation of the same address takes the first one's place.
create unique index invitations_one_open on invitations (org_id, email) where accepted_at is null and revoked_at is null;
create index invitations_by_org on invitations (org_id, id);

create table password_resets (
  id         uuid primary key default ironhold_uuid_v7(),
  user_id    uuid not null references users (id),
  token_hash bytea not null unique,
  created_at timestamptz not null default clock_timestamp(),
  created_by text not null default ironhold_actor(),
  expires_at timestamptz not null,
  used_at    timestamptz,
  revoked_at timestamptz
);
create unique index password_resets_one_open on password_resets (user_id) where used_at is null and revoked_at is null;

-- Append-only: what happened to people, tokens, invitations and organisations. org_id is null for
-- staff. The name is kept as it was then.
create table account_events (
  id           uuid primary key default ironhold_uuid_v7(),
  at           timestamptz not null default clock_timestamp(),
  org_id       uuid references organisations (id),
  subject      text not null check (subject in ('member', 'token', 'invitation', 'organisation')),
  subject_id   uuid not null,
  subject_name text not null,
  event        text not null,
  actor        text not null,
  request_id   text,
  before       jsonb,
  after        jsonb not null
);
create index account_events_by_org on account_events (org_id, at);
create index account_events_by_subject on account_events (subject_id, at);

-- The history of an organisation is read by time.
create index hold_events_by_org on hold_events (org_id, at);
create index service_events_by_org on service_events (org_id, at);

-- +goose StatementBegin
create function account_event(org uuid, subject text, id uuid, name text, event text, before jsonb, after jsonb) returns void
language sql volatile set search_path = pg_catalog, public, pg_temp as $$
  insert into account_events (org_id, subject, subject_id, subject_name, event, actor, request_id, before, after)
  values (org, subject, id, name, event, ironhold_actor(), ironhold_request_id(), before, after)
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function users_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    perform account_event(new.org_id, 'member', new.id, new.name, 'added', null, jsonb_build_object('role', new.role, 'email', new.email));
    return null;
  end if;
  if new.role <> old.role then
    perform account_event(new.org_id, 'member', new.id, new.name, 'role', jsonb_build_object('role', old.role), jsonb_build_object('role', new.role));
  end if;
  if new.email <> old.email or new.name <> old.name then
    perform account_event(new.org_id, 'member', new.id, new.name, 'renamed',
      jsonb_build_object('name', old.name, 'email', old.email), jsonb_build_object('name', new.name, 'email', new.email));
  end if;
  if (new.disabled_at is null) <> (old.disabled_at is null) then
    perform account_event(new.org_id, 'member', new.id, new.name, case when new.disabled_at is null then 'enabled' else 'disabled' end, null, '{}');
  end if;
  -- That it changed, never to what.
  if new.password_hash <> old.password_hash then
    perform account_event(new.org_id, 'member', new.id, new.name, 'password', null, '{}');
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger users_history after insert or update of role, email, name, disabled_at, password_hash on users
  for each row execute function users_history();

-- +goose StatementBegin
create function api_tokens_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    perform account_event(new.org_id, 'token', new.id, new.name, 'added', null, jsonb_build_object('role', new.role));
  elsif (new.revoked_at is null) <> (old.revoked_at is null) then
    perform account_event(new.org_id, 'token', new.id, new.name, case when new.revoked_at is null then 'restored' else 'revoked' end, null, '{}');
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger api_tokens_history after insert or update of revoked_at on api_tokens
  for each row execute function api_tokens_history();

-- +goose StatementBegin
create function invitations_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    perform account_event(new.org_id, 'invitation', new.id, new.email, 'added', null, jsonb_build_object('role', new.role));
  elsif (new.revoked_at is null) <> (old.revoked_at is null) then
    perform account_event(new.org_id, 'invitation', new.id, new.email, 'revoked', null, '{}');
  elsif (new.accepted_at is null) <> (old.accepted_at is null) then
    perform account_event(new.org_id, 'invitation', new.id, new.email, 'accepted', null, jsonb_build_object('user_id', new.user_id));
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger invitations_history after insert or update of accepted_at, revoked_at on invitations
  for each row execute function invitations_history();

-- +goose StatementBegin
create function password_resets_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  perform account_event(u.org_id, 'member', u.id, u.name, 'reset_link', null, '{}') from users u where u.id = new.user_id;
  return null;
end $$;
-- +goose StatementEnd
create trigger password_resets_history after insert on password_resets
  for each row execute function password_resets_history();

-- The reason of a suspension is for staff and stays where it is.
-- +goose StatementBegin
create function organisations_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if (new.suspended_at is null) <> (old.suspended_at is null) then
    perform account_event(new.id, 'organisation', new.id, new.name, case when new.suspended_at is null then 'resumed' else 'suspended' end, null, '{}');
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger organisations_history after update of suspended_at on organisations
  for each row execute function organisations_history();

-- Grants and row-level security, as for the other tables.
grant select, insert, update, delete on sign_in_failures to ironhold_engine;
grant select, insert, update on invitations, password_resets to ironhold_engine;
grant select, insert on account_events to ironhold_engine;
grant select on invitations, account_events to ironhold_web;

alter table invitations enable row level security, force row level security;
alter table account_events enable row level security, force row level security;
create policy own_organisation on invitations for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on account_events for select to ironhold_web using (org_id = ironhold_org());

grant create on schema public to ironhold_engine;
alter function users_history() owner to ironhold_engine;
alter function api_tokens_history() owner to ironhold_engine;
alter function invitations_history() owner to ironhold_engine;
alter function password_resets_history() owner to ironhold_engine;
alter function organisations_history() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;

revoke execute on function account_event(uuid, text, uuid, text, text, jsonb, jsonb), users_history(), api_tokens_history(),
  invitations_history(), password_resets_history(), organisations_history() from public;
grant execute on function account_event(uuid, text, uuid, text, text, jsonb, jsonb) to ironhold_engine;
