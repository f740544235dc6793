// Builds actor systems from rows and puts them in their entities: at start, and again whenever rows or clock say so.
import { type AnyActor, createActor } from 'xstate';
import { clusterMachine } from '../../machines/limits/cluster.machine.js';
import { organizationMachine } from '../../machines/limits/organization.machine.js';
import type { ProfileStack } from '../../machines/limits/profile-stack.js';
import type { ConnectorActor, Link } from '../../machines/power/connector.machine.js';
import { type ConnectorSpec, linkOf, turnOf } from '../../machines/power/connector-control.js';
import { estimatedWOf } from '../../machines/power/counted-power.js';
import type { GrantTiming } from '../../machines/power/grant-ledger.js';
import { type LocationActor, locationMachine } from '../../machines/power/location.machine.js';
import { createMeterLedger } from '../../machines/power/meter-ledger.js';
import { connectorKey, type TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import { createConnectorEntity } from '../enforcement/connector-meter.js';
import type { Enforcement } from '../enforcement/enforcement.js';
import { createLocationEnforcement } from '../enforcement/location-enforcement.js';
import type { Clock } from '../ports/clock.js';
import type {
  AlarmRecord,
  ClusterRecord,
  ConnectorRecord,
  LocationRecord,
  ReservationRecord,
} from '../ports/records.js';
import type { Directory, Effect } from './directory.js';
import {
  type ClusterEntity,
  type ConnectorEntity,
  connectorActorOf,
  type LocationEntity,
  type OrganizationEntity,
  type Tenant,
} from './entities.js';

/** The rows that one location's actor system is built from. */
export interface LocationRows {
  readonly own: ProfileStack;
  ofConnector(connector: ConnectorRecord): ProfileStack;
  /** What a connector was promised before; undefined where nothing. */
  reservationOf(connector: ConnectorRecord): ReservationRecord | undefined;
}

interface AssemblyOptions {
  readonly directory: Directory;
  /** A connector that sends nothing for this long is stale. */
  readonly staleAfterMs: number;
  readonly clock: Clock;
  readonly timing: GrantTiming;
  /** The epoch of this service's grants. */
  readonly epoch: number;
  readonly enforcement: Enforcement;
  /** An actor of the tenant threw: it must be built again from rows. Must not throw. */
  onDefect(tenantUuid: TenantUuid, error: unknown): void;
}

/** Each public method but `openAlarms` builds what is not there yet, and builds anew, in place, what is. */
export class Assembly {
  readonly #options: AssemblyOptions;

  constructor(options: AssemblyOptions) {
    this.#options = options;
  }

  tenant(tenantUuid: TenantUuid, organizationStack: ProfileStack, now: EpochMs): Tenant {
    const { directory } = this.#options;
    const actor = createActor(organizationMachine, { input: { stack: organizationStack, now } });
    const tenant = directory.tenant(tenantUuid);
    tenant?.organization.actor.stop();
    const organization: OrganizationEntity =
      tenant === undefined
        ? { kind: 'organization', tenantUuid, actor, dueRank: undefined }
        : Object.assign(tenant.organization, { actor });
    this.#run(tenantUuid, actor, (take) => actor.on('*', (effect) => take({ entity: organization, effect })));
    directory.rearm(organization, now);
    if (tenant !== undefined) return tenant;
    return directory.addTenant({
      tenantUuid,
      locations: new Map(),
      connectors: new Map(),
      clusters: new Map(),
      organization,
    });
  }

  /** Meter values and cluster shares of a location that is built anew stay. */
  location(tenant: Tenant, record: LocationRecord, rows: LocationRows, now: EpochMs): void {
    const { directory, enforcement } = this.#options;
    const held = tenant.locations.get(record.locationId);
    const linksBefore = new Map<ConnectorEntity, Link>();
    for (const connector of held?.connectors.values() ?? [])
      linksBefore.set(connector, linkOf(connector.control));
    const actor = locationActor(record, rows, held, now);
    held?.actor.stop();
    const location =
      held === undefined
        ? this.#newLocation(tenant, record, actor)
        : Object.assign(held, { record, actor, limitsView: undefined });
    tenant.locations.set(record.locationId, location);
    this.#placeConnectors(location, rows);
    this.#run(tenant.tenantUuid, actor, (take) =>
      actor.on('*', (effect) => take({ entity: location, effect })),
    );
    if (held !== undefined) this.#remind(location, linksBefore);
    location.enforcement.estimatedW = estimatedWOf(location.enforcement.supervisor.controls.values());
    directory.rearm(location, now);
    enforcement.decideSoon(location);
  }

  /** Takes alarms that were open when the service ended. */
  openAlarms(tenant: Tenant, alarms: readonly AlarmRecord[]): void {
    for (const alarm of alarms) {
      const location = tenant.locations.get(alarm.locationId);
      if (location !== undefined) this.#options.enforcement.openAlarm(location, alarm);
    }
  }

  /** Lets the cluster share at once; its members must be there. */
  cluster(tenant: Tenant, record: ClusterRecord): ClusterEntity {
    const { directory } = this.#options;
    const actor = createActor(clusterMachine);
    const held = tenant.clusters.get(record.clusterId);
    if (held !== undefined) directory.dropCluster(held);
    const cluster: ClusterEntity = held ?? { kind: 'cluster', tenant, record, actor, members: new Set() };
    Object.assign(cluster, { record, actor });
    this.#run(tenant.tenantUuid, actor, (take) =>
      actor.on('*', (effect) => take({ entity: cluster, effect })),
    );
    directory.configureCluster(cluster);
    return cluster;
  }

  /** Starts an actor. A throw in it, or in what its effects set off, is a defect, never an uncaught exception. */
  #run(tenantUuid: TenantUuid, actor: AnyActor, listen: (take: (effect: Effect) => void) => void): void {
    const { directory, onDefect } = this.#options;
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

  #newLocation(tenant: Tenant, record: LocationRecord, actor: LocationActor): LocationEntity {
    const { staleAfterMs, timing, epoch } = this.#options;
    return {
      kind: 'location',
      tenant,
      record,
      actor,
      meters: createMeterLedger(staleAfterMs),
      enforcement: createLocationEnforcement(timing, epoch),
      connectors: new Map(),
      clusters: new Set(),
      limitsView: undefined,
      dueRank: undefined,
      wakeAtMs: undefined,
    };
  }

  /** Connectors that are as they were keep their readings; those that are gone, or another, lose them. */
  #placeConnectors(location: LocationEntity, rows: LocationRows): void {
    const before = new Map(location.connectors);
    location.connectors.clear();
    for (const record of location.record.connectors) {
      const key = connectorKey(record);
      const connector = this.#placeConnector(location, record, rows, before.get(key));
      before.delete(key);
      location.connectors.set(key, connector);
      location.tenant.connectors.set(key, connector);
    }
    for (const [key, gone] of before) {
      location.meters.removeConnector(gone.slot);
      location.enforcement.supervisor.remove(gone.control);
      if (location.tenant.connectors.get(key) === gone) location.tenant.connectors.delete(key);
    }
  }

  #placeConnector(
    location: LocationEntity,
    record: ConnectorRecord,
    rows: LocationRows,
    held?: ConnectorEntity,
  ): ConnectorEntity {
    const { supervisor } = location.enforcement;
    if (held !== undefined && isSameRating(held.record, record)) {
      supervisor.adopt(held.control, actorOf(location, held.control.key));
      supervisor.respecify(held.control, specOf(location, record));
      return Object.assign(held, { record });
    }
    const { clock, directory, enforcement } = this.#options;
    if (held !== undefined) location.meters.removeConnector(held.slot);
    const key = connectorKey(record);
    const slot = location.meters.addConnector(key);
    const reserved = rows.reservationOf(record);
    const nowMs = clock.monotonicMs();
    const actor = actorOf(location, key);
    const lease = reserved?.lease ?? 'receipt';
    const control = supervisor.add(key, slot, actor, specOf(location, record), lease, nowMs);
    if (held !== undefined) {
      supervisor.replace(held.control, control, nowMs);
    } else if (reserved !== undefined) {
      supervisor.restore(control, reserved.limitTenthsA, reserved.thenTenthsA, nowMs);
    }
    return createConnectorEntity({ location, record, slot, control }, directory, enforcement);
  }

  /** Tells a location that was built anew what its rows do not say: how its chargers are reached, and the clusters' shares. */
  #remind(location: LocationEntity, linksBefore: ReadonlyMap<ConnectorEntity, Link>): void {
    const { directory } = this.#options;
    for (const [key, connector] of location.connectors) {
      const isThere = (linksBefore.get(connector) ?? 'offline') !== 'offline';
      const type = connector.slot.isFresh ? 'meter.heard' : isThere ? 'charger.connected' : undefined;
      if (type !== undefined)
        directory.tellLocation(location, { type: 'connector.told', key, event: { type } });
    }
    for (const cluster of location.clusters) {
      const shareW = cluster.actor.getSnapshot().context.sharesW.get(location.record.locationId);
      directory.tellLocation(location, {
        type: 'clusterShare.set',
        clusterId: cluster.record.clusterId,
        shareKw: shareW === undefined ? undefined : shareW / 1000,
      });
    }
    directory.noteMember(location);
  }
}

