// Power of connectors by the minute: a packed row per connector and day in UTC. Old days are deleted.
import type { Knex } from 'knex';
import type { MinuteRun } from '../../../machines/power/connector-minutes.js';
import type { ConnectorId, ControllerUuid, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { engineOf } from '../../outbound/knex/engine.js';
import { type Columns, isStored, jsonRows } from '../../outbound/knex/json-rows.js';
import type { ChangeOf } from '../../ports/store.js';
import { toDate } from '../../wire/instants.js';
import { packed, unpacked } from './packed-minutes.js';

const COLUMNS = {
  tenant_uuid: 'text',
  day: 'text',
  controller_uuid: 'text',
  connector_id: 'text',
  minutes: 'text',
} as const satisfies Columns;
const KEY = ['tenant_uuid', 'day', 'controller_uuid', 'connector_id'];
const CONNECTOR = ['tenant_uuid', 'controller_uuid', 'connector_id'] as const;

/** Adds minutes to their days. A repeated write adds them again, which changes nothing for a reader. */
export async function putConnectorPower(
  trx: Knex.Transaction,
  puts: readonly ChangeOf<'connectorPower.put'>[],
): Promise<void> {
  const names = Object.keys(COLUMNS);
  await trx.raw(
    `insert into connector_power_days (${names.join(', ')})
     select ${names.join(', ')} from ${jsonRows(engineOf(trx), COLUMNS)} as given
     where ${isStored('connectors', CONNECTOR)}
     on conflict (${KEY.join(', ')}) do update set minutes = connector_power_days.minutes || excluded.minutes`,
    [JSON.stringify(rowsOf(puts))],
  );
}

/** One row for each connector and day, because a statement updates a row once. */
function rowsOf(puts: readonly ChangeOf<'connectorPower.put'>[]): readonly (readonly string[])[] {
  const rows = new Map<string, { readonly key: readonly string[]; minutes: string }>();
  for (const { tenantUuid, power } of puts)
    for (const [dayMs, minutes] of packed(power.runs)) {
      const key = [tenantUuid, toDate(dayMs), power.controllerUuid, power.connectorId];
      const row = rows.get(JSON.stringify(key)) ?? { key, minutes: '' };
      rows.set(JSON.stringify(key), row);
      row.minutes += minutes;
    }
  return [...rows.values()].map(({ key, minutes }) => [...key, minutes]);
}

/** The minutes of these days, which begin at `days`, by day; within one in the order of their writes. */
export async function readConnectorPower(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
  connector: { readonly controllerUuid: ControllerUuid; readonly connectorId: ConnectorId },
  days: readonly EpochMs[],
): Promise<readonly MinuteRun[]> {
  // Asked for by name, because the connector is behind the day in the key: a range of days would read all connectors.
  const given = `${jsonRows(engineOf(trx), { day: 'text' })} as given`;
  const names = JSON.stringify(days.map((dayMs) => [toDate(dayMs)]));
  const rows: { readonly day: string; readonly minutes: string }[] = await trx(
    trx.raw(`${given} cross join connector_power_days as stored`, [names]),
  )
    .select('stored.day', 'stored.minutes')
    .whereRaw('stored.day = given.day')
    .where({
      'stored.tenant_uuid': tenantUuid,
      'stored.controller_uuid': connector.controllerUuid,
      'stored.connector_id': connector.connectorId,
    })
    .orderBy('stored.day');
  return rows.flatMap(({ day, minutes }) => unpacked(Date.parse(day), minutes));
}

const FORGOTTEN_AT_ONCE = 5_000;

/** Deletes some thousand rows of the oldest day before `day` of each tenant. @returns true if none are left */
export async function forgetSomeConnectorPower(trx: Knex.Transaction, day: string): Promise<boolean> {
  const tenants: { tenant_uuid: TenantUuid }[] = await trx('tenants').select('tenant_uuid');
  let isDone = true;
  for (const ofTenant of tenants) {
    const [oldest]: { day: string | null }[] = await trx('connector_power_days')
      .where(ofTenant)
      .min({ day: 'day' });
    if (oldest?.day == null || oldest.day >= day) continue;
    isDone = false;
    const ofDay = () => trx('connector_power_days').where({ ...ofTenant, day: oldest.day });
    const last: { controller_uuid: string } | undefined = await ofDay()
      .orderBy('controller_uuid')
      .offset(FORGOTTEN_AT_ONCE)
      .first('controller_uuid');
    const some = last === undefined ? ofDay() : ofDay().where('controller_uuid', '<=', last.controller_uuid);
    await some.delete();
  }
  return isDone;
}
