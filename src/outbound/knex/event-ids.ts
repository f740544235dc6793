// Ids of the event log. Its own rows and those of profiles count by one sequence for each tenant.
import type { Knex } from 'knex';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { type Engine, engineOf } from './engine.js';

/** SQL for the highest id of a tenant, 0 without any. @param tenant its `tenant_uuid` in SQL */
export function newestEventId(engine: Engine, tenant: string): string {
  const highest = (table: string, id: string) =>
    `coalesce((select max(${table}.${id}) from ${table} where ${table}.tenant_uuid = ${tenant}), 0)`;
  const greatest = engine === 'sqlite' ? 'max' : 'greatest';
  return `${greatest}(${highest('events', 'event_id')}, ${highest('profiles', 'submission')})`;
}

export interface LogEnds {
  /** Id of the newest event of the tenant; 0 without any. */
  readonly newestId: number;
  /** Id up to which old events were deleted; 0 without any. */
  readonly forgottenId: number;
}

export async function readEnds(trx: Knex.Transaction, tenantUuid: TenantUuid): Promise<LogEnds> {
  const newest = trx.raw(newestEventId(engineOf(trx), 'tenants.tenant_uuid'));
  const tenant: { newest: number | string; forgotten: number | string } | undefined = await trx('tenants')
    .where('tenant_uuid', tenantUuid)
    .first({ newest, forgotten: 'forgotten_event_id' });
  return { newestId: Number(tenant?.newest ?? 0), forgottenId: Number(tenant?.forgotten ?? 0) };
}
