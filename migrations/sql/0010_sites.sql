-- +goose Up

-- Within how many hours of the confirmation a machine of the site is ready; null: on request.
alter table sites add column delivery_hours int check (delivery_hours between 1 and 8760);

-- Append-only: who said what about a site.
create table site_events (
  id         uuid primary key default ironhold_uuid_v7(),
  at         timestamptz not null default clock_timestamp(),
  site_code  text not null references sites (code),
  actor      text not null,
  request_id text,
  before     jsonb,
  after      jsonb not null
);
create index site_events_by_site on site_events (site_code, at);

-- +goose StatementBegin
create function sites_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'UPDATE' and new is not distinct from old then
    return null;
  end if;
  insert into site_events (site_code, actor, request_id, before, after)
  values (new.code, ironhold_actor(), ironhold_request_id(), case when tg_op = 'UPDATE' then to_jsonb(old) end, to_jsonb(new));
  return null;
end $$;
-- +goose StatementEnd
create trigger sites_history after insert or update on sites for each row execute function sites_history();

grant select, insert on site_events to ironhold_engine;
alter table site_events enable row level security, force row level security;

grant create on schema public to ironhold_engine;
alter function sites_history() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;
revoke execute on function sites_history() from public;
