// The car at each connector: its declared needs and its energy so far, in one row that the next car replaces.
import type { Knex } from 'knex';
import type { SessionNeeds } from '../../../machines/policy/session-needs.js';
import type { SessionTimes } from '../../../machines/power/connector.js';
import type { StoredEnergy } from '../../../machines/power/energy-count.js';
import {
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type TenantUuid,
} from '../../../machines/values/ids.js';
import { type Columns, isStored, type KeyedTable, putRows } from '../../outbound/knex/json-rows.js';
import type { SessionNeedsRecord } from '../../ports/records.js';
import type { ChangeOf } from '../../ports/store.js';

interface NeedsRow {
  readonly controller_uuid: ControllerUuid;
  readonly connector_id: ConnectorId;
  readonly session_id: string | null;
  readonly id_tag: string | null;
  /** JSON by source. */
  readonly declared: string;
  readonly delivered_wh: number;
  readonly register_wh: number | null;
  /** null in rows from before it was stored. */
  readonly register_at_ms: number | null;
  readonly ahead_wh: number | null;
  /** JSON. */
  readonly quarters: string | null;
  readonly charging_ms: number | null;
  /** JSON by reason. */
  readonly limited: string | null;
  readonly arrived_at_ms: number | null;
  /** Both are null, or neither. */
  readonly soc_percent: number | null;
  readonly soc_at_wh: number | null;
  readonly peak_w: number | null;
  /** 1 if true. */
  readonly is_integrated: number | null;
}

const CONNECTOR = ['tenant_uuid', 'controller_uuid', 'connector_id'] as const;

const NEEDS = {
  name: 'session_needs',
  key: CONNECTOR,
  columns: {
    tenant_uuid: 'text',
    controller_uuid: 'text',
    connector_id: 'text',
    session_id: 'text',
    id_tag: 'text',
    declared: 'text',
    delivered_wh: 'double precision',
    register_wh: 'double precision',
    register_at_ms: 'bigint',
    ahead_wh: 'double precision',
    quarters: 'text',
    charging_ms: 'double precision',
    limited: 'text',
    arrived_at_ms: 'bigint',
    soc_percent: 'double precision',
    soc_at_wh: 'double precision',
    peak_w: 'double precision',
    is_integrated: 'integer',
  },
  onlyWhere: isStored('connectors', CONNECTOR),
} as const satisfies KeyedTable<Columns>;

const NEEDS_COLUMNS = Object.keys(NEEDS.columns).filter((name) => name !== 'tenant_uuid');

/** Replaces the rows of these connectors; the last of each counts. Those of unknown connectors are left out. */
export async function putNeeds(trx: Knex.Transaction, puts: readonly ChangeOf<'needs.put'>[]): Promise<void> {
  const newest = new Map(
    puts.map(({ tenantUuid, needs }) => [
      `${tenantUuid}/${connectorKey(needs)}`,
      {
        tenant_uuid: tenantUuid,
        controller_uuid: needs.controllerUuid,
        connector_id: needs.connectorId,
        session_id: needs.session ?? null,
        id_tag: needs.idTag ?? null,
        declared: JSON.stringify(needs.declared),
        delivered_wh: needs.deliveredWh,
        register_wh: needs.energy.registerWh ?? null,
        register_at_ms: needs.energy.registerAtMs ?? null,
        ahead_wh: needs.energy.aheadWh,
        quarters: JSON.stringify(needs.energy.quarters),
        charging_ms: needs.times.chargingMs ?? null,
        limited: JSON.stringify(needs.times.limitedMs),
        arrived_at_ms: needs.arrivedAtMs ?? null,
        soc_percent: needs.charged?.socPercent ?? null,
        soc_at_wh: needs.charged?.deliveredWh ?? null,
        peak_w: needs.peakW,
        is_integrated: needs.isIntegrated ? 1 : 0,
      },
    ]),
  );
  await putRows(trx, NEEDS, [...newest.values()]);
}

/** The rows of a tenant, by connector. */
export async function loadNeeds(
  trx: Knex.Transaction,
  tenantUuid: TenantUuid,
): Promise<SessionNeedsRecord[]> {
  const rows: NeedsRow[] = await trx('session_needs')
    .where('tenant_uuid', tenantUuid)
    .select(...NEEDS_COLUMNS)
    .orderBy(['controller_uuid', 'connector_id']);
  return rows.map(({ soc_percent: socPercent, soc_at_wh: socAtWh, ...row }) => ({
    controllerUuid: row.controller_uuid,
    connectorId: row.connector_id,
    session: row.session_id ?? undefined,
    idTag: row.id_tag ?? undefined,
    declared: JSON.parse(row.declared) as SessionNeeds['declared'],
    deliveredWh: row.delivered_wh,
    energy: {
      registerWh: row.register_wh ?? undefined,
      registerAtMs: row.register_at_ms ?? undefined,
      aheadWh: row.ahead_wh ?? 0,
      quarters: row.quarters === null ? [] : (JSON.parse(row.quarters) as StoredEnergy['quarters']),
    },
    arrivedAtMs: row.arrived_at_ms ?? undefined,
    peakW: row.peak_w ?? 0,
    isIntegrated: row.is_integrated === 1,
    times: {
      chargingMs: row.charging_ms ?? undefined,
      limitedMs: row.limited === null ? {} : (JSON.parse(row.limited) as SessionTimes['limitedMs']),
    },
    charged: socPercent === null || socAtWh === null ? undefined : { socPercent, deliveredWh: socAtWh },
  }));
}
