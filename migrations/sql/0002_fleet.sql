-- +goose Up

create table sites (
  code      text primary key check (code ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$'),
  name      text not null,
  country   text not null default '',
  time_zone text not null default 'UTC'
);

-- The distinct sellable configurations of a site: few in a large fleet, nearly one per machine in
-- an auction fleet. Rows never change: a machine whose facts change moves to another class, so
-- that processes may keep classes in memory for ever.
create table machine_classes (
  id                int primary key generated always as identity,
  fingerprint       bytea not null unique,
  site_code         text not null references sites (code),
  vendor            text not null,
  model             text not null,
  cpu               text not null,
  cpu_count         int  not null,
  cores             int  not null,
  threads           int  not null,
  ram_gb            int  not null,
  ecc               boolean not null,
  nvme_gb           int  not null,
  ssd_gb            int  not null,
  hdd_gb            int  not null,
  drives            jsonb not null,
  gpu               text not null,
  nic_mbps          int  not null,
  features          text[] not null,
  price_month_minor bigint not null,
  setup_minor       bigint not null,
  currency          text not null
);

-- One row that changes whenever a class is added, in the same transaction. Who has read it knows
-- whether the classes in its memory are complete.
create table catalogue_version (
  only_row boolean primary key default true check (only_row),
  version  bigint not null
);
insert into catalogue_version (version) values (0);

create table machines (
  id                uuid primary key default ironhold_uuid_v7(),
  asset_tag         text not null check (asset_tag ~ '^[!-~]{1,64}$' and asset_tag !~ '[/?#%\\]|^[.]+$'), -- fits into an address
  site_code         text not null references sites (code),
  room              text not null default '',
  rack              text not null default '',
  vendor            text not null default '',
  model             text not null default '',
  serial            text not null default '',
  cpu               text not null check (cpu <> ''),
  cpu_count         int  not null default 1 check (cpu_count between 1 and 64),
  cores             int  not null check (cores between 1 and 65536),
  threads           int  not null default 0 check (threads between 0 and 131072),
  ram               text not null default '',
  ram_gb            int  not null check (ram_gb between 1 and 1048576),
  ecc               boolean not null default false,
  nvme_gb           int  not null default 0 check (nvme_gb between 0 and 100000000),
  ssd_gb            int  not null default 0 check (ssd_gb between 0 and 100000000),
  hdd_gb            int  not null default 0 check (hdd_gb between 0 and 100000000),
  drives            jsonb not null default '[]',
  gpu               text not null default '',
  nic_mbps          int  not null default 0 check (nic_mbps between 0 and 100000000),
  features          text[] not null default '{}',
  class_id          int  not null references machine_classes (id),
  -- Where the machine stands among its equals; orders start at a random place.
  lot               int  not null default floor(random() * 2147483647)::int,
  status            text not null default 'intake'
                    check (status in ('intake', 'ready', 'in_service', 'cleaning', 'maintenance', 'retired')),
  status_reason     text not null default '',
  status_by         text not null default ironhold_actor(),
  status_at         timestamptz not null default clock_timestamp(),
  wiped_at          timestamptz,
  wiped_by          text,
  wipe_reason       text not null default '',
  -- A lock ticket that nobody reads: only ever incremented, by the occupancy triggers.
  occupancy_version bigint not null default 0,
  price_month_minor bigint not null default 0 check (price_month_minor between 0 and 100000000000),
  setup_minor       bigint not null default 0 check (setup_minor between 0 and 100000000000),
  currency          text not null default 'EUR' check (currency ~ '^[A-Z]{3}$'),
  created_at        timestamptz not null default clock_timestamp(),
  updated_at        timestamptz not null default clock_timestamp(),
  constraint machines_asset_tag unique (asset_tag)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- Candidates of a class in the order of their lots.
create index machines_candidates on machines (class_id, lot, id) where status = 'ready';
create index machines_by_site on machines (site_code, asset_tag);

-- Every machine is in the class of its facts, whoever writes it.
-- +goose StatementBegin
create function machines_classify() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  print bytea;
begin
  if new.features <> '{}' then
    new.features := coalesce((select array_agg(distinct f order by f) from unnest(new.features) f where f <> ''), '{}');
  end if;
  if tg_op = 'UPDATE' then
    new.updated_at := clock_timestamp();
  end if;
  print := sha256(convert_to(jsonb_build_array(
    new.site_code, new.vendor, new.model, new.cpu, new.cpu_count, new.cores, new.threads, new.ram_gb, new.ecc,
    new.nvme_gb, new.ssd_gb, new.hdd_gb, new.drives, new.gpu, new.nic_mbps, to_jsonb(new.features),
    new.price_month_minor, new.setup_minor, new.currency)::text, 'UTF8'));
  select id into new.class_id from machine_classes where fingerprint = print;
  if found then
    return new;
  end if;
  -- Those who add classes queue here, at most once per transaction; so the version and the
  -- classes become visible together and in one order.
  update catalogue_version set version = pg_current_xact_id()::text::bigint
   where version <> pg_current_xact_id()::text::bigint;
  insert into machine_classes (fingerprint, site_code, vendor, model, cpu, cpu_count, cores, threads, ram_gb, ecc,
    nvme_gb, ssd_gb, hdd_gb, drives, gpu, nic_mbps, features, price_month_minor, setup_minor, currency)
  values (print, new.site_code, new.vendor, new.model, new.cpu, new.cpu_count, new.cores, new.threads, new.ram_gb, new.ecc,
    new.nvme_gb, new.ssd_gb, new.hdd_gb, new.drives, new.gpu, new.nic_mbps, new.features,
    new.price_month_minor, new.setup_minor, new.currency)
  on conflict (fingerprint) do nothing;
  select id into strict new.class_id from machine_classes where fingerprint = print;
  return new;
end $$;
-- +goose StatementEnd

create trigger machines_classify before insert or update of site_code, vendor, model, cpu, cpu_count, cores, threads,
  ram_gb, ecc, nvme_gb, ssd_gb, hdd_gb, drives, gpu, nic_mbps, features, class_id, price_month_minor, setup_minor, currency
  on machines for each row execute function machines_classify();

-- +goose StatementBegin
create function machine_classes_frozen() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'a machine class never changes: change the machine, it moves to another class'
    using errcode = 'check_violation', constraint = 'machine_classes_frozen';
end $$;
-- +goose StatementEnd

create trigger machine_classes_frozen before update or delete on machine_classes
  for each row execute function machine_classes_frozen();
