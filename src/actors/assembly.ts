// Builds actor systems from rows and puts them into their entities: at start, and again after changes of rows or clock.

import { isDeepStrictEqual } from 'node:util';
import { type AnyActor, createActor } from 'xstate';
import type { GrantTiming } from '../../machines/ledger/grant.js';
import { type BilledSoFar, BilledWindow } from '../../machines/limits/billed-window.js';
import { BuildingLoad, type MeteredConnection } from '../../machines/limits/building-load.js';
import { clusterMachine } from '../../machines/limits/cluster.machine.js';
import { forgetInput } from '../../machines/limits/first-snapshot.js';
import { provisionedSources } from '../../machines/limits/limit-rules.js';
import { type OperatorStanding, operatorStandingOf } from '../../machines/limits/lpc.machine.js';
import { organizationMachine } from '../../machines/limits/organization.machine.js';
import type { ProfileStack } from '../../machines/limits/profile-stack.js';
import { POLICIES, type Policy } from '../../machines/policy/policies.js';
import { linkOf } from '../../machines/power/connector.js';
import type { Link } from '../../machines/power/connector.machine.js';
import { ConnectorMinutes } from '../../machines/power/connector-minutes.js';
import { MOST_VOLTAGE } from '../../machines/power/connector-readings.js';
import { type Connection, fusesOf } from '../../machines/power/fuses.js';
import {
  type LocationActor,
  type LocationConnector,
  locationMachine,
} from '../../machines/power/location.machine.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import { PowerMinute } from '../../machines/power/power-minute.js';
import { type ConnectorAddress, connectorKey, type TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Clock } from '../ports/clock.js';
import type {
  ClusterRecord,
  ConnectorRecord,
  LocationRecord,
  ReservationRecord,
  SessionNeedsRecord,
} from '../ports/records.js';
import {
  buildingLoadOf,
  type ClusterEntity,
  type ConnectorEntity,
  type Directory,
  type Effect,
  type LocationEntity,
  type OrganizationEntity,
  supervisorOf,
  type Tenant,
} from './directory.js';

// Parts of a location's machine, from its rows: the connectors, the building beside them, the billed window.

/** Phase to neutral, if the provisioning file names no voltage. */
const NOMINAL_VOLTAGE_V = 230;

/** Rows from which one location's actor system is built. */
export interface LocationRows {
  readonly own: ProfileStack;
  ofConnector(connector: ConnectorRecord): ProfileStack;
  /** Persisted outstanding grant of a connector; undefined without one. */
  reservationOf(connector: ConnectorRecord): ReservationRecord | undefined;
  /** Declared needs of the car at the end of the last service; undefined without any. */
  needsOf(connector: ConnectorRecord): SessionNeedsRecord | undefined;
  /** True if the connector did not comply at the end of the last service. */
  isDistrusted(connector: ConnectorRecord): boolean;
  /** Last state of the grid operator's limit; undefined without one. */
  readonly operatorStanding: OperatorStanding | undefined;
  /** Count of the billed window so far; undefined if there never was one. */
  readonly billedSoFar: BilledSoFar | undefined;
}

function connectorOf(
  location: LocationRecord,
  record: ConnectorRecord,
  rows: LocationRows,
): LocationConnector {
  return {
    key: connectorKey(record),
    stack: rows.ofConnector(record),
    spec: specOf(record, location),
    promised: rows.reservationOf(record),
    isDistrusted: rows.isDistrusted(record),
    needs: rows.needsOf(record),
  };
}

/**
 * Each field by itself: V8 gives every copy by a spread a shape of its own, and code that meets many shapes is slow.
 */
function specOf(record: ConnectorRecord, location: LocationRecord): LocationConnector['spec'] {
  const { phases, voltageV, maxCurrentA, dc, failsafeA, timing } = record;
  const { rotation, feeder, neverPause, operatorMayPause } = record;
  const departures = record.departures ?? location.departures;
  const isActive = record.status === 'ACTIVE' && location.status === 'ACTIVE';
  return {
    phases,
    voltageV,
    maxCurrentA,
    dc,
    failsafeA,
    timing,
    rotation,
    feeder,
    neverPause,
    operatorMayPause,
    departures,
    isActive,
  };
}

/**
 * The present load if its meter is provisioned as before: its readings still count. A new load has no readings, so the
 * building counts as its maximum.
 */
function buildingLoadFor(
  record: LocationRecord,
  held: LocationEntity | undefined,
  now: EpochMs,
): BuildingLoad | undefined {
  const { siteMeter, gridLimitKw, connection } = record;
  if (siteMeter === null) return undefined;
  const { covers, maxBuildingKw, reserveKw, pvRaisesHeadroom } = siteMeter;
  const rule = { covers, maxBuildingKw, reserveKw, pvRaisesHeadroom };
  const metered = connectionOf(gridLimitKw, connection);
  const known = held && buildingLoadOf(held);
  if (isDeepStrictEqual([known?.rule, known?.connection], [rule, metered])) return known;
  return new BuildingLoad(rule, metered, now);
}

