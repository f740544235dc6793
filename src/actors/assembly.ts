// Builds actor systems from rows and puts them into their entities: at start, and again after changes of rows or clock.

import { isDeepStrictEqual } from 'node:util';
import { type Actor, type AnyActor, createActor } from 'xstate';
import type { GrantTiming } from '../../machines/ledger/grant.js';
import { type BilledSoFar, BilledWindow } from '../../machines/limits/billed-window.js';
import { BuildingLoad, type MeteredConnection } from '../../machines/limits/building-load.js';
import { clusterMachine } from '../../machines/limits/cluster.machine.js';
import { provisionedSources } from '../../machines/limits/limit-rules.js';
import { operatorStandingOf } from '../../machines/limits/lpc.machine.js';
import { organizationMachine } from '../../machines/limits/organization.machine.js';
import { isAnyActive } from '../../machines/limits/profile.machine.js';
import { nextBoundaryAfter, type ProfileStack } from '../../machines/limits/profile-stack.js';
import type { Instant } from '../../machines/power/budget.js';
import { linkOf, provisionedFailsafeWOf } from '../../machines/power/connector.js';
import type { Link } from '../../machines/power/connector.machine.js';
import { MOST_VOLTAGE } from '../../machines/power/connector-readings.js';
import { type Connection, fusesOf } from '../../machines/power/fuses.js';
import {
  type LocationActor,
  type LocationConnector,
  locationMachine,
} from '../../machines/power/location.machine.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import { connectorKey, type TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import { wattsOfLimit } from '../../machines/values/units.js';
import type { Clock } from '../ports/clock.js';
import type { ClusterRecord, ConnectorRecord, LocationRecord } from '../ports/records.js';
import {
  buildingLoadOf,
  type ClusterEntity,
  ConnectorEntity,
  type Directory,
  type Effect,
  LocationEntity,
  type LocationRows,
  type OrganizationEntity,
  type Rest,
  supervisorOf,
  type Tenant,
} from './directory.js';

// Parts of a location's machine, from its rows: the connectors, the building beside them, the billed window.

/** Phase to neutral, if the provisioning file names no voltage. */
const NOMINAL_VOLTAGE_V = 230;

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
  };
}

/**
 * Each field by itself: V8 gives every copy by a spread a shape of its own, and code that meets many shapes is slow.
 */
function specOf(record: ConnectorRecord, location: LocationRecord): LocationConnector['spec'] {
  const { phases, voltageV, maxCurrentA, dc, failsafeA, timing } = record;
  const { rotation, feeder, neverPause, operatorMayPause } = record;
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
  /** An actor of the tenant threw, and must be rebuilt from rows. Must not throw. */
  onDefect(tenantUuid: TenantUuid, error: unknown): void;
}

/** Each public method builds a missing actor system, and rebuilds an existing one in place. */
export class Assembly {
  readonly #options: AssemblyOptions;
  /** Counts locations at rest, so that those with one boundary are built one after the other. */
  #rested = 0;

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

  /**
   * A rebuilt location keeps its meter values and cluster shares. A new one may rest.
   * @param canRest neither a cluster nor an open alarm needs its actors
   */
  location(tenant: Tenant, record: LocationRecord, rows: LocationRows, now: EpochMs, canRest: boolean): void {
    const at = { now, nowMs: this.#options.clock.monotonicMs() };
    const held = tenant.locations.get(record.locationId);
    if (held !== undefined) {
      this.#rebuild(held, record, rows, at);
      return;
    }
    const location = new LocationEntity(tenant, record);
    tenant.locations.set(record.locationId, location);
    this.#begin(location, rows, at, canRest ? this.#restEndOf(record, rows, now) : undefined);
  }

  /** For a wall clock that went back: the rest goes on as of `now`, unless the location needs its actors then. */
  restAgain(location: LocationEntity, { rows, sinceMs }: Rest, now: EpochMs): void {
    const buildAtMs = this.#restEndOf(location.record, rows, now);
    this.#begin(location, rows, { now, nowMs: sinceMs }, buildAtMs);
  }

  /** @param buildAtMs end of its rest; undefined without one */
  #begin(location: LocationEntity, rows: LocationRows, at: Instant, buildAtMs: EpochMs | undefined): void {
    const { directory } = this.#options;
    // A write may replace the record before its event builds the location.
    const { record } = location;
    if (buildAtMs === undefined) {
      this.#build(location, record, rows, at);
      directory.placeLocation(location, at.now);
      return;
    }
    const build = () => {
      this.#build(location, record, rows, at);
      directory.placeRested(location, at);
    };
    placeConnectors(location, undefined);
    location.rest = { rows, sinceMs: at.nowMs, buildAtMs, build };
    directory.rearm(location, at.now);
  }

