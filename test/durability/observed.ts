// Reads the state of a service and of its rows as slots of the ledger, and checks the rows against each other.

import { systemClock } from '../../src/clock.js';
import { readPermanentLimits, readProfileHistory } from '../../src/features/profiles/rows.js';
import { createMetrics } from '../../src/metrics.js';
import { createStore } from '../../src/outbound/knex/store.js';
import type { ProfileHistoryRecord, ProfileTarget } from '../../src/ports/records.js';
import type { Store } from '../../src/ports/store.js';
import type { Attempt } from '../../tools/bench/write-ledger.js';
import { apiKeyOf, silentLog } from '../service/running-service.js';
import {
  type ClusterView,
  clusterValues,
  FLEET,
  FLEET_PRIORITY,
  SITES,
  slot,
  TENANTS,
  type Tenant,
} from './site.js';

const ALL_TIME = { startsAtMs: 0, endsAtMs: Number.MAX_SAFE_INTEGER };

interface Profile {
  readonly priority: number;
  readonly limitKw: number;
}

interface LocationView {
  readonly permanentLimitKw: number;
  readonly profiles: readonly Profile[];
}

export interface Observed {
  readonly held: Map<string, string>;
  readonly clusters: ReadonlyMap<Tenant, readonly ClusterView[]>;
}

/** All slots that REST shows, which leaves out connector profiles. */
export async function observeRest(httpUrl: string): Promise<Observed> {
  const held = new Map<string, string>();
  const clusters = new Map<Tenant, readonly ClusterView[]>();
  for (const tenant of TENANTS) {
    const get = async <T>(path: string): Promise<T> => {
      const answer = await fetch(`${httpUrl}/v1${path}`, { headers: { 'x-api-key': apiKeyOf(tenant) } });
      if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
      return (await answer.json()) as T;
    };
    for (const id of SITES) {
      const { permanentLimitKw, profiles } = await get<LocationView>(`/locations/${id}/limits`);
      held.set(slot.permanentLimit(tenant, id), String(permanentLimitKw));
      for (const { priority, limitKw } of profiles) {
        held.set(slot.location(tenant, id, priority), String(limitKw));
      }
    }
    const { profiles } = await get<{ profiles: readonly Profile[] }>('/organizations/limits');
    for (const { priority, limitKw } of profiles) {
      held.set(slot.organization(tenant, priority), String(limitKw));
    }
    const { clusters: list } = await get<{ clusters: readonly ClusterView[] }>('/clusters');
    clusters.set(tenant, list);
    holdClusters(held, tenant, list);
  }
  return { held, clusters };
}

function holdClusters(held: Map<string, string>, tenant: Tenant, clusters: readonly ClusterView[]): void {
  for (const cluster of clusters) {
    for (const [name, value] of Object.entries(clusterValues(tenant, cluster))) held.set(name, value);
  }
}

/** Reads the rows of a service, which may be running. */
export async function withRows<T>(databaseUrl: string, read: (store: Store) => Promise<T>): Promise<T> {
  const options = { databaseUrl, clock: systemClock, log: silentLog, metrics: createMetrics() };
  const store = await createStore(options);
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}

/** All slots in force by the rows, connector profiles included. */
export async function observeRows(store: Store): Promise<Map<string, string>> {
  const held = new Map<string, string>();
  for (const tenant of TENANTS) {
    const { locations, clusters, profiles } = await store.loadTenant(tenant);
    for (const { locationId, permanentLimitKw } of locations) {
      held.set(slot.permanentLimit(tenant, locationId), String(permanentLimitKw));
    }
    for (const { target, priority, limitKw } of profiles)
      held.set(slotOf(tenant, target, priority), String(limitKw));
    holdClusters(held, tenant, clusters);
  }
  return held;
}

function slotOf(tenant: Tenant, target: ProfileTarget, priority: number): string {
  switch (target.kind) {
    case 'location':
      return slot.location(tenant, target.locationId, priority);
    case 'connector':
      return slot.connector(tenant, target.controllerUuid, target.connectorId, priority);
    case 'organization':
      return slot.organization(tenant, priority);
  }
}