/** The present window if it is provisioned as before. */
function billedWindowFor(
  record: LocationRecord,
  held: LocationEntity | undefined,
  soFar: BilledSoFar | undefined,
  now: EpochMs,
): BilledWindow | undefined {
  const { siteMeter, gridLimitKw, connectors } = record;
  const { peakShaving } = record.limitRules;
  if (peakShaving === undefined) return undefined;
  const known = held?.actor.getSnapshot().context.billedWindow;
  if (known !== undefined && isDeepStrictEqual(known.rule, peakShaving)) return known;
  const chargersW = connectors.reduce(
    (sumW, { phases, voltageV, maxCurrentA }) => sumW + phases * voltageV * MOST_VOLTAGE * maxCurrentA,
    0,
  );
  const siteW = chargersW + 1000 * (siteMeter?.maxBuildingKw ?? 0);
  const mostEverW = gridLimitKw === null ? siteW : Math.min(siteW, 1000 * gridLimitKw);
  return new BilledWindow(peakShaving, mostEverW, now, known?.soFar ?? soFar);
}

/** W from the provisioned kW, or else from the amperes at their voltage. */
function connectionOf(gridLimitKw: number | null, connection: Connection | null): MeteredConnection {
  const { currentA, voltageV = NOMINAL_VOLTAGE_V } = connection ?? {};
  const sumA = currentA?.reduce((sum, current) => sum + current, 0) ?? 0;
  const limitW = gridLimitKw === null ? sumA * voltageV : gridLimitKw * 1000;
  return { limitW, currentA, voltageV };
}

interface AssemblyOptions {
  readonly directory: Directory;
  readonly clock: Clock;
  readonly timing: GrantTiming;
  /** Ownership term of this service: the `epoch` of its grants. */
  readonly ownerTerm: number;
  /** Replaces the policies of all locations. */
  readonly policy?: Policy | undefined;
  /** An actor of the tenant threw, and must be rebuilt from rows. Must not throw. */
  onDefect(tenantUuid: TenantUuid, error: unknown): void;
}

/** Each public method builds a missing actor system, and rebuilds an existing one in place. */
export class Assembly {
  readonly #options: AssemblyOptions;

  constructor(options: AssemblyOptions) {
    this.#options = options;
  }

  tenant(tenantUuid: TenantUuid, organizationStack: ProfileStack, now: EpochMs): Tenant {
    const { directory } = this.#options;
    const actor = createActor(organizationMachine, { input: { stack: organizationStack, now } });
    const tenant = directory.tenants.get(tenantUuid);
    tenant?.organization.actor.stop();
    const organization: OrganizationEntity =
      tenant === undefined
        ? { kind: 'organization', tenantUuid, actor }
        : Object.assign(tenant.organization, { actor });
    // No listener: this actor emits no effects, and queries read its profiles.
    this.#run(tenantUuid, actor);
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

  /** A rebuilt location keeps its meter values and cluster shares. */
  location(tenant: Tenant, record: LocationRecord, rows: LocationRows, now: EpochMs): void {
    const { directory, clock } = this.#options;
    const held = tenant.locations.get(record.locationId);
    const linksBefore = new Map<ConnectorEntity, Link>();
    for (const connector of held?.connectors.values() ?? [])
      linksBefore.set(connector, linkOf(connector.control));
    const { permanentLimitKw, connectors } = record;
    const supervisor = held === undefined ? this.#newSupervisor() : supervisorOf(held);
    const actor = createActor(locationMachine, {
      input: {
        permanentLimitKw,
        provisioned: provisionedSources(record),
        operator:
          record.operator === null ? undefined : { rule: record.operator, standing: rows.operatorStanding },
        buildingLoad: buildingLoadFor(record, held, now),
        billedWindow: billedWindowFor(record, held, rows.billedSoFar, now),
        policy: this.#options.policy ?? (record.policy === 'equal' ? undefined : POLICIES[record.policy]),
        stack: rows.own,
        connectors: connectors.map((connector) => connectorOf(record, connector, rows)),
        fuses: fusesOf(record.connection, record.feeders),
        supervisor,
        now,
        nowMs: clock.monotonicMs(),
      },
    });
    held?.actor.stop();
    const location =
      held === undefined
        ? newLocation(tenant, record, actor)
        : Object.assign(held, { record, actor, limitsView: undefined });
    tenant.locations.set(record.locationId, location);
    placeConnectors(location, supervisor);
    this.#run(tenant.tenantUuid, actor, (emit) =>
      actor.on('*', (effect) => emit({ entity: location, effect })),
    );
    if (held !== undefined) this.#remind(location, linksBefore);
    else this.#expectOrders(actor, supervisor, now);
    supervisor.draw.estimate();
    directory.placeLocation(location, now);
  }

