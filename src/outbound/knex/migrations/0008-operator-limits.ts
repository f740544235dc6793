// The grid operator of a location, and the history of its limit.
import type { Knex } from 'knex';
import { type Engine, engineOf } from '../engine.js';

export async function up(knex: Knex): Promise<void> {
  for (const statement of statements(engineOf(knex))) await knex.raw(statement);
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['operators', 'operator_events']) await knex.schema.dropTable(table);
}

function statements(engine: Engine): string[] {
  const sqlite = engine === 'sqlite';
  const text = sqlite ? 'text' : 'text collate "C"';
  const end = sqlite ? 'without rowid' : '';
  return [
    `create table operators (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      operator_uuid ${text} not null,
      mqtt_secret_hash ${text},
      failsafe_kw double precision not null check (failsafe_kw >= 0),
      failsafe_min_ms bigint not null,
      missing_after_ms bigint not null,
      primary key (tenant_uuid, location_id),
      foreign key (tenant_uuid, location_id) references locations
    ) ${end}`,
    // No foreign key: these rows share commits with clients' writes, and must not make those fail.
    `create table operator_events (
      tenant_uuid ${text} not null,
      location_id ${text} not null,
      change bigint not null,
      recorded_at_ms bigint not null,
      state ${text} not null,
      since_ms bigint not null,
      source ${text},
      limit_kw double precision,
      ends_at_ms bigint,
      sent_at_ms bigint,
      newest_sent_at_ms bigint,
      primary key (tenant_uuid, location_id, change)
    ) ${end}`,
  ];
}
