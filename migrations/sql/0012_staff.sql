-- +goose Up

-- When the person last signed in; null for never.
alter table users add column signed_in_at timestamptz;

-- Staff are asked in by one-use links too. Theirs belong to no organisation.
alter table invitations alter column org_id drop not null;
alter table invitations drop constraint invitations_role_check;
alter table invitations add constraint invitations_role_check check (role in ('customer', 'org-admin', 'sales', 'operator'));
alter table invitations add constraint invitations_org_by_role check ((role in ('customer', 'org-admin')) = (org_id is not null));
create unique index invitations_one_open_staff on invitations (email)
  where org_id is null and accepted_at is null and revoked_at is null;

-- Somebody can always look after the rest: one operator who can sign in stays, whoever changes the
-- table. The lock lets two operators who disable each other at the same moment do so one after the
-- other; an old snapshot would not see the other's change.
-- +goose StatementBegin
create function users_keep_operator() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'operators change at READ COMMITTED only, not at %', current_setting('transaction_isolation')
      using errcode = 'invalid_transaction_state', constraint = 'users_isolation';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('ironhold_staff', 0));
  if not exists (select from users where role = 'operator' and disabled_at is null and password_hash <> '') then
    raise exception 'the last operator stays' using errcode = 'check_violation', constraint = 'users_last_operator';
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger users_keep_operator after update of role, disabled_at on users
  for each row when (old.role = 'operator' and old.disabled_at is null and (new.role <> 'operator' or new.disabled_at is not null))
  execute function users_keep_operator();
create trigger users_keep_operator_deleted after delete on users
  for each row when (old.role = 'operator' and old.disabled_at is null)
  execute function users_keep_operator();

grant create on schema public to ironhold_engine;
alter function users_keep_operator() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;
revoke execute on function users_keep_operator() from public;

-- The history of staff, who belong to no organisation, is read by time.
create index account_events_of_staff on account_events (at) where org_id is null;