function locationActor(
  record: LocationRecord,
  rows: LocationRows,
  held: LocationEntity | undefined,
  now: EpochMs,
) {
  const connectors = record.connectors.map((connector) => {
    const key = connectorKey(connector);
    const control = held?.connectors.get(key)?.control;
    const stack = rows.ofConnector(connector);
    return control === undefined ? { key, stack } : { key, stack, turn: turnOf(control) };
  });
  const { permanentLimitKw } = record;
  const connectionLimitKw = record.gridLimitKw ?? undefined;
  return createActor(locationMachine, {
    input: { permanentLimitKw, connectionLimitKw, stack: rows.own, connectors, now },
  });
}

function specOf(location: LocationEntity, record: ConnectorRecord): ConnectorSpec {
  return { ...record, isActive: record.status === 'ACTIVE' && location.record.status === 'ACTIVE' };
}

function actorOf(location: LocationEntity, key: string): ConnectorActor {
  const actor = connectorActorOf(location, key);
  if (actor === undefined) throw new Error(`the location has no connector ${key}`);
  return actor;
}

function isSameRating(a: ConnectorRecord, b: ConnectorRecord): boolean {
  return a.maxCurrentA === b.maxCurrentA && a.phases === b.phases && a.voltageV === b.voltageV;
}
