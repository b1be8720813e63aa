-- +goose Up

-- What each claim runs through, made cheaper. A function in SQL that has settings of its own is parsed
-- and planned anew whenever it is called; one in PL/pgSQL keeps its plan.
-- +goose StatementBegin
create or replace function ironhold_actor() returns text
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce(nullif(current_setting('app.actor', true), ''), 'database:' || session_user);
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function ironhold_request_id() returns text
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return nullif(current_setting('app.request_id', true), '');
end $$;
-- +goose StatementEnd

-- These are called by the guards, which have set the path already; setting and resetting it once more
-- cost as much as the work inside.
alter function occupancy_isolation() reset search_path;
alter function occupancy_lock_org(uuid) reset search_path;
alter function occupancy_take_machine(uuid) reset search_path;
alter function occupancy_begun_meanwhile(uuid) reset search_path;
