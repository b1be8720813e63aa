-- +goose Up

-- A new address that somebody wants to sign in with. It counts once the link in the mail to it is opened.
-- Only a hash of the secret is kept. Where no mail is sent, an operator makes the link.
create table email_changes (
  id         uuid primary key default ironhold_uuid_v7(),
  user_id    uuid not null references users (id),
  email      text not null check (email = lower(email) and email ~ '^[^@[:space:]]+@[^@[:space:]]+$' and length(email) <= 254),
  token_hash bytea not null unique,
  created_at timestamptz not null default clock_timestamp(),
  created_by text not null default ironhold_actor(),
  expires_at timestamptz not null,
  used_at    timestamptz,
  revoked_at timestamptz,
  constraint email_changes_one_end check (used_at is null or revoked_at is null)
);
-- A second wish takes the first one's place: the link to one address never confirms another.
create unique index email_changes_one_open on email_changes (user_id) where used_at is null and revoked_at is null;

-- The new address is nobody else's business before it counts; then users_history says it.
-- +goose StatementBegin
create function email_changes_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  perform account_event(u.org_id, 'member', u.id, u.name, 'email_asked', null, '{}') from users u where u.id = new.user_id;
  return null;
end $$;
-- +goose StatementEnd
create trigger email_changes_history after insert on email_changes
  for each row execute function email_changes_history();

-- email_change goes to the new address, email_changed to the old one: both are in person.
alter table mails drop constraint mails_kind_check;
alter table mails add constraint mails_kind_check check (kind in ('hold_ending', 'service_ready', 'provisioning_failed', 'invitation',
  'password_reset', 'machine_free', 'email_change', 'email_changed'));

grant select, insert, update on email_changes to ironhold_engine;
alter table email_changes enable row level security, force row level security;

grant create on schema public to ironhold_engine;
alter function email_changes_history() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;
revoke execute on function email_changes_history() from public;
