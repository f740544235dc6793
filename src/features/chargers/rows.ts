// Chargers that the log has as offline, one row each until they are online again.
import type { Knex } from 'knex';
import type { ControllerUuid, TenantUuid } from '../../../machines/values/ids.js';
import { type Engine, engineOf } from '../../outbound/knex/engine.js';
import { type Columns, isStored, jsonRows, type KeyedTable, putRows } from '../../outbound/knex/json-rows.js';
import type { OfflineChargerRecord } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';

interface OfflineChargerRow {
  readonly controller_uuid: ControllerUuid;
  readonly since_ms: number | string;
}

const OFFLINE_CHARGERS = {
  name: 'offline_chargers',
  key: ['tenant_uuid', 'controller_uuid'],
  columns: { tenant_uuid: 'text', controller_uuid: 'text', since_ms: 'bigint' },
  onlyWhere: isStored('chargers', ['tenant_uuid', 'controller_uuid']),
} as const satisfies KeyedTable<Columns>;

/** The last change of each charger counts. Unknown chargers are left out. */
export async function writeOfflineChargers(
  trx: Knex.Transaction,
  changes: readonly ChangeOf<'charger.offline' | 'charger.online'>[],
): Promise<void> {
  const last = new Map<string, (typeof changes)[number]>();
  for (const change of changes) last.set(`${change.tenantUuid}/${change.charger.controllerUuid}`, change);
  const rows = [...last.values()];
  await putRows(trx, OFFLINE_CHARGERS, rows.filter(({ kind }) => kind === 'charger.offline').map(rowOf));
  const online = rows.filter(({ kind }) => kind === 'charger.online');
  if (online.length === 0) return;
  const keys = online.map(({ tenantUuid, charger }) => [tenantUuid, charger.controllerUuid]);
  await trx.raw(DELETE[engineOf(trx)], [JSON.stringify(keys)]);
}

const KEY = { tenant_uuid: 'text', controller_uuid: 'text' } as const satisfies Columns;
const DELETE = { sqlite: deleteGiven('sqlite'), postgres: deleteGiven('postgres') };

function deleteGiven(engine: Engine): string {
  return `delete from offline_chargers where exists (select 1 from ${jsonRows(engine, KEY)} as given
    where offline_chargers.tenant_uuid = given.tenant_uuid
      and offline_chargers.controller_uuid = given.controller_uuid)`;
}

function rowOf({ tenantUuid, charger }: ChangeOf<'charger.offline' | 'charger.online'>) {
  const { controllerUuid, sinceMs } = charger;
  return { tenant_uuid: tenantUuid, controller_uuid: controllerUuid, since_ms: sinceMs };
}

export async function loadOfflineChargers(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<OfflineChargerRecord[]> {
  const rows: OfflineChargerRow[] = await trx('offline_chargers')
    .where('tenant_uuid', tenantUuid)
    .select('controller_uuid', 'since_ms')
    .orderBy('controller_uuid');
  return rows.map((row) => ({ controllerUuid: row.controller_uuid, sinceMs: Number(row.since_ms) }));
}
