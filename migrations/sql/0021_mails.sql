-- +goose Up

-- Each mail once: one row for each kind, subject and person, written in the transaction that decided.
--   waiting -> queued -> sent | failed
--        +---------+---> skipped      why: nothing to say any more, or mail is not configured
-- The secret of a one-use link is here until the mail has gone, and only where mail is configured.
create table mails (
  id          uuid primary key default ironhold_uuid_v7(),
  kind        text not null check (kind in ('hold_ending', 'service_ready', 'provisioning_failed', 'invitation', 'password_reset', 'machine_free')),
  subject_id  uuid not null,
  person      text not null, -- the user's id, or the address of somebody who is not a user yet
  user_id     uuid references users (id) on delete cascade,
  org_id      uuid references organisations (id),
  secret      text,
  state       text not null default 'waiting' check (state in ('waiting', 'queued', 'sent', 'failed', 'skipped')),
  why         text not null default '',
  attempts    int not null default 0,
  created_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  constraint mails_once unique (kind, subject_id, person),
  constraint mails_finished check ((state in ('waiting', 'queued')) = (finished_at is null)),
  constraint mails_secret_goes check (secret is null or state in ('waiting', 'queued'))
);
create index mails_waiting on mails (id) where state = 'waiting';
create index mails_by_user on mails (user_id);
create index mails_finished_at on mails (finished_at) where finished_at is not null;

-- To whoever did it, when that is a person of the organisation; else, as after an order by a program
-- or by staff, to its administrators.
-- +goose StatementBegin
create function mails_tell(kind text, subject uuid, actor text, org uuid) returns void
language sql volatile set search_path = pg_catalog, public, pg_temp as $$
  insert into mails (kind, subject_id, person, user_id, org_id)
  select kind, subject, u.id::text, u.id, org
    from users u
   where u.org_id = org and u.disabled_at is null
     and case when exists (select from users a where a.org_id = org and a.disabled_at is null and 'user:' || a.id = actor)
              then 'user:' || u.id = actor else u.role = 'org-admin' end
  on conflict do nothing
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function waiting_list_tell() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  perform mails_tell('machine_free', new.id, new.actor, new.org_id);
  return null;
end $$;
-- +goose StatementEnd
create trigger waiting_list_tell after update of state on waiting_list
  for each row when (new.state = 'told' and old.state <> 'told') execute function waiting_list_tell();

-- +goose StatementBegin
create function provisioning_tell() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  ready boolean := new.state = 'done';
begin
  perform webhooks_tell(new.org_id, 'service', new.service_id, case when ready then 'ready' else 'provisioning_failed' end,
    clock_timestamp(), jsonb_build_object('provisioning', new.state));
  perform mails_tell(case when ready then 'service_ready' else 'provisioning_failed' end, new.service_id, s.created_by, new.org_id)
    from services s where s.id = new.service_id;
  return null;
end $$;
-- +goose StatementEnd
-- +goose StatementBegin
do $$
begin
  if to_regclass('public.provisionings') is not null then
    create trigger provisioning_tell after update of state on provisionings
      for each row when (new.kind = 'install' and new.state in ('done', 'failed') and old.state not in ('done', 'failed'))
      execute function provisioning_tell();
  end if;
end $$;
-- +goose StatementEnd

grant select, insert, update, delete on mails to ironhold_engine;

grant create on schema public to ironhold_engine;
alter function waiting_list_tell() owner to ironhold_engine;
alter function provisioning_tell() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;
revoke execute on function mails_tell(text, uuid, text, uuid), waiting_list_tell(), provisioning_tell() from public;
grant execute on function mails_tell(text, uuid, text, uuid) to ironhold_engine;
