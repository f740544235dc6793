// Holds the entities: maps ids to their actor systems, sends events, and passes effects on. It is their only path.

import type { BuildingLoad } from '../../machines/limits/building-load.js';
import type { ClusterActor, ClusterEffect, ClusterShare } from '../../machines/limits/cluster.machine.js';
import type { ClusterMember } from '../../machines/limits/cluster-shares.js';
import type { GrantedShare } from '../../machines/limits/limit-in-force.js';
import type { OrganizationActor } from '../../machines/limits/organization.machine.js';
import type { HolderEvent, ProfileHolder } from '../../machines/limits/profile.machine.js';
import { EMPTY_STACK, nextBoundaryAfter, type ProfileStack } from '../../machines/limits/profile-stack.js';
import { leastShareWOf } from '../../machines/power/budget.js';
import type { Connector } from '../../machines/power/connector.js';
import type { ConnectorActor } from '../../machines/power/connector.machine.js';
import type { ConnectorMinutes } from '../../machines/power/connector-minutes.js';
import type { LocationEffect, LocationEvent } from '../../machines/power/location.machine.js';
import { type LocationActor, nextLocationBoundary } from '../../machines/power/location.machine.js';
import type { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import type { PowerMinute } from '../../machines/power/power-minute.js';
import type { ClusterId, ConnectorAddress, LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Clock } from '../ports/clock.js';
import type {
  AlarmMuteRecord,
  AlarmRecord,
  ClusterRecord,
  ConnectorRecord,
  LocationRecord,
  SessionNeedsRecord,
} from '../ports/records.js';
import type { Scheduler } from './scheduler.js';

// Entities of the directory: each location, cluster and organization with its actor system and its data.

/** The actor of a rebuilt location is replaced in place, so that references to the entity stay valid. */
export interface LocationEntity {
  readonly kind: 'location';
  readonly tenant: Tenant;
  record: LocationRecord;
  actor: LocationActor;
  /** By `connectorKey`. */
  readonly connectors: Map<string, ConnectorEntity>;
  /** Clusters that the location is a member of. */
  readonly clusters: Set<ClusterEntity>;
  /** The last limits view; dropped at every event, boundaries included. */
  limitsView: object | undefined;
  /** Open alarms by kind and connector. Only the alarm book writes them. */
  readonly alarms: Map<string, AlarmRecord>;
  /** Mutes by kind and connector, until their end. Only the alarm book writes them. */
  readonly mutes: Map<string, AlarmMuteRecord>;
  /** Draw in the present minute. */
  readonly minute: PowerMinute;
  /** Last decision, on the monotonic clock. Only enforcement writes it. */
  decidedAtMs: number;
}

export interface ConnectorEntity {
  readonly location: LocationEntity;
  record: ConnectorRecord;
  /** Address for limits; the same object as long as the entity lives. */
  readonly address: ConnectorAddress;
  /** Only the location's supervisor writes it. */
  readonly control: Connector;
  /** Its power and limit by the minute. Only enforcement and the power history write it. */
  readonly minutes: ConnectorMinutes;
}

export interface ClusterEntity {
  readonly kind: 'cluster';
  readonly tenant: Tenant;
  record: ClusterRecord;
  actor: ClusterActor;
  readonly members: Set<LocationEntity>;
}

export interface OrganizationEntity {
  readonly kind: 'organization';
  readonly tenantUuid: TenantUuid;
  actor: OrganizationActor;
}

export interface Tenant {
  readonly tenantUuid: TenantUuid;
  readonly locations: Map<LocationId, LocationEntity>;
  /** By `connectorKey`. */
  readonly connectors: Map<string, ConnectorEntity>;
  /** By cluster id. */
  readonly clusters: Map<string, ClusterEntity>;
  readonly organization: OrganizationEntity;
}

/** An entity with boundaries on the scheduler. */
export type TimedEntity = LocationEntity | OrganizationEntity;

/**
 * The location's own effective limit as of its last event, kW. For the present value the directory must catch up first.
 */
export function effectiveLimitKwOf({ actor }: LocationEntity): number {
  return actor.getSnapshot().context.limit.effectiveLimitKw;
}

/** Estimate of the building beside the chargers; undefined without a meter. */
export function buildingLoadOf({ actor }: LocationEntity): BuildingLoad | undefined {
  return actor.getSnapshot().context.siteMeter?.getSnapshot().context.load;
}

/** The session of the connector's car, from which a restart continues it. */
export function needsRecordOf({ record, control: { needs, energy } }: ConnectorEntity): SessionNeedsRecord {
  const { controllerUuid, connectorId } = record;
  const { declared, deliveredWh, charged, session, idTag, arrivedAtMs, peakW, isIntegrated, times } = needs;
  return {
    controllerUuid,
    connectorId,
    declared,
    deliveredWh,
    charged,
    session,
    idTag,
    arrivedAtMs,
    peakW,
    isIntegrated,
    times: { chargingMs: times.chargingMs, limitedMs: { ...times.limitedMs } },
    energy: energy.stored,
  };
}

export function supervisorOf({ actor }: LocationEntity): LocationSupervisor {
  return actor.getSnapshot().context.supervisor;
}

/** Powers in kW. */
export interface DrawnKw {
  readonly actualKw: number;
  /** Estimated part of it; null if everything is measured. */
  readonly estimatedKw: number | null;
}

export function drawnKwOf(location: LocationEntity): DrawnKw {
  const { actualW, estimatedW } = supervisorOf(location).draw.now;
  return { actualKw: actualW / 1000, estimatedKw: estimatedW === undefined ? null : estimatedW / 1000 };
}

/** A child of the location's actor. */
export function connectorActorOf(location: LocationEntity, key: string): ConnectorActor | undefined {
  return location.actor.getSnapshot().context.connectors.get(key);
}

export function connectorProfilesOf(location: LocationEntity, key: string): ProfileHolder {
  return connectorActorOf(location, key)?.getSnapshot().context ?? NO_PROFILES;
}

export function connectorStackOf(location: LocationEntity, key: string): ProfileStack {
  return connectorActorOf(location, key)?.getSnapshot().context.stack ?? EMPTY_STACK;
}

const NO_PROFILES: ProfileHolder = { stack: EMPTY_STACK, profiles: new Map(), toldAtMs: 0 };

/** An effect, with the entity that emitted it. */
export type Effect =
  | { readonly entity: LocationEntity; readonly effect: LocationEffect }
  | { readonly entity: ClusterEntity; readonly effect: ClusterEffect };

export interface DirectoryListener {
  /** Called for every effect, after the entities have received it; must not throw. */
  onEffect(effect: Effect): void;
  /** The present or a later limit of the location may have changed. */
  onPlan(location: LocationEntity): void;
}

export class Directory {
  readonly #clock: Clock;
  readonly #scheduler: Scheduler<TimedEntity>;
  readonly #tenants = new Map<TenantUuid, Tenant>();
  readonly tenants: ReadonlyMap<TenantUuid, Tenant> = this.#tenants;
  /** New limits of cluster members. The cluster receives them after the present event has been handled everywhere. */
  readonly #changedMembers = new Map<ClusterEntity, Map<LocationId, ClusterMember>>();
  #depth = 0;
  #listener: DirectoryListener | undefined;

  constructor(clock: Clock, scheduler: Scheduler<TimedEntity>) {
    this.#clock = clock;
    this.#scheduler = scheduler;
  }

  /** There is one listener. */
  listen(listener: DirectoryListener): void {
    this.#listener = listener;
  }

  addTenant(tenant: Tenant): Tenant {
    this.#tenants.set(tenant.tenantUuid, tenant);
    return tenant;
  }

  sendToLocation(location: LocationEntity, event: LocationEvent): void {
    const timed = 'event' in event ? event.event : event;
    const now = 'now' in timed ? timed.now : undefined;
    // Time comes first: a boundary that is due precedes any other event.
    if (now !== undefined && event.type !== 'boundary.reached' && this.#scheduler.isDue(location, now))
      this.#sendLocation(location, { type: 'boundary.reached', now });
    this.#sendLocation(location, event);
    if (now !== undefined) this.rearm(location, now);
  }

  sendToOrganization(organization: OrganizationEntity, event: HolderEvent): void {
    const { now } = event;
    if (event.type !== 'boundary.reached' && this.#scheduler.isDue(organization, now))
      organization.actor.send({ type: 'boundary.reached', now });
    organization.actor.send(event);
    this.rearm(organization, now);
  }

  /** Delivers several events as one: each affected cluster shares anew once, after all of them. */
  together<T>(tell: () => T): T {
    this.#depth++;
    try {
      return tell();
    } finally {
      this.#depth--;
      if (this.#depth === 0) this.#shareAnew();
    }
  }

  tellBoundaries(entities: Iterable<TimedEntity>, now: EpochMs): void {
    this.together(() => {
      for (const entity of entities) {
        if (entity.kind === 'location') this.sendToLocation(entity, { type: 'boundary.reached', now });
        else this.sendToOrganization(entity, { type: 'boundary.reached', now });
      }
    });
  }

  /**
   * Delivers due boundaries before a query, however late the host's timer is. It includes the members of the locations'
   * clusters, because a member's limit moves the others' shares.
   */
  catchUp(entities: Iterable<TimedEntity>): void {
    if (!this.#scheduler.isAnyDue()) return;
    const now = this.#clock.nowMs();
    const asked = new Set<TimedEntity>();
    for (const entity of entities) {
      asked.add(entity);
      if (entity.kind !== 'location') continue;
      for (const cluster of entity.clusters) for (const member of cluster.members) asked.add(member);
    }
    const due = [...asked].filter((entity) => this.#scheduler.isDue(entity, now));
    this.tellBoundaries(due, now);
  }

  /** Applies the record's members, cap and status to the cluster's actor and to its members' actors. */
  configureCluster(cluster: ClusterEntity): void {
    const { limitKw, status, clusterId, locationIds } = cluster.record;
    setMembers(cluster, locationIds);
    this.catchUp(cluster.members);
    const members = [...cluster.members].map((location) => memberOf(location, effectiveLimitKwOf(location)));
    cluster.tenant.clusters.set(clusterId, cluster);
    if (status === 'INACTIVE') cluster.actor.send({ type: 'cluster.deactivated' });
    cluster.actor.send({ type: 'cluster.configured', limitKw, members });
    if (status === 'ACTIVE') cluster.actor.send({ type: 'cluster.activated' });
  }

  /** The members lose their shares of the cluster. */
  dropCluster(cluster: ClusterEntity): void {
    const { clusterId } = cluster.record;
    for (const location of cluster.members) this.#setShare(location, clusterId, undefined);
    setMembers(cluster, []);
    this.#changedMembers.delete(cluster);
    cluster.tenant.clusters.delete(clusterId);
    cluster.actor.stop();
  }

  /** The location's own limit may have changed, so its clusters share anew. */
  noteMember(location: LocationEntity): void {
    this.together(() => this.#noteLimit(location, effectiveLimitKwOf(location)));
  }

  /**
   * The entitlement of the location's chargers may have risen without a decision, as after the loss of a lease. The
   * other members of its clusters have that much less for raises at once, before their next decision.
   */
  noteReserved(location: LocationEntity): void {
    const shareW = leastShareWOf(location.actor.getSnapshot().context.sources);
    if (shareW === Number.POSITIVE_INFINITY) return;
    if (!supervisorOf(location).reserved.noteRise(shareW)) return;
    for (const cluster of location.clusters) this.shareAgain(cluster);
  }

  /** The reservation or need of members changed, so the cluster divides its cap again, unless it was dropped. */
  shareAgain({ actor, tenant, record }: ClusterEntity): void {
    if (tenant.clusters.get(record.clusterId)?.actor === actor) actor.send({ type: 'reserved.changed' });
  }

  /** The location was built or rebuilt, so its boundaries and its limit count. */
  placeLocation(location: LocationEntity, now: EpochMs): void {
    this.rearm(location, now);
    this.#listener?.onPlan(location);
  }

  /** Sets the scheduler to the next instant at which anything of the entity begins or ends. */
  rearm(entity: TimedEntity, now: EpochMs): void {
    const { stack } = entity.actor.getSnapshot().context;
    const dueAtMs =
      entity.kind === 'location'
        ? nextLocationBoundary(entity.actor.getSnapshot().context, now)
        : nextBoundaryAfter(stack, now);
    if (dueAtMs === undefined) {
      this.#scheduler.cancel(entity);
      return;
    }
    // At one instant, ends precede starts.
    const isEnd = stack.some((profile) => profile.endsAtMs === dueAtMs);
    this.#scheduler.schedule(entity, dueAtMs, isEnd);
  }

  /** Passes an actor's effect to the entities that it concerns, then to the listener. Never throws. */
  carry(left: Effect): void {
    if (left.entity.kind === 'location' && left.effect.type === 'effectiveLimit.changed') {
      this.#noteLimit(left.entity, left.effect.effectiveLimitKw);
    }
    if (left.entity.kind === 'cluster' && left.effect.type === 'shares.changed') {
      this.#applyShares(left.entity, left.effect.shares);
    }
    this.#listener?.onEffect(left);
  }

  #sendLocation(location: LocationEntity, event: LocationEvent): void {
    location.limitsView = undefined;
    this.together(() => location.actor.send(event));
    // A meter is read every second, and most readings change nothing; a change leaves as an effect.
    if (event.type !== 'siteMeter.event') this.#listener?.onPlan(location);
  }

  #noteLimit(location: LocationEntity, setLimitKw: number): void {
    for (const cluster of location.clusters) {
      const members = this.#changedMembers.get(cluster) ?? new Map<LocationId, ClusterMember>();
      this.#changedMembers.set(
        cluster,
        members.set(location.record.locationId, memberOf(location, setLimitKw)),
      );
    }
  }

  #shareAnew(): void {
    for (const [cluster, members] of this.#changedMembers) {
      this.#changedMembers.delete(cluster);
      cluster.actor.send({ type: 'members.changed', members: [...members.values()] });
    }
  }

  #applyShares(cluster: ClusterEntity, shares: readonly ClusterShare[]): void {
    for (const { locationId, share } of shares) {
      const location = cluster.tenant.locations.get(locationId as LocationId);
      if (location !== undefined) this.#setShare(location, cluster.record.clusterId, share);
    }
  }

  #setShare(location: LocationEntity, clusterId: ClusterId, share: GrantedShare | undefined): void {
    location.actor.send({ type: 'clusterShare.set', clusterId, share });
    this.#listener?.onPlan(location);
  }
}

function setMembers(cluster: ClusterEntity, locationIds: readonly LocationId[]): void {
  for (const location of cluster.members) location.clusters.delete(cluster);
  cluster.members.clear();
  for (const locationId of locationIds) {
    const location = cluster.tenant.locations.get(locationId);
    if (location === undefined) continue;
    location.clusters.add(cluster);
    cluster.members.add(location);
  }
}

function memberOf(location: LocationEntity, setLimitKw: number): ClusterMember {
  return { locationId: location.record.locationId, setLimitKw, reserved: supervisorOf(location).reserved };
}
