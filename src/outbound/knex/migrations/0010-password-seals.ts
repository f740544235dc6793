// Seals by which a later provisioning recognizes unchanged passwords, for each tenant as JSON.
import type { Knex } from 'knex';
import { engineOf } from '../engine.js';

export async function up(knex: Knex): Promise<void> {
  const text = engineOf(knex) === 'sqlite' ? 'text' : 'text collate "C"';
  await knex.raw(`create table password_seals (
    tenant_uuid ${text} not null primary key references tenants,
    seals text not null
  )`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('password_seals');
}
