-- +goose Up

-- Why somebody let a suspended organisation begin holds again, the last time.
alter table organisations add column resumed_reason text;

-- Append-only: who suspended an organisation and let it go on, and why. For staff: the organisation
-- itself reads in account_events that it happened and when, and nothing of the reasons.
create table organisation_events (
  id         uuid primary key default ironhold_uuid_v7(),
  at         timestamptz not null default clock_timestamp(),
  org_id     uuid not null references organisations (id),
  event      text not null check (event in ('suspended', 'resumed')),
  reason     text not null constraint organisation_events_reason check (btrim(reason) <> '' and length(reason) <= 500),
  actor      text not null,
  request_id text
);
create index organisation_events_by_org on organisation_events (org_id, at);

-- Those that are suspended now.
insert into organisation_events (at, org_id, event, reason, actor)
select suspended_at, id, 'suspended', coalesce(nullif(btrim(left(suspended_reason, 500)), ''), '-'), coalesce(suspended_by, 'database:' || current_user)
  from organisations where suspended_at is not null;

-- Without a reason there is neither.
-- +goose StatementBegin
create function organisations_reasons() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if (new.suspended_at is null) <> (old.suspended_at is null) then
    insert into organisation_events (org_id, event, reason, actor, request_id)
    values (new.id, case when new.suspended_at is null then 'resumed' else 'suspended' end,
      coalesce(case when new.suspended_at is null then new.resumed_reason else new.suspended_reason end, ''),
      ironhold_actor(), ironhold_request_id());
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger organisations_reasons after update of suspended_at on organisations
  for each row execute function organisations_reasons();

grant select, insert on organisation_events to ironhold_engine;
alter table organisation_events enable row level security, force row level security;

grant create on schema public to ironhold_engine;
alter function organisations_reasons() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;
revoke execute on function organisations_reasons() from public;
