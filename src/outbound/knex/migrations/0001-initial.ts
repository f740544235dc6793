// The first schema: every key begins with its tenant, instants are epoch milliseconds, power is kW.
import type { Knex } from 'knex';
import { type Engine, engineOf } from '../engine.js';

export async function up(knex: Knex): Promise<void> {
  for (const statement of statements(engineOf(knex))) await knex.raw(statement);
}

/** Drops every table with all data. */
export async function down(knex: Knex): Promise<void> {
  for (const statement of statements(engineOf(knex)).reverse()) {
    const table = /^\s*create table (\w+)/.exec(statement)?.[1];
    if (table !== undefined) await knex.schema.dropTable(table);
  }
}

function statements(engine: Engine): string[] {
  const sqlite = engine === 'sqlite';
  // Text compares by its bytes on both engines.
  const text = sqlite ? 'text' : 'text collate "C"';
  // Rows are stored in the order of their key, so a tenant's are together.
  const end = sqlite ? 'without rowid' : '';
  // Counts submissions. SQLite has no identity column in a composite key: there the insert counts.
  const counted = sqlite ? 'bigint not null' : 'bigint generated always as identity';
  return [
    ...credentials(text, end),
    ...sites(text, end, counted),
    ...profiles(text, end, counted),
    ...clusters(text, end),
    'create table revision_counter (only_row integer primary key check (only_row = 1), revision bigint not null)',
    'insert into revision_counter (only_row, revision) values (1, 0)',
  ];
}

function credentials(text: string, end: string): string[] {
  return [
    `create table tenants (
      tenant_uuid ${text} primary key,
      name ${text} not null,
      features ${text} not null,
      sites_revision bigint not null,
      credentials_revision bigint not null
    ) ${end}`,
    `create table api_keys (
      tenant_uuid ${text} not null references tenants,
      key_id ${text} not null unique,
      secret_hash ${text} not null,
      scopes ${text} not null,
      expires_at_ms bigint,
      revoked_at_ms bigint,
      primary key (tenant_uuid, key_id)
    ) ${end}`,
    `create table oauth_clients (
      tenant_uuid ${text} not null references tenants,
      client_id ${text} not null unique,
      secret_hash ${text} not null,
      scopes ${text} not null,
      disabled_at_ms bigint,
      primary key (tenant_uuid, client_id)
    ) ${end}`,
  ];
}

function sites(text: string, end: string, counted: string): string[] {
  return [
    `create table locations (
      tenant_uuid ${text} not null references tenants,
      location_id ${text} not null,
      name ${text} not null,
      status ${text} not null check (status in ('ACTIVE', 'INACTIVE')),
      permanent_limit_kw double precision not null check (permanent_limit_kw > 0),
      provisioned_permanent_limit_kw double precision not null,
      grid_limit_kw double precision,
      primary key (tenant_uuid, location_id)
    ) ${end}`,
    `create table permanent_limit_changes (
      tenant_uuid ${text} not null,
      change ${counted},
      location_id ${text} not null,
      limit_kw double precision not null check (limit_kw > 0),
      set_at_ms bigint not null,
      primary key (tenant_uuid, change),
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
    'create index permanent_limit_changes_by_location on permanent_limit_changes (tenant_uuid, location_id, change)',
    `create table chargers (
      tenant_uuid ${text} not null,
      controller_uuid ${text} not null,
      location_id ${text} not null,
      mqtt_secret_hash ${text},
      primary key (tenant_uuid, controller_uuid),
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
    `create table connectors (
      tenant_uuid ${text} not null,
      controller_uuid ${text} not null,
      connector_id ${text} not null,
      status ${text} not null check (status in ('ACTIVE', 'INACTIVE')),
      phases integer not null check (phases in (1, 3)),
      voltage_v double precision not null,
      max_current_a double precision not null,
      failsafe_a double precision not null,
      primary key (tenant_uuid, controller_uuid, connector_id),
      foreign key (tenant_uuid, controller_uuid) references chargers
    ) ${end}`,
    `create table gateways (
      tenant_uuid ${text} not null references tenants,
      gateway_id ${text} not null,
      mqtt_secret_hash ${text},
      primary key (tenant_uuid, gateway_id)
    ) ${end}`,
    `create table gateway_controllers (
      tenant_uuid ${text} not null,
      gateway_id ${text} not null,
      controller_uuid ${text} not null,
      primary key (tenant_uuid, gateway_id, controller_uuid),
      foreign key (tenant_uuid, gateway_id) references gateways,
      foreign key (tenant_uuid, controller_uuid) references chargers
    ) ${end}`,
  ];
}

function profiles(text: string, end: string, counted: string): string[] {
  return [
    // Of a location, of a connector or, with neither, of the organization.
    `create table profiles (
      tenant_uuid ${text} not null references tenants,
      submission ${counted},
      location_id ${text},
      controller_uuid ${text},
      connector_id ${text},
      priority integer not null check (priority between 0 and 10),
      limit_kw double precision not null check (limit_kw > 0),
      starts_at_ms bigint not null,
      ends_at_ms bigint not null,
      submitted_at_ms bigint not null,
      superseded_at_ms bigint,
      primary key (tenant_uuid, submission),
      foreign key (tenant_uuid, location_id) references locations,
      foreign key (tenant_uuid, controller_uuid, connector_id) references connectors,
      check (starts_at_ms < ends_at_ms),
      check ((controller_uuid is null) = (connector_id is null)),
      check (location_id is null or controller_uuid is null)
    ) ${end}`,
    // One holder for each slot. `coalesce` is needed because null differs from null in a unique index.
    `create unique index profile_holders on profiles (
      tenant_uuid, coalesce(location_id, ''), coalesce(controller_uuid, ''), coalesce(connector_id, ''), priority
    ) where superseded_at_ms is null`,
    'create index profiles_by_target on profiles (tenant_uuid, location_id, controller_uuid, connector_id, submission)',
  ];
}

function clusters(text: string, end: string): string[] {
  return [
    `create table clusters (
      tenant_uuid ${text} not null references tenants,
      cluster_id ${text} not null,
      name ${text} not null,
      limit_kw double precision check (limit_kw > 0),
      status ${text} not null check (status in ('ACTIVE', 'INACTIVE')),
      created_at_ms bigint not null,
      updated_at_ms bigint not null,
      primary key (tenant_uuid, cluster_id)
    ) ${end}`,
    `create table cluster_members (
      tenant_uuid ${text} not null,
      cluster_id ${text} not null,
      position integer not null,
      location_id ${text} not null,
      primary key (tenant_uuid, cluster_id, position),
      unique (tenant_uuid, cluster_id, location_id),
      foreign key (tenant_uuid, cluster_id) references clusters on delete cascade,
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
  ];
}
