-- +goose Up

-- Where an organisation wants to be told of its holds and services. The secrets are kept as they are,
-- since each message is signed with them; the web role cannot read them. While old_secret_until lies
-- ahead, messages are signed with both.
create table webhook_endpoints (
  id               uuid primary key default ironhold_uuid_v7(),
  org_id           uuid not null references organisations (id),
  url              text not null check (length(url) between 1 and 2000),
  description      text not null default '' check (length(description) <= 200),
  holds            boolean not null,
  services         boolean not null,
  secret           bytea not null check (length(secret) between 24 and 64),
  old_secret       bytea check (length(old_secret) between 24 and 64),
  old_secret_until timestamptz,
  rotated_at       timestamptz,
  created_at       timestamptz not null default clock_timestamp(),
  created_by       text not null default ironhold_actor(),
  disabled_at      timestamptz,
  disabled_why     text not null default '' check (disabled_why in ('', 'admin', 'gone')),
  removed_at       timestamptz,
  constraint webhook_endpoints_wants_something check (holds or services),
  constraint webhook_endpoints_disabled check ((disabled_at is null) = (disabled_why = '')),
  constraint webhook_endpoints_old_secret check ((old_secret is null) = (old_secret_until is null))
);
create index webhook_endpoints_by_org on webhook_endpoints (org_id, id);
create unique index webhook_endpoints_url on webhook_endpoints (org_id, url) where removed_at is null;

-- What happened, written in the transaction in which it happened. The relay gives each message its
-- sequence number and its body, which is then the same at each attempt.
create table webhook_messages (
  id          uuid primary key default ironhold_uuid_v7(),
  org_id      uuid not null,
  kind        text not null check (kind in ('hold', 'service', 'test')),
  subject_id  uuid not null,
  event       text not null,
  at          timestamptz not null default clock_timestamp(),
  facts       jsonb not null default '{}',
  endpoint_id uuid references webhook_endpoints (id), -- a test goes to this one alone
  sequence    bigint,
  body        bytea,
  relayed_at  timestamptz,
  constraint webhook_messages_test check ((kind = 'test') = (endpoint_id is not null)),
  constraint webhook_messages_relayed check ((relayed_at is null) = (body is null))
);
create index webhook_messages_to_relay on webhook_messages (at, id) where relayed_at is null;
create index webhook_messages_by_time on webhook_messages (relayed_at) where relayed_at is not null;
create unique index webhook_messages_in_order on webhook_messages (subject_id, sequence) where sequence is not null;

-- The last sequence number of each hold and service; it outlives the messages.
create table webhook_sequences (
  subject_id uuid primary key,
  last       bigint not null
);

-- One message to one endpoint.
--   waiting -> queued -> delivered | failed | dropped -> waiting (once more, by a person)
-- round counts those; a job of an earlier round does nothing.
create table webhook_deliveries (
  id           uuid primary key default ironhold_uuid_v7(),
  org_id       uuid not null,
  message_id   uuid not null references webhook_messages (id) on delete cascade,
  endpoint_id  uuid not null references webhook_endpoints (id),
  state        text not null default 'waiting' check (state in ('waiting', 'queued', 'delivered', 'failed', 'dropped')),
  round        int not null default 1,
  attempts     int not null default 0,
  attempted_at timestamptz,
  next_at      timestamptz,
  status       int,
  reason       text not null default '', -- why there was no answer
  answer       text not null default '',
  took_ms      int,
  created_at   timestamptz not null default clock_timestamp(),
  constraint webhook_deliveries_once unique (message_id, endpoint_id)
) with (fillfactor = 80);
create index webhook_deliveries_waiting on webhook_deliveries (endpoint_id, id) where state = 'waiting';
create index webhook_deliveries_queued on webhook_deliveries (endpoint_id) where state = 'queued';
create index webhook_deliveries_by_endpoint on webhook_deliveries (endpoint_id, id);

-- Where nobody listens, which is nearly everywhere, these look once into a small index. The functions are
-- in PL/pgSQL, which keeps its plans: one in SQL would be planned anew for each row, which cost more than
-- the rest of an order. No lock is taken, so that telling never holds up what is told.
-- +goose StatementBegin
create function webhooks_tell(org uuid, kind text, subject uuid, event text, at timestamptz, facts jsonb) returns void
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  if exists (select from webhook_endpoints e where e.org_id = org and e.disabled_at is null and e.removed_at is null) then
    insert into webhook_messages (org_id, kind, subject_id, event, at, facts) values (org, kind, subject, event, at, facts);
  end if;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create function hold_events_tell() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if exists (select from webhook_endpoints e where e.org_id = new.org_id and e.disabled_at is null and e.removed_at is null) then
    insert into webhook_messages (org_id, kind, subject_id, event, at, facts)
    values (new.org_id, 'hold', new.hold_id, new.event, new.at, new.after);
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger hold_events_tell after insert on hold_events for each row execute function hold_events_tell();

-- +goose StatementBegin
create function service_events_tell() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  perform webhooks_tell(new.org_id, 'service', new.service_id, new.event, new.at, new.after);
  return null;
end $$;
-- +goose StatementEnd
create trigger service_events_tell after insert on service_events for each row execute function service_events_tell();

-- Who changed an endpoint is part of the organisation's history. Which kinds of subjects there are is
-- for whoever writes them.
alter table account_events drop constraint account_events_subject_check;
alter table account_events add constraint account_events_subject_check check (subject ~ '^[a-z][a-z_]{0,39}$');

-- +goose StatementBegin
create function webhook_endpoints_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  what text;
begin
  what := case
    when tg_op = 'INSERT' then 'added'
    when old.removed_at is null and new.removed_at is not null then 'removed'
    when old.disabled_at is null and new.disabled_at is not null then case new.disabled_why when 'gone' then 'gone' else 'disabled' end
    when old.disabled_at is not null and new.disabled_at is null then 'enabled'
    when new.secret <> old.secret then 'rotated' end;
  if what is not null then
    -- The address may carry a token of the receiver's: its host is enough.
    perform account_event(new.org_id, 'webhook', new.id, coalesce(substring(new.url from '^[a-z]+://([^/?#]+)'), '-'), what, null, '{}');
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger webhook_endpoints_history after insert or update of removed_at, disabled_at, secret on webhook_endpoints
  for each row execute function webhook_endpoints_history();

grant select, insert, update on webhook_endpoints, webhook_sequences to ironhold_engine;
grant select, insert, update, delete on webhook_messages, webhook_deliveries to ironhold_engine;
grant select (id, org_id, url, description, holds, services, old_secret_until, rotated_at, created_at, created_by, disabled_at,
  disabled_why, removed_at) on webhook_endpoints to ironhold_web;
grant select on webhook_messages, webhook_deliveries to ironhold_web;

alter table webhook_endpoints enable row level security, force row level security;
alter table webhook_messages enable row level security, force row level security;
alter table webhook_deliveries enable row level security, force row level security;
create policy own_organisation on webhook_endpoints for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on webhook_messages for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on webhook_deliveries for select to ironhold_web using (org_id = ironhold_org());

grant create on schema public to ironhold_engine;
alter function hold_events_tell() owner to ironhold_engine;
alter function service_events_tell() owner to ironhold_engine;
alter function webhook_endpoints_history() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;
revoke execute on function webhooks_tell(uuid, text, uuid, text, timestamptz, jsonb), hold_events_tell(), service_events_tell(),
  webhook_endpoints_history() from public;
grant execute on function webhooks_tell(uuid, text, uuid, text, timestamptz, jsonb) to ironhold_engine;
