// Rows of enforcement: reservations, which outlast a crash, alarms, and minutes of measured power.
import type { Knex } from 'knex';
import { type Engine, engineOf } from '../engine.js';

const TABLES = ['reservations', 'alarms', 'power_minutes'] as const;

export async function up(knex: Knex): Promise<void> {
  for (const statement of statements(engineOf(knex))) await knex.raw(statement);
}

export async function down(knex: Knex): Promise<void> {
  for (const table of TABLES) await knex.schema.dropTable(table);
}

/** No foreign keys: these rows share commits with clients' writes, and must not make those fail. */
function statements(engine: Engine): string[] {
  const sqlite = engine === 'sqlite';
  const text = sqlite ? 'text' : 'text collate "C"';
  const end = sqlite ? 'without rowid' : '';
  return [
    `create table reservations (
      tenant_uuid ${text} not null,
      controller_uuid ${text} not null,
      connector_id ${text} not null,
      limit_tenths_a integer not null,
      then_tenths_a integer not null,
      lease ${text} not null check (lease in ('heartbeat', 'receipt', 'none')),
      primary key (tenant_uuid, controller_uuid, connector_id)
    ) ${end}`,
    `create table alarms (
      tenant_uuid ${text} not null,
      alarm_id ${text} not null,
      kind ${text} not null,
      location_id ${text} not null,
      controller_uuid ${text},
      connector_id ${text},
      reason ${text} not null,
      began_at_ms bigint not null,
      ended_at_ms bigint,
      primary key (tenant_uuid, alarm_id)
    ) ${end}`,
    'create index alarms_open on alarms (tenant_uuid, began_at_ms, alarm_id) where ended_at_ms is null',
    // The index includes the end, so alarms that ended before a window are skipped inside the index.
    'create index alarms_by_tenant on alarms (tenant_uuid, began_at_ms, alarm_id, ended_at_ms)',
    'create index alarms_by_location on alarms (tenant_uuid, location_id, began_at_ms, alarm_id, ended_at_ms)',
    `create table power_minutes (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      at_ms bigint not null,
      mean_w double precision not null,
      max_w double precision not null,
      limit_w double precision not null,
      primary key (tenant_uuid, location_id, at_ms)
    ) ${end}`,
  ];
}
