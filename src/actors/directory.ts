// Maps ids to actor systems, tells them events, and carries their effects to one another: the only way between entities.
import type { ClusterEffect, ClusterEvent, ClusterShare } from '../../machines/cluster.machine.js';
import type { LocationId, TenantUuid } from '../../machines/ids.js';
import type { ClusterMember } from '../../machines/limits/cluster-shares.js';
import type { LocationEffect, LocationEvent } from '../../machines/location.machine.js';
import type { OrganizationEffect, OrganizationEvent } from '../../machines/organization.machine.js';
import type { EpochMs } from '../../machines/time.js';
import type { Clock } from '../ports/clock.js';
import {
  type ClusterEntity,
  effectiveLimitKwOf,
  hasEndAt,
  type LocationEntity,
  nextBoundaryOfEntity,
  type OrganizationEntity,
  type Tenant,
  type TimedEntity,
} from './entities.js';
import type { Scheduler } from './scheduler.js';

/** What left an actor, with the entity it left. */
export type Effect =
  | { readonly entity: LocationEntity; readonly effect: LocationEffect }
  | { readonly entity: OrganizationEntity; readonly effect: OrganizationEffect }
  | { readonly entity: ClusterEntity; readonly effect: ClusterEffect };

export interface Directory {
  readonly tenants: ReadonlyMap<TenantUuid, Tenant>;
  tenant(tenantUuid: TenantUuid): Tenant | undefined;
  addTenant(tenant: Tenant): Tenant;
  tellLocation(location: LocationEntity, event: LocationEvent): void;
  tellOrganization(organization: OrganizationEntity, event: OrganizationEvent): void;
  tellCluster(cluster: ClusterEntity, event: ClusterEvent): void;
  /** Runs several `tell…` as one: clusters hear of their members once, after all of them. */
  together<T>(tell: () => T): T;
  /** Tells each that a boundary has come. */
  tellBoundaries(entities: Iterable<TimedEntity>, now: EpochMs): void;
  /**
   * Lets what is due by now happen before it is asked about, however late the host's timer is: to these entities, and to
   * the members of the locations' clusters, because a member's limit moves the others' shares.
   */
  catchUp(entities: Iterable<TimedEntity>): void;
  /** Puts the cluster's members, cap and status before its actor and its members' actors. */
  configureCluster(cluster: ClusterEntity): void;
  /** Frees the members of the cluster and stops it. */
  dropCluster(cluster: ClusterEntity): void;
  /** The location's chargers may be entitled to less than before: its clusters share what that leaves. */
  roomMade(location: LocationEntity): void;
  /** The location's own limit may be another: its clusters share anew. */
  noteMember(location: LocationEntity): void;
  /** Sets the scheduler to the entity's next boundary. */
  rearm(entity: TimedEntity, now: EpochMs): void;
  /** Takes what an actor emitted. Never throws. */
  take(effect: Effect): void;
}

interface DirectoryOptions {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Hears of every effect after the entities have; must not throw. */
  onEffect(effect: Effect): void;
  /** What a location may use, now or later, may be another. */
  onPlan(location: LocationEntity): void;
}

