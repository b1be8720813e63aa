-- +goose Up

-- What a person can prove besides a password: passkeys, codes of an app, codes written down, and an
-- account at the company's own sign-in. Public keys and hashes but for the secrets of apps, which the
-- server must know to check a code.
create table passkeys (
  id            uuid primary key default ironhold_uuid_v7(),
  user_id       uuid not null references users (id) on delete cascade,
  credential_id bytea not null unique check (length(credential_id) between 1 and 1023),
  credential    jsonb not null,
  name          text not null check (length(btrim(name)) between 1 and 100),
  created_at    timestamptz not null default clock_timestamp(),
  last_used_at  timestamptz
);
create index passkeys_by_user on passkeys (user_id, id);

-- A code is taken once: last_step is the step of thirty seconds of the last one taken.
create table totp_secrets (
  user_id      uuid primary key references users (id) on delete cascade,
  secret       bytea not null check (length(secret) between 16 and 64),
  created_at   timestamptz not null default clock_timestamp(),
  confirmed_at timestamptz,
  last_step    bigint not null default 0
);

create table recovery_codes (
  user_id    uuid not null references users (id) on delete cascade,
  hash       bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  used_at    timestamptz,
  primary key (user_id, hash)
);

-- An account elsewhere is its issuer and subject, never an address.
create table identities (
  issuer       text not null check (length(issuer) between 1 and 500),
  subject      text not null check (length(subject) between 1 and 255),
  user_id      uuid not null references users (id) on delete cascade,
  created_at   timestamptz not null default clock_timestamp(),
  last_used_at timestamptz,
  primary key (issuer, subject),
  constraint identities_one_per_user unique (user_id, issuer)
);

-- +goose StatementBegin
create function factors_history() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  person uuid := case when tg_op = 'DELETE' then old.user_id else new.user_id end;
  what   text := tg_argv[0] || case tg_op when 'INSERT' then '_added' when 'DELETE' then '_removed' else '_on' end;
begin
  perform account_event(u.org_id, 'member', u.id, u.name, what, null, '{}') from users u where u.id = person;
  return null;
end $$;
-- +goose StatementEnd
create trigger passkeys_history after insert or delete on passkeys for each row execute function factors_history('passkey');
create trigger identities_history after insert or delete on identities for each row execute function factors_history('identity');
create trigger totp_history_on after update of confirmed_at on totp_secrets
  for each row when (old.confirmed_at is null and new.confirmed_at is not null) execute function factors_history('totp');
create trigger totp_history_off after delete on totp_secrets
  for each row when (old.confirmed_at is not null) execute function factors_history('totp');
create trigger recovery_codes_history after update of used_at on recovery_codes
  for each row when (old.used_at is null and new.used_at is not null) execute function factors_history('recovery');

grant select, insert, update, delete on passkeys, totp_secrets, recovery_codes, identities to ironhold_engine;

grant create on schema public to ironhold_engine;
alter function factors_history() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;
revoke execute on function factors_history() from public;
