// The site meter of a location, which measures the building beside its chargers.
import type { Knex } from 'knex';
import { engineOf } from '../engine.js';

export async function up(knex: Knex): Promise<void> {
  const sqlite = engineOf(knex) === 'sqlite';
  const text = sqlite ? 'text' : 'text collate "C"';
  await knex.raw(`create table site_meters (
    tenant_uuid ${text} not null,
    location_id ${text} not null,
    meter_uuid ${text} not null,
    mqtt_secret_hash ${text},
    covers ${text} not null,
    max_building_kw double precision not null check (max_building_kw >= 0),
    reserve_least_kw double precision not null check (reserve_least_kw >= 0),
    reserve_most_kw double precision not null check (reserve_most_kw >= reserve_least_kw),
    pv_raises_headroom integer not null,
    primary key (tenant_uuid, location_id),
    foreign key (tenant_uuid, location_id) references locations
  ) ${sqlite ? 'without rowid' : ''}`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('site_meters');
}