export function createDirectory({ clock, scheduler, onEffect, onPlan }: DirectoryOptions): Directory {
  const tenants = new Map<TenantUuid, Tenant>();
  /** What members of a cluster are newly set to, told to it once the event in hand has been dealt with everywhere. */
  const unsettled = new Map<ClusterEntity, Map<LocationId, ClusterMember>>();
  let depth = 0;

  /** Runs `tell`, then lets the clusters it touched share anew: once, however many members changed. */
  function together<T>(tell: () => T): T {
    depth++;
    try {
      return tell();
    } finally {
      depth--;
      if (depth === 0) shareAnew();
    }
  }

  function shareAnew(): void {
    for (const [cluster, members] of unsettled) {
      unsettled.delete(cluster);
      cluster.actor.send({ type: 'members.changed', members: [...members.values()] });
    }
  }

  function noteLimit(location: LocationEntity, setLimitKw: number): void {
    for (const cluster of location.clusters) {
      const members = unsettled.get(cluster) ?? new Map<LocationId, ClusterMember>();
      unsettled.set(cluster, members.set(location.record.locationId, memberOf(location, setLimitKw)));
    }
  }

  function applyShares(cluster: ClusterEntity, shares: readonly ClusterShare[]): void {
    for (const { locationId, shareKw } of shares) {
      const location = cluster.tenant.locations.get(locationId as LocationId);
      if (location === undefined) continue;
      const { clusterId } = cluster.record;
      location.actor.send({ type: 'clusterShare.set', clusterId, shareKw });
      onPlan(location);
    }
  }

  function rearm(entity: TimedEntity, now: EpochMs): void {
    const dueAtMs = nextBoundaryOfEntity(entity, now);
    scheduler.arm(entity, dueAtMs, dueAtMs !== undefined && hasEndAt(entity, dueAtMs));
  }

  function tellLocation(location: LocationEntity, event: LocationEvent): void {
    const now = instantOf(event);
    // Time comes first: what ended or began by now did so before whatever else happens.
    const isLate = now !== undefined && event.type !== 'boundary.reached' && scheduler.isDue(location, now);
    if (isLate) sendLocation(location, { type: 'boundary.reached', now });
    sendLocation(location, event);
    if (now !== undefined) rearm(location, now);
  }

  function sendLocation(location: LocationEntity, event: LocationEvent): void {
    location.limitsView = undefined;
    together(() => location.actor.send(event));
    onPlan(location);
  }

  function tellBoundaries(entities: Iterable<TimedEntity>, now: EpochMs): void {
    together(() => {
      for (const entity of entities) {
        if (entity.kind === 'location') tellLocation(entity, { type: 'boundary.reached', now });
        else tellOrganization(entity, { type: 'boundary.reached', now });
      }
    });
  }

  function catchUp(entities: Iterable<TimedEntity>): void {
    if (!scheduler.isAnyDue()) return;
    const now = clock.nowMs();
    const asked = new Set<TimedEntity>();
    for (const entity of entities) {
      asked.add(entity);
      if (entity.kind !== 'location') continue;
      for (const cluster of entity.clusters) for (const member of cluster.members) asked.add(member);
    }
    tellBoundaries(
      [...asked].filter((entity) => scheduler.isDue(entity, now)),
      now,
    );
  }

  function tellOrganization(organization: OrganizationEntity, event: OrganizationEvent): void {
    organization.actor.send(event);
    if ('now' in event) rearm(organization, event.now);
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

  return {
    tenants,
    tenant: (tenantUuid) => tenants.get(tenantUuid),
    addTenant(tenant) {
      tenants.set(tenant.tenantUuid, tenant);
      return tenant;
    },
    together,
    tellLocation,
    tellOrganization,
    tellCluster: (cluster, event) => together(() => cluster.actor.send(event)),
    tellBoundaries,
    catchUp,
    configureCluster(cluster) {
      const { limitKw, status } = cluster.record;
      setMembers(cluster, cluster.record.locationIds);
      catchUp(cluster.members);
      const members = [...cluster.members].map((location) =>
        memberOf(location, effectiveLimitKwOf(location)),
      );
      cluster.tenant.clusters.set(cluster.record.clusterId, cluster);
      if (status === 'INACTIVE') cluster.actor.send({ type: 'cluster.deactivated' });
      cluster.actor.send({ type: 'cluster.configured', limitKw, members });
      if (status === 'ACTIVE') cluster.actor.send({ type: 'cluster.activated' });
    },
    dropCluster(cluster) {
      const { clusterId } = cluster.record;
      for (const location of cluster.members) {
        location.actor.send({ type: 'clusterShare.set', clusterId, shareKw: undefined });
        onPlan(location);
      }
      setMembers(cluster, []);
      unsettled.delete(cluster);
      cluster.tenant.clusters.delete(clusterId);
      cluster.actor.stop();
    },
    roomMade(location) {
      for (const cluster of location.clusters) cluster.actor.send({ type: 'room.made' });
    },
    noteMember: (location) => together(() => noteLimit(location, effectiveLimitKwOf(location))),
    rearm,
    take(left) {
      if (left.entity.kind === 'location' && left.effect.type === 'effectiveLimit.changed') {
        noteLimit(left.entity, left.effect.effectiveLimitKw);
      }
      if (left.entity.kind === 'cluster' && left.effect.type === 'shares.changed') {
        applyShares(left.entity, left.effect.shares);
      }
      onEffect(left);
    },
  };
}

function memberOf({ record, enforcement }: LocationEntity, setLimitKw: number): ClusterMember {
  return { locationId: record.locationId, setLimitKw, reserved: enforcement.supervisor.ledger };
}

/** The instant an event is of; undefined where it is none of time. */
function instantOf(event: LocationEvent): EpochMs | undefined {
  const told = event.type === 'connector.told' ? event.event : event;
  return 'now' in told ? told.now : undefined;
}