  /** Undefined for a location that cannot rest. */
  #restEndOf(record: LocationRecord, rows: LocationRows, now: EpochMs): EpochMs | undefined {
    const boundary = restBoundaryOf(record, rows, now);
    if (boundary === undefined) return undefined;
    this.#rested = (this.#rested + 1) % MOST_APART;
    const buildAtMs = boundary - BUILT_AHEAD_MS - this.#rested * BUILT_APART_MS;
    return buildAtMs > now ? buildAtMs : undefined;
  }

  #build(location: LocationEntity, record: LocationRecord, rows: LocationRows, at: Instant): void {
    const supervisor = this.#newSupervisor();
    const actor = this.#createLocation(record, undefined, supervisor, rows, at);
    location.actor = actor;
    placeConnectors(location, supervisor);
    this.#runLocation(location, actor);
    this.#expectOrders(actor, supervisor, at.now);
    supervisor.draw.estimate();
  }

  #rebuild(location: LocationEntity, record: LocationRecord, rows: LocationRows, at: Instant): void {
    const linksBefore = new Map<ConnectorEntity, Link>();
    for (const connector of location.connectors.values())
      linksBefore.set(connector, linkOf(connector.control));
    const supervisor = supervisorOf(location);
    const actor = this.#createLocation(record, location, supervisor, rows, at);
    location.actor.stop();
    Object.assign(location, { record, actor });
    placeConnectors(location, supervisor);
    this.#runLocation(location, actor);
    this.#remind(location, linksBefore);
    supervisor.draw.estimate();
    this.#options.directory.placeLocation(location, at.now);
  }

  #createLocation(
    record: LocationRecord,
    held: LocationEntity | undefined,
    supervisor: LocationSupervisor,
    rows: LocationRows,
    { now, nowMs }: Instant,
  ): Actor<typeof locationMachine> {
    const { permanentLimitKw, connectors } = record;
    return createActor(locationMachine, {
      input: {
        permanentLimitKw,
        provisioned: provisionedSources(record),
        operator:
          record.operator === null ? undefined : { rule: record.operator, standing: rows.operatorStanding },
        buildingLoad: buildingLoadFor(record, held, now),
        billedWindow: billedWindowFor(record, held, rows.billedSoFar, now),
        stack: rows.own,
        connectors: connectors.map((connector) => connectorOf(record, connector, rows)),
        fuses: fusesOf(record.connection, record.feeders),
        supervisor,
        now,
        nowMs,
      },
    });
  }

  #runLocation(location: LocationEntity, actor: Actor<typeof locationMachine>): void {
    this.#run(location.tenant.tenantUuid, actor, (emit) =>
      actor.on('*', (effect) => emit({ entity: location, effect })),
    );
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

/** A connector that the supervisor keeps stays the same entity, so that references to it stay valid. */
function placeConnectors(location: LocationEntity, supervisor: LocationSupervisor | undefined): void {
  const { tenant, connectors } = location;
  const before = new Map(connectors);
  connectors.clear();
  for (const record of location.record.connectors) {
    const key = connectorKey(record);
    const control = supervisor?.connectors.get(key);
    const held = before.get(key);
    const connector = held?.follows(control) === true ? held : new ConnectorEntity(location, record);
    connector.place(record, control);
    connectors.set(key, connector);
    tenant.connectors.set(key, connector);
    before.delete(key);
  }
  for (const [key, gone] of before) if (tenant.connectors.get(key) === gone) tenant.connectors.delete(key);
}

// Rest: the rows of the location determine all that a reader can see of it.

/**
 * A location is built this long before its boundary, and thousands with the same boundary one after another: their
 * windows then begin as fast as without a rest.
 */
const BUILT_AHEAD_MS = 60_000;
const BUILT_APART_MS = 5;
const MOST_APART = 12_000;

/**
 * The next boundary of a location that can rest, infinite without one; undefined if it needs its actors. At rest no
 * charger has a grant, no lock holds, and no alarm but `OFFLINE` can begin: only profiles limit the location, and all
 * fail-safes fit the lowest of them.
 */
function restBoundaryOf(record: LocationRecord, rows: LocationRows, now: EpochMs): EpochMs | undefined {
  const { operator, siteMeter, connection, feeders, limitRules, connectors } = record;
  const { permanentLimitKw, gridLimitKw } = record;
  const isOtherwiseLimited = operator !== null || siteMeter !== null || connection !== null;
  const isRuled = Object.values(limitRules).some((rule) => rule !== undefined);
  if (isOtherwiseLimited || isRuled || feeders.length > 0) return undefined;
  let next = nextBoundaryAfter(rows.own, now) ?? Number.POSITIVE_INFINITY;
  let failsafesW = 0;
  for (const connector of connectors) {
    const locks = rows.ofConnector(connector);
    if (rows.reservationOf(connector) !== undefined || isAnyActive(locks, now)) return undefined;
    next = Math.min(next, nextBoundaryAfter(locks, now) ?? next);
    failsafesW += provisionedFailsafeWOf(connector);
  }
  let lowestKw = Math.min(permanentLimitKw, gridLimitKw ?? permanentLimitKw);
  for (const { limitKw, endsAtMs } of rows.own) if (endsAtMs > now) lowestKw = Math.min(lowestKw, limitKw);
  return failsafesW <= wattsOfLimit(lowestKw) ? next : undefined;
}
