// What the directory holds of each location, cluster and organization: its actor system and what belongs to it.
import type { BuildingLoad } from '../../machines/limits/building-load.js';
import type { ClusterActor } from '../../machines/limits/cluster.machine.js';
import type { OwnLimits } from '../../machines/limits/limit-in-force.js';
import { operatorOutlookOf } from '../../machines/limits/operator.machine.js';
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
import type { Scheduled } from './scheduler.js';

/** One location. Its actor is replaced in place when it is built anew, so that references to the entity stay good. */
export interface LocationEntity extends Scheduled {
  readonly kind: 'location';
  readonly tenant: Tenant;
  record: LocationRecord;
  actor: LocationActor;
  /** By `connectorKey`. */
  readonly connectors: Map<string, ConnectorEntity>;
  /** Clusters it is a member of. */
  readonly clusters: Set<ClusterEntity>;
  /** The limits view last given out; dropped at every event, boundaries included. */
  limitsView: LocationLimits | undefined;
  /** Open alarms, by kind and connector. The alarm book alone writes them. */
  readonly alarms: Map<string, AlarmRecord>;
  /** What it draws in the minute that runs. */
  readonly minute: PowerMinute;
  /** When it decides next, and when it decided last, on the monotonic clock. Enforcement alone writes both. */
  wakeAtMs: number | undefined;
  decidedAtMs: number;
}

export interface ConnectorEntity {
  readonly location: LocationEntity;
  record: ConnectorRecord;
  /** As limits are addressed to it; the same object as long as it lives. */
  readonly address: ConnectorAddress;
  /** Its location's supervisor alone writes it. */
  readonly control: Readonly<ConnectorControl>;
}

export interface ClusterEntity {
  readonly kind: 'cluster';
  readonly tenant: Tenant;
  record: ClusterRecord;
  actor: ClusterActor;
  readonly members: Set<LocationEntity>;
}

export interface OrganizationEntity extends Scheduled {
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

/** An entity whose boundaries are on the scheduler. */
export type TimedEntity = LocationEntity | OrganizationEntity;

/** The next instant at which something of the entity begins or ends. */
export function nextBoundaryOfEntity(entity: TimedEntity, now: EpochMs): EpochMs | undefined {
  if (entity.kind === 'location') return nextLocationBoundary(entity.actor.getSnapshot().context, now);
  return nextBoundaryAfter(entity.actor.getSnapshot().context.stack, now);
}

/** Whether a profile of the entity's own stack ends at `atMs`. */
export function hasEndAt(entity: TimedEntity, atMs: EpochMs): boolean {
  return entity.actor.getSnapshot().context.stack.some((profile) => profile.endsAtMs === atMs);
}

/** The location's own effective limit, kW, as of the last event it was told. To have it as of now, let the directory catch up first. */
export function effectiveLimitKwOf({ actor }: LocationEntity): number {
  return actor.getSnapshot().context.limit.effectiveLimitKw;
}

/** What limits the location by itself, now and later: its clusters are not in it. */
export function ownLimitsOf({ actor }: LocationEntity): OwnLimits {
  const { context } = actor.getSnapshot();
  const { operator, siteMeter } = context;
  return {
    ...context,
    operatorLimit: operator && operatorOutlookOf(operator),
    buildingLeaves: siteMeter && siteMeterOutlookOf(siteMeter),
  };
}

/** What is known of the building beside the chargers; undefined where no meter tells. */
export function buildingLoadOf({ actor }: LocationEntity): BuildingLoad | undefined {
  return actor.getSnapshot().context.siteMeter?.getSnapshot().context.load;
}

/** The ledgers of the location's actor. */
export function supervisorOf({ actor }: LocationEntity): LocationSupervisor {
  return actor.getSnapshot().context.supervisor;
}

/** The actor of the connector `key` of a location: a child of the location's. */
export function connectorActorOf(location: LocationEntity, key: string): ConnectorActor | undefined {
  return location.actor.getSnapshot().context.connectors.get(key);
}

/** The profiles of the connector `key` of a location, as its actor holds them. */
export function connectorProfilesOf(location: LocationEntity, key: string): ProfileHolder {
  return connectorActorOf(location, key)?.getSnapshot().context ?? NO_PROFILES;
}

export function connectorStackOf(location: LocationEntity, key: string): ProfileStack {
  return connectorActorOf(location, key)?.getSnapshot().context.stack ?? EMPTY_STACK;
}

const NO_PROFILES: ProfileHolder = { stack: EMPTY_STACK, profiles: new Map(), toldAtMs: 0 };
