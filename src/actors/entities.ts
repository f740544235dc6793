// Entities of the directory: each location, cluster and organization with its actor system and its data.
import type { BuildingLoad } from '../../machines/limits/building-load.js';
import type { ClusterActor } from '../../machines/limits/cluster.machine.js';
import type { OwnLimits } from '../../machines/limits/limit-in-force.js';
import { operatorOutlookOf } from '../../machines/limits/lpc.machine.js';
import type { OrganizationActor } from '../../machines/limits/organization.machine.js';
import type { ProfileHolder } from '../../machines/limits/profile-holder.js';
import { EMPTY_STACK, nextBoundaryAfter, type ProfileStack } from '../../machines/limits/profile-stack.js';
import { siteMeterOutlookOf } from '../../machines/limits/site-meter.machine.js';
import type { ConnectorActor } from '../../machines/power/connector.machine.js';
import type { ConnectorControl } from '../../machines/power/connector-control.js';
import { type LocationActor, nextLocationBoundary } from '../../machines/power/location.machine.js';
import type { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import type { PowerMinute } from '../../machines/power/power-minute.js';
import type { ConnectorAddress, LocationId, TenantUuid } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { AlarmRecord, ClusterRecord, ConnectorRecord, LocationRecord } from '../ports/records.js';
import type { LocationLimits } from '../wire/rest.js';

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
  limitsView: LocationLimits | undefined;
  /** Open alarms by kind and connector. Only the alarm book writes them. */
  readonly alarms: Map<string, AlarmRecord>;
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
  readonly control: Readonly<ConnectorControl>;
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

/** Next instant at which anything of the entity begins or ends. */
export function nextBoundaryOfEntity(entity: TimedEntity, now: EpochMs): EpochMs | undefined {
  if (entity.kind === 'location') return nextLocationBoundary(entity.actor.getSnapshot().context, now);
  return nextBoundaryAfter(entity.actor.getSnapshot().context.stack, now);
}

/** True if a profile of the entity's own stack ends at `atMs`. */
export function hasEndAt(entity: TimedEntity, atMs: EpochMs): boolean {
  return entity.actor.getSnapshot().context.stack.some((profile) => profile.endsAtMs === atMs);
}

/**
 * The location's own effective limit as of its last event, kW. For the present value the directory must catch up first.
 */
export function effectiveLimitKwOf({ actor }: LocationEntity): number {
  return actor.getSnapshot().context.limit.effectiveLimitKw;
}

/** Limits of the location itself, present and later, without its clusters. */
export function ownLimitsOf({ actor }: LocationEntity): OwnLimits {
  const { context } = actor.getSnapshot();
  const { operator, siteMeter } = context;
  return {
    ...context,
    operatorLimit: operator && operatorOutlookOf(operator),
    buildingLeaves: siteMeter && siteMeterOutlookOf(siteMeter),
  };
}

/** Estimate of the building beside the chargers; undefined without a meter. */
export function buildingLoadOf({ actor }: LocationEntity): BuildingLoad | undefined {
  return actor.getSnapshot().context.siteMeter?.getSnapshot().context.load;
}

export function supervisorOf({ actor }: LocationEntity): LocationSupervisor {
  return actor.getSnapshot().context.supervisor;
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