/** All limits of every slot in order, from the history, and a description of every break in it. */
export async function observeHistory(store: Store, tenants: readonly Tenant[] = TENANTS) {
  const limits = new Map<string, readonly string[]>();
  const wrong: string[] = [];
  for (const tenant of tenants) {
    const { locations } = await store.loadTenant(tenant);
    const targets: ProfileTarget[] = [
      { kind: 'organization' },
      ...locations.map(({ locationId }) => ({ kind: 'location', locationId }) as const),
      ...locations.flatMap(({ connectors }) =>
        connectors.map(
          ({ controllerUuid, connectorId }) => ({ kind: 'connector', controllerUuid, connectorId }) as const,
        ),
      ),
    ];
    for (const target of targets) {
      const rows = await store.read((trx) => readProfileHistory(trx, tenant, target, ALL_TIME));
      for (const priority of new Set(rows.map((row) => row.priority))) {
        const name = slotOf(tenant, target, priority);
        const slotRows = rows.filter((row) => row.priority === priority);
        limits.set(
          name,
          slotRows.map(({ limitKw }) => String(limitKw)),
        );
        if (!isUnbroken(slotRows))
          wrong.push(`the history of ${name} is broken: ${JSON.stringify(slotRows)}`);
      }
    }
    for (const { locationId } of locations) {
      const rows = await store.read((trx) => readPermanentLimits(trx, tenant, locationId));
      limits.set(
        slot.permanentLimit(tenant, locationId),
        rows.map(({ limitKw }) => String(limitKw)),
      );
    }
  }
  return { limits, wrong };
}

/** Each row was superseded at the submission of the next one, in the order of time. Only the last one is in force. */
function isUnbroken(rows: readonly ProfileHistoryRecord[]): boolean {
  return rows.every(({ submittedAtMs, supersededAtMs }, i) => {
    const next = rows[i + 1];
    if (next === undefined) return supersededAtMs === null;
    return supersededAtMs === next.submittedAtMs && submittedAtMs <= next.submittedAtMs;
  });
}

/** Lists acknowledged values that the history lacks, refused or unsent values that it has, and partial writes. */
export function checkHistory(
  limits: ReadonlyMap<string, readonly string[]>,
  attempts: readonly Attempt[],
  provisioned: string,
): readonly string[] {
  const wrong: string[] = [];
  const rows = new Map<string, number>();
  for (const [name, values] of limits) {
    for (const value of values) rows.set(`${name} ${value}`, (rows.get(`${name} ${value}`) ?? 0) + 1);
  }
  for (const { values, outcome } of attempts) {
    const names = Object.entries(values).filter(([name]) => !name.includes('/cluster/'));
    const found = names.map(([name, value]) => {
      const times = rows.get(`${name} ${value}`) ?? 0;
      rows.delete(`${name} ${value}`);
      return times;
    });
    const isWhole = found.every((times) => times === found[0] && times <= 1);
    const isRight =
      outcome === 'unknown' || found.every((times) => times === (outcome === 'acknowledged' ? 1 : 0));
    if (!isWhole || !isRight)
      wrong.push(`${JSON.stringify(values)} was ${outcome}, and is there ${found} times`);
  }
  for (const name of rows.keys()) {
    if (!name.endsWith(`/permanent ${provisioned}`)) wrong.push(`${name} is in history and was never sent`);
  }
  return wrong;
}

/** Lists clusters without a member, and schedules of the fleet that only some members have. */
export function checkClusters({ held, clusters }: Observed): readonly string[] {
  const wrong: string[] = [];
  for (const [tenant, list] of clusters) {
    for (const { name, locationIds } of list) {
      if (locationIds.length === 0) wrong.push(`${tenant}: the cluster ${name} is empty`);
    }
    const schedules = new Set(FLEET.map((id) => held.get(slot.location(tenant, id, FLEET_PRIORITY))));
    if (schedules.size > 1) wrong.push(`${tenant}: the fleet has ${[...schedules].join(' and ')}`);
  }
  return wrong;
}
