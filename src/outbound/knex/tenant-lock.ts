// One writer a tenant at a time, whichever process it is in; SQLite has but one writer at all.
import type { Knex } from 'knex';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { engineOf } from './engine.js';
import { inTransaction } from './transaction.js';

// In the order of the keys, so that two that want several never wait for each other.
const LOCK = `select pg_advisory_xact_lock(key) from (
  select distinct hashtextextended(tenant_uuid, 0) as key from unnest(?::text[]) as tenant_uuid order by key
) as keys`;

/**
 * Waits for other writers of these tenants, and keeps them out until the transaction ends. As the first statement,
 * for those after it then see all that was written: without it, two that find the same holder of a slot both put theirs.
 */
export async function lockTenants(trx: Knex.Transaction, tenantUuids: readonly TenantUuid[]): Promise<void> {
  if (engineOf(trx) === 'postgres') await trx.raw(LOCK, [[...new Set(tenantUuids)]]);
}

/**
 * Resolves when nobody writes to the tenant: not even a transaction whose connection broke while it committed, and
 * which may land much later.
 */
export async function awaitWriters(knex: Knex, tenantUuid: TenantUuid): Promise<void> {
  if (engineOf(knex) === 'postgres') await inTransaction(knex, (trx) => lockTenants(trx, [tenantUuid]));
}
