-- +goose Up

-- What sales asks to be bought, because orders were refused for want of it.
create table purchase_requests (
  id         uuid primary key default ironhold_uuid_v7(),
  site_code  text not null references sites (code),
  request    jsonb not null,
  attempt_id uuid,
  state      text not null default 'open' check (state in ('open', 'ordered', 'declined')),
  note       text not null default '' check (length(note) <= 2000),
  created_at timestamptz not null default clock_timestamp(),
  created_by text not null default ironhold_actor(),
  changed_at timestamptz not null default clock_timestamp(),
  changed_by text not null default ironhold_actor()
);
-- Asking twice for the same is one entry while it is open.
create unique index purchase_requests_once on purchase_requests (site_code, request) where state = 'open';
create index purchase_requests_by_state on purchase_requests (state, id);

-- Append-only: what became of a purchase request.
create table purchase_request_events (
  id          uuid primary key default ironhold_uuid_v7(),
  at          timestamptz not null default clock_timestamp(),
  purchase_id uuid not null references purchase_requests (id),
  actor       text not null,
  request_id  text,
  before      text,
  after       text not null,
  note        text not null
);
create index purchase_request_events_by_request on purchase_request_events (purchase_id, at);

-- +goose StatementBegin
create function purchase_requests_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into purchase_request_events (purchase_id, actor, request_id, before, after, note)
  values (new.id, ironhold_actor(), ironhold_request_id(), case when tg_op = 'UPDATE' then old.state end, new.state, new.note);
  return null;
end $$;
-- +goose StatementEnd
create trigger purchase_requests_history after insert or update on purchase_requests
  for each row execute function purchase_requests_history();

-- What staff tell each other about organisations, holds and services. Customers never see it: the
-- web role has no right on it at all. Append-only.
create table notes (
  id         uuid primary key default ironhold_uuid_v7(),
  at         timestamptz not null default clock_timestamp(),
  subject    text not null check (subject in ('organisation', 'hold', 'service')),
  subject_id uuid not null,
  body       text not null check (body <> '' and length(body) <= 2000),
  actor      text not null default ironhold_actor(),
  request_id text default ironhold_request_id()
);
create index notes_by_subject on notes (subject, subject_id, at);

-- Files that wait for their confirmation, a quarter of an hour at most.
create table import_uploads (
  id         uuid primary key default ironhold_uuid_v7(),
  at         timestamptz not null default clock_timestamp(),
  actor      text not null default ironhold_actor(),
  name       text not null,
  hash       bytea not null,
  content    bytea not null
);
create index import_uploads_by_time on import_uploads (at);

grant select, insert, update on purchase_requests to ironhold_engine;
grant select, insert on purchase_request_events, notes to ironhold_engine;
grant select, insert, delete on import_uploads to ironhold_engine;

alter table purchase_requests enable row level security, force row level security;
alter table purchase_request_events enable row level security, force row level security;
alter table notes enable row level security, force row level security;
alter table import_uploads enable row level security, force row level security;

grant create on schema public to ironhold_engine;
alter function purchase_requests_history() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;
revoke execute on function purchase_requests_history() from public;
