// Brings actors into line with rows: at start, after changes by another process, after a defect, after a clock jump.
import { isDeepStrictEqual } from 'node:util';
import { type OperatorStanding, operatorStandingOf } from '../../machines/limits/lpc.machine.js';
import { EMPTY_STACK, type ProfileStack, putProfile } from '../../machines/limits/profile-stack.js';
import { connectorKey, type LocationId, type TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type {
  AlarmRecord,
  ConnectorRecord,
  LocationRecord,
  ProfileRecord,
  TenantState,
} from '../ports/records.js';
import type { Assembly, LocationRows } from './assembly.js';
import type { Directory, LocationEntity, Tenant } from './directory.js';

// Sorts a tenant's profile rows into one stack per target, from which actors are built.
interface StackIndex {
  readonly organization: ProfileStack;
  ofLocation(locationId: LocationId): ProfileStack;
  ofConnector(connector: ConnectorRecord): ProfileStack;
}

/** `profiles` hold their slots, so no two share target and priority. */
function indexStacks(profiles: readonly ProfileRecord[]): StackIndex {
  const locations = new Map<string, ProfileStack>();
  const connectors = new Map<string, ProfileStack>();
  let organization = EMPTY_STACK;
  for (const { target, priority, limitKw, startsAtMs, endsAtMs } of profiles) {
    const profile = { priority, limitKw, startsAtMs, endsAtMs };
    if (target.kind === 'organization') {
      organization = putProfile(organization, profile);
    } else if (target.kind === 'location') {
      locations.set(target.locationId, putProfile(locations.get(target.locationId) ?? EMPTY_STACK, profile));
    } else {
      const key = connectorKey(target);
      connectors.set(key, putProfile(connectors.get(key) ?? EMPTY_STACK, profile));
    }
  }
  return {
    organization,
    ofLocation: (locationId) => locations.get(locationId) ?? EMPTY_STACK,
    ofConnector: (connector) => connectors.get(connectorKey(connector)) ?? EMPTY_STACK,
  };
}

export interface Recovery {
  /** Rebuilds only actors that differ from their rows, or that died. */
  reconcile(tenantUuid: TenantUuid, state: TenantState, now: EpochMs): void;
  /** Rebuilds every actor that holds profiles at `now`: the way back for states that only move forward. */
  rebuildAll(now: EpochMs): void;
}

export function createRecovery(directory: Directory, assembly: Assembly): Recovery {
  function reconcileTenant(tenantUuid: TenantUuid, state: TenantState, now: EpochMs): void {
    const stacks = indexStacks(state.profiles);
    const held = directory.tenants.get(tenantUuid);
    const tenant =
      held !== undefined && isRunningWith(held.organization.actor.getSnapshot(), stacks.organization)
        ? held
        : assembly.tenant(tenantUuid, stacks.organization, now);
    // For a running tenant this process has newer information on the chargers than the alarms.
    const distrusted = held === undefined ? distrustedOf(state.openAlarms) : NOBODY;
    const reservations = new Map(state.reservations.map((row) => [connectorKey(row), row]));
    const needs = new Map(state.sessionNeeds.map((row) => [connectorKey(row), row]));
    const counted = new Map(state.billedWindows.map((row) => [row.locationId, row]));
    const standings = new Map(state.operatorEvents.map((event) => [event.locationId, event]));
    for (const record of state.locations) {
      const location = tenant.locations.get(record.locationId);
      const rows: LocationRows = {
        own: stacks.ofLocation(record.locationId),
        ofConnector: stacks.ofConnector,
        reservationOf: (connector) => reservations.get(connectorKey(connector)),
        needsOf: (connector) => needs.get(connectorKey(connector)),
        isDistrusted: (connector) => distrusted.has(connectorKey(connector)),
        operatorStanding: heldStanding(location) ?? standings.get(record.locationId),
        billedSoFar: counted.get(record.locationId),
      };
      if (location !== undefined && isLocationAt(location, record, rows)) continue;
      assembly.location(tenant, record, rows, now);
    }
    reconcileClusters(tenant, state);
  }

  function reconcileClusters(tenant: Tenant, state: TenantState): void {
    const kept = new Set<string>(state.clusters.map(({ clusterId }) => clusterId));
    for (const cluster of [...tenant.clusters.values()]) {
      if (!kept.has(cluster.record.clusterId)) directory.dropCluster(cluster);
    }
    for (const record of state.clusters) {
      const cluster = tenant.clusters.get(record.clusterId);
      const isSame =
        cluster?.actor.getSnapshot().status === 'active' && isDeepStrictEqual(cluster.record, record);
      if (!isSame) assembly.cluster(tenant, record);
    }
  }

  function rebuildTenant(tenant: Tenant, now: EpochMs): void {
    assembly.tenant(tenant.tenantUuid, tenant.organization.actor.getSnapshot().context.stack, now);
    for (const location of tenant.locations.values()) {
      assembly.location(tenant, location.record, heldRows(location), now);
    }
  }

  // One tenant at a time as one change: a cluster of a thousand members shares anew once, not after each member.
  return {
    reconcile: (tenantUuid, state, now) => directory.together(() => reconcileTenant(tenantUuid, state, now)),
    rebuildAll(now) {
      for (const tenant of directory.tenants.values()) {
        directory.together(() => rebuildTenant(tenant, now));
      }
    },
  };
}

const NOBODY: ReadonlySet<string> = new Set();

/** Connectors that did not comply at the end of the last service. */
function distrustedOf(alarms: readonly AlarmRecord[]): ReadonlySet<string> {
  return new Set(
    alarms.flatMap(({ kind, controllerUuid, connectorId }) =>
      kind === 'NON_COMPLIANT' && controllerUuid !== null && connectorId !== null
        ? [connectorKey({ controllerUuid, connectorId })]
        : [],
    ),
  );
}

function isRunningWith(
  snapshot: { readonly status: string; readonly context: { readonly stack: ProfileStack } },
  stack: ProfileStack,
): boolean {
  return snapshot.status === 'active' && isDeepStrictEqual(snapshot.context.stack, stack);
}

function isLocationAt(location: LocationEntity, record: LocationRecord, rows: LocationRows): boolean {
  const snapshot = location.actor.getSnapshot();
  if (!isRunningWith(snapshot, rows.own) || !isDeepStrictEqual(location.record, record)) return false;
  return record.connectors.every((connector) => {
    const actor = snapshot.context.connectors.get(connectorKey(connector));
    return actor !== undefined && isRunningWith(actor.getSnapshot(), rows.ofConnector(connector));
  });
}

/**
 * Stacks that the location's actors hold now. They equal the rows, because every write reaches the actors after its
 * commit.
 */
function heldRows(location: LocationEntity): LocationRows {
  const { stack, connectors } = location.actor.getSnapshot().context;
  return {
    own: stack,
    ofConnector: (connector) => connectors.get(connectorKey(connector))?.getSnapshot().context.stack ?? [],
    // Connectors that stay keep their outstanding grants.
    reservationOf: () => undefined,
    needsOf: () => undefined,
    isDistrusted: () => false,
    operatorStanding: heldStanding(location),
    billedSoFar: undefined,
  };
}

/** The state of the running actor precedes the row, which may still be on its way to the disk. */
function heldStanding(location: LocationEntity | undefined): OperatorStanding | undefined {
  const operator = location?.actor.getSnapshot().context.operator;
  return operator && operatorStandingOf(operator);
}