  /** The cluster shares its cap at once, so its members must exist. */
  cluster(tenant: Tenant, record: ClusterRecord): ClusterEntity {
    const { directory } = this.#options;
    const actor = createActor(clusterMachine);
    const held = tenant.clusters.get(record.clusterId);
    if (held !== undefined) directory.dropCluster(held);
    const cluster: ClusterEntity = held ?? { kind: 'cluster', tenant, record, actor, members: new Set() };
    Object.assign(cluster, { record, actor });
    this.#run(tenant.tenantUuid, actor, (emit) =>
      actor.on('*', (effect) => emit({ entity: cluster, effect })),
    );
    directory.configureCluster(cluster);
    return cluster;
  }

  /**
   * Starts an actor. A throw in the actor, or in the handling of its effects, is a defect and never an uncaught
   * exception.
   */
  #run(tenantUuid: TenantUuid, actor: AnyActor, listen?: (emit: (effect: Effect) => void) => void): void {
    const { directory, onDefect } = this.#options;
    actor.subscribe({ error: (error) => onDefect(tenantUuid, error) });
    listen?.((effect) => {
      try {
        directory.carry(effect);
      } catch (error) {
        onDefect(tenantUuid, error);
      }
    });
    actor.start();
    forgetInput(actor);
  }

  /** An operator that limited the location before the service's start may do so again, as without an interruption. */
  #expectOrders(actor: LocationActor, supervisor: LocationSupervisor, now: EpochMs): void {
    const { operator } = actor.getSnapshot().context;
    if (operator === undefined) return;
    const { limitKw, sinceMs } = operatorStandingOf(operator);
    const agoMs = limitKw === undefined ? now - sinceMs : 0;
    supervisor.expectOrdersSince(this.#options.clock.monotonicMs() - agoMs);
  }

  #newSupervisor(): LocationSupervisor {
    const { timing, ownerTerm } = this.#options;
    return new LocationSupervisor({ timing, ownerTerm });
  }

  /**
   * Restores state of a rebuilt location that its rows do not hold: the links of its chargers, and its clusters'
   * shares.
   */
  #remind(location: LocationEntity, linksBefore: ReadonlyMap<ConnectorEntity, Link>): void {
    const { directory } = this.#options;
    for (const [key, connector] of location.connectors) {
      const isThere = (linksBefore.get(connector) ?? 'offline') !== 'offline';
      const type = connector.control.telemetry.slot.isFresh
        ? 'meter.received'
        : isThere
          ? 'charger.connected'
          : undefined;
      if (type !== undefined)
        directory.sendToLocation(location, { type: 'connector.event', key, event: { type } });
    }
    for (const cluster of location.clusters) {
      directory.sendToLocation(location, {
        type: 'clusterShare.set',
        clusterId: cluster.record.clusterId,
        share: cluster.actor.getSnapshot().context.shares.get(location.record.locationId),
      });
    }
    directory.noteMember(location);
  }
}

function newLocation(tenant: Tenant, record: LocationRecord, actor: LocationActor): LocationEntity {
  return {
    kind: 'location',
    tenant,
    record,
    actor,
    connectors: new Map(),
    clusters: new Set(),
    limitsView: undefined,
    alarms: new Map(),
    mutes: new Map(),
    minute: new PowerMinute(),
    decidedAtMs: Number.NEGATIVE_INFINITY,
  };
}

function addressOf({ tenant, record }: LocationEntity, connector: ConnectorRecord): ConnectorAddress {
  const { controllerUuid, connectorId } = connector;
  return { tenantUuid: tenant.tenantUuid, locationId: record.locationId, controllerUuid, connectorId };
}

/** A connector that the supervisor keeps stays the same entity, so that references to it stay valid. */
function placeConnectors(location: LocationEntity, supervisor: LocationSupervisor): void {
  const { tenant, connectors } = location;
  const before = new Map(connectors);
  connectors.clear();
  for (const record of location.record.connectors) {
    const control = supervisor.connectors.get(connectorKey(record));
    if (control === undefined) throw new Error(`the location has no connector ${connectorKey(record)}`);
    const { key } = control;
    const held = before.get(key);
    const connector: ConnectorEntity =
      held?.control === control
        ? Object.assign(held, { record })
        : {
            location,
            record,
            address: addressOf(location, record),
            control,
            minutes: held?.minutes ?? new ConnectorMinutes(),
          };
    connectors.set(key, connector);
    tenant.connectors.set(key, connector);
    before.delete(key);
  }
  for (const [key, gone] of before) if (tenant.connectors.get(key) === gone) tenant.connectors.delete(key);
}
