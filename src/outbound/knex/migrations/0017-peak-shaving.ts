// The average import to which a location keeps over billed windows, and the counted part of the last window.
import type { Knex } from 'knex';
import { engineOf } from '../engine.js';

/** NULL means "not limited": none was provisioned. */
export async function up(knex: Knex): Promise<void> {
  const sqlite = engineOf(knex) === 'sqlite';
  const text = sqlite ? 'text' : 'text collate "C"';
  await knex.raw('alter table locations add column peak_shaving text');
  await knex.raw(`create table billed_windows (
    tenant_uuid ${text} not null,
    location_id ${text} not null,
    starts_at_ms bigint not null,
    used_ws double precision not null check (used_ws >= 0),
    counted_until_ms bigint not null,
    primary key (tenant_uuid, location_id),
    foreign key (tenant_uuid, location_id) references locations
  ) ${sqlite ? 'without rowid' : ''}`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('billed_windows');
  await knex.raw('alter table locations drop column peak_shaving');
}
