// Builds actor systems from rows and puts them in their entities: at start, and again whenever rows or clock say so.
import { type AnyActor, createActor } from 'xstate';
import { clusterMachine } from '../../machines/cluster.machine.js';
import { connectorKey, type TenantUuid } from '../../machines/ids.js';
import { locationMachine } from '../../machines/location.machine.js';
import { createMeterLedger } from '../../machines/meter-ledger.js';
import { organizationMachine } from '../../machines/organization.machine.js';
import type { ProfileStack } from '../../machines/profile-stack.js';
import type { EpochMs } from '../../machines/time.js';
import type { ClusterRecord, ConnectorRecord, LocationRecord } from '../ports/records.js';
import { createConnectorMeter, tellModes } from './connector-meter.js';
import type { Directory, Effect } from './directory.js';
import type {
  ClusterEntity,
  ConnectorEntity,
  LocationEntity,
  OrganizationEntity,
  Tenant,
} from './entities.js';

/** The stacks one location's actor system is built from. */
export interface LocationStacks {
  readonly own: ProfileStack;
  ofConnector(connector: ConnectorRecord): ProfileStack;
}

/** Each function builds what is not there yet, and builds anew, in place, what is. */
export interface Assembly {
  tenant(tenantUuid: TenantUuid, organizationStack: ProfileStack, now: EpochMs): Tenant;
  /** Meter values and cluster shares of a location that is built anew stay. */
  location(tenant: Tenant, record: LocationRecord, stacks: LocationStacks, now: EpochMs): void;
  /** Lets the cluster share at once; its members must be there. */
  cluster(tenant: Tenant, record: ClusterRecord): ClusterEntity;
}

interface AssemblyOptions {
  readonly directory: Directory;
  /** A connector that sends nothing for this long is stale. */
  readonly staleAfterMs: number;
  /** An actor of the tenant threw: it must be built again from rows. Must not throw. */
  onDefect(tenantUuid: TenantUuid, error: unknown): void;
}

export function createAssembly({ directory, staleAfterMs, onDefect }: AssemblyOptions): Assembly {
  /** Starts an actor. A throw in it, or in what its effects set off, is a defect, never an uncaught exception. */
  function run(
    tenantUuid: TenantUuid,
    actor: AnyActor,
    listen: (take: (effect: Effect) => void) => void,
  ): void {
    actor.subscribe({ error: (error) => onDefect(tenantUuid, error) });
    listen((effect) => {
      try {
        directory.take(effect);
      } catch (error) {
        onDefect(tenantUuid, error);
      }
    });
    actor.start();
  }

  function locationActor(record: LocationRecord, stacks: LocationStacks, now: EpochMs) {
    const connectors = record.connectors.map((connector) => ({
      key: connectorKey(connector),
      stack: stacks.ofConnector(connector),
    }));
    const { permanentLimitKw } = record;
    const connectionLimitKw = record.gridLimitKw ?? undefined;
    return createActor(locationMachine, {
      input: { permanentLimitKw, connectionLimitKw, stack: stacks.own, connectors, now },
    });
  }

  /** Connectors that are as they were keep their readings; those that are gone, or another, lose them. */
  function placeConnectors(location: LocationEntity): void {
    const before = new Map(location.connectors);
    location.connectors.clear();
    for (const record of location.record.connectors) {
      const key = connectorKey(record);
      const connector = placeConnector(location, record, before.get(key));
      before.delete(key);
      location.connectors.set(key, connector);
      location.tenant.connectors.set(key, connector);
    }
    for (const [key, gone] of before) {
      location.meters.removeConnector(gone.slot);
      if (location.tenant.connectors.get(key) === gone) location.tenant.connectors.delete(key);
    }
  }

  function placeConnector(
    location: LocationEntity,
    record: ConnectorRecord,
    held?: ConnectorEntity,
  ): ConnectorEntity {
    if (held?.record.maxCurrentA === record.maxCurrentA) return { ...held, record };
    if (held !== undefined) location.meters.removeConnector(held.slot);
    const slot = location.meters.addConnector(connectorKey(record), record.maxCurrentA);
    return { location, record, slot, meter: createConnectorMeter(directory, location, slot) };
  }

  /** Tells a location that was built anew what its rows do not say: the chargers' modes and the clusters' shares. */
  function remind(location: LocationEntity): void {
    for (const slot of location.meters.connectors()) tellModes(directory, location, slot);
    for (const cluster of location.clusters) {
      const shareKw = cluster.actor.getSnapshot().context.sharesKw.get(location.record.locationId);
      directory.tellLocation(location, {
        type: 'clusterShare.set',
        clusterId: cluster.record.clusterId,
        shareKw,
      });
    }
    directory.noteMember(location);
  }

  return {
    tenant(tenantUuid, organizationStack, now) {
      const actor = createActor(organizationMachine, { input: { stack: organizationStack, now } });
      const tenant = directory.tenant(tenantUuid);
      tenant?.organization.actor.stop();
      const organization: OrganizationEntity =
        tenant === undefined
          ? { kind: 'organization', tenantUuid, actor, dueRank: undefined }
          : Object.assign(tenant.organization, { actor });
      run(tenantUuid, actor, (take) => actor.on('*', (effect) => take({ entity: organization, effect })));
      directory.rearm(organization, now);
      if (tenant !== undefined) return tenant;
      return directory.addTenant({
        tenantUuid,
        locations: new Map(),
        connectors: new Map(),
        clusters: new Map(),
        organization,
      });
    },

    location(tenant, record, stacks, now) {
      const actor = locationActor(record, stacks, now);
      const held = tenant.locations.get(record.locationId);
      held?.actor.stop();
      const location: LocationEntity =
        held === undefined
          ? {
              kind: 'location',
              tenant,
              record,
              actor,
              meters: createMeterLedger(staleAfterMs),
              connectors: new Map(),
              clusters: new Set(),
              limitsView: undefined,
              dueRank: undefined,
            }
          : Object.assign(held, { record, actor, limitsView: undefined });
      tenant.locations.set(record.locationId, location);
      placeConnectors(location);
      run(tenant.tenantUuid, actor, (take) => actor.on('*', (effect) => take({ entity: location, effect })));
      if (held !== undefined) remind(location);
      directory.rearm(location, now);
    },

    cluster(tenant, record) {
      const actor = createActor(clusterMachine);
      const held = tenant.clusters.get(record.clusterId);
      if (held !== undefined) directory.dropCluster(held);
      const cluster: ClusterEntity = held ?? { kind: 'cluster', tenant, record, actor, members: new Set() };
      Object.assign(cluster, { record, actor });
      run(tenant.tenantUuid, actor, (take) => actor.on('*', (effect) => take({ entity: cluster, effect })));
      directory.configureCluster(cluster);
      return cluster;
    },
  };
}
