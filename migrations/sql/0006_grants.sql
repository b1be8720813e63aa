-- +goose Up

-- ironhold_web reads what belongs to the organisation of its transaction and changes nothing that
-- occupies. ironhold_engine decides across organisations; neither owns a table.
grant usage on schema public to ironhold_web, ironhold_engine;

grant select on all tables in schema public to ironhold_engine;
grant insert, update on organisations, org_limits, users, sessions, api_tokens, sites, machines, holds, services,
  rollout_launch to ironhold_engine;
grant delete on sessions to ironhold_engine;
grant insert on machine_classes, hold_events, service_events, machine_events, allocation_attempts, rollout_events,
  limit_events to ironhold_engine;
grant update on catalogue_version to ironhold_engine;
grant delete on machines to ironhold_engine;

grant select on sites, machine_classes, machines, holds, services, hold_events, service_events, organisations, org_limits,
  users, api_tokens, hold_states, rollout_launch, rollout_events, limit_events, allocation_attempts to ironhold_web;

-- Row-level security is the second arbiter: the first is the condition in each query.
alter table organisations enable row level security, force row level security;
alter table org_limits enable row level security, force row level security;
alter table users enable row level security, force row level security;
alter table api_tokens enable row level security, force row level security;
alter table machines enable row level security, force row level security;
alter table holds enable row level security, force row level security;
alter table services enable row level security, force row level security;
alter table hold_events enable row level security, force row level security;
alter table service_events enable row level security, force row level security;
alter table allocation_attempts enable row level security, force row level security;
alter table rollout_events enable row level security, force row level security;
alter table limit_events enable row level security, force row level security;

create policy own_organisation on organisations for select to ironhold_web using (id = ironhold_org());
create policy own_organisation on org_limits for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on users for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on api_tokens for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on holds for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on services for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on hold_events for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on service_events for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on allocation_attempts for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on limit_events for select to ironhold_web using (org_id = ironhold_org());
create policy own_organisation on rollout_events for select to ironhold_web
  using (org_id = ironhold_org() or org_id is null);
-- The machines that the organisation holds, held or rents.
create policy own_machines on machines for select to ironhold_web
  using (exists (select from holds h where h.machine_id = machines.id and h.org_id = ironhold_org()));

-- Triggers that must see every organisation run as the engine: as the invoker, row-level security
-- would blind them.
grant create on schema public to ironhold_engine;
alter function machines_classify() owner to ironhold_engine;
alter function machines_guard() owner to ironhold_engine;
alter function machines_history() owner to ironhold_engine;
alter function machines_added() owner to ironhold_engine;
alter function holds_guard() owner to ironhold_engine;
alter function holds_history() owner to ironhold_engine;
alter function holds_converted_has_service() owner to ironhold_engine;
alter function services_guard() owner to ironhold_engine;
alter function services_history() owner to ironhold_engine;
alter function services_hold_converted() owner to ironhold_engine;
alter function services_machine_agrees() owner to ironhold_engine;
alter function rollout_history() owner to ironhold_engine;
alter function org_limits_history() owner to ironhold_engine;
revoke create on schema public from ironhold_engine;

-- Nobody else may call the functions: with EXECUTE, a stranger could hang the trigger functions on a
-- table of its own and let the engine write what it likes.
revoke execute on all functions in schema public from public;
grant execute on all functions in schema public to ironhold_engine;
grant execute on function ironhold_org(), ironhold_actor(), ironhold_request_id(), ironhold_uuid_v7() to ironhold_web;
revoke create on schema public from public;
