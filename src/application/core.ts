// Dependencies of every command and query, and the look-up of their target.

import {
  type LimitProfile,
  type ProfileStack,
  profileAtPriority,
} from '../../machines/limits/profile-stack.js';
import { DomainError } from '../../machines/values/errors.js';
import {
  asId,
  type ConnectorId,
  type ControllerUuid,
  connectorKey,
  type LocationId,
  type TenantUuid,
} from '../../machines/values/ids.js';
import { type EpochMs, statusAt } from '../../machines/values/time.js';
import type { Assembly } from '../actors/assembly.js';
import type {
  ClusterEntity,
  ConnectorEntity,
  Directory,
  LocationEntity,
  Tenant,
} from '../actors/directory.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';
import { toInstant } from '../wire/instants.js';

// One command at a time per entity, so that a command's checks still hold after its write has reached the disk.
interface EntityQueue {
  /** Runs `work` after all earlier work under `key` has ended, well or badly. @returns the result of `work` */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

export function createEntityQueue(): EntityQueue {
  const tails = new Map<string, Promise<unknown>>();
  return {
    async run(key, work) {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      tails.set(key, mine);
      try {
        return await mine;
      } finally {
        if (tails.get(key) === mine) tails.delete(key);
      }
    },
  };
}

export interface Core {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'append'>;
  /** Resolves once all earlier changes of the tenant are on disk; rejects if the database does not take them now. */
  readonly written: (tenantUuid: TenantUuid) => Promise<void>;
  /** Rows of the past. */
  readonly archive: Pick<
    Store,
    'profileHistory' | 'profilesAt' | 'permanentLimitHistory' | 'alarms' | 'powerHistory' | 'operatorEvents'
  >;
  /** Readings of the location that are too old stop counting, however late the next sweep is. */
  readonly expireReadings: (location: LocationEntity) => void;
  readonly directory: Directory;
  readonly assembly: Assembly;
  /** One command at a time per cluster, so that its checks still hold at its write. */
  readonly clusterQueue: EntityQueue;
  readonly newId: () => string;
}

// Finds the entity that the raw text of a path names, caught up with the clock. Another tenant's id is as unknown as an
// id that never existed.

/** @throws DomainError LOCATION_NOT_FOUND */
export function findLocation(directory: Directory, tenantUuid: TenantUuid, text: string): LocationEntity {
  const locationId = asId<LocationId>(text);
  const location = locationId && findTenant(directory, tenantUuid).locations.get(locationId);
  if (!location) throw new DomainError('LOCATION_NOT_FOUND', `No such location: ${text.slice(0, 128)}`);
  directory.catchUp([location]);
  return location;
}

/** @throws DomainError CHARGER_NOT_FOUND */
export function findConnector(
  directory: Directory,
  tenantUuid: TenantUuid,
  controllerText: string,
  connectorText: string,
): ConnectorEntity {
  const controllerUuid = asId<ControllerUuid>(controllerText);
  const connectorId = asId<ConnectorId>(connectorText);
  const key = controllerUuid && connectorId && connectorKey({ controllerUuid, connectorId });
  const connector = key && findTenant(directory, tenantUuid).connectors.get(key);
  if (!connector)
    throw new DomainError(
      'CHARGER_NOT_FOUND',
      `No such connector: ${controllerText.slice(0, 128)} / ${connectorText.slice(0, 128)}`,
    );
  directory.catchUp([connector.location]);
  return connector;
}

/** @throws DomainError CLUSTER_NOT_FOUND */
export function findCluster(directory: Directory, tenantUuid: TenantUuid, clusterId: string): ClusterEntity {
  const cluster = findTenant(directory, tenantUuid).clusters.get(clusterId);
  if (cluster === undefined)
    throw new DomainError('CLUSTER_NOT_FOUND', `No such cluster: ${clusterId.slice(0, 128)}`);
  directory.catchUp(cluster.members);
  return cluster;
}

/** @throws DomainError PROFILE_NOT_FOUND */
export function findHeldProfile(stack: ProfileStack, priority: number): LimitProfile {
  const profile = profileAtPriority(stack, priority);
  if (profile === undefined)
    throw new DomainError('PROFILE_NOT_FOUND', `There is no profile of priority ${priority} to cancel.`);
  return profile;
}

/** @throws DomainError PROFILE_NOT_FOUND without such a profile, and after its end: nothing of it is left to cancel. */
export function requireUnended(stack: ProfileStack, priority: number, now: EpochMs): void {
  const profile = findHeldProfile(stack, priority);
  if (statusAt(profile, now) === 'EXPIRED')
    throw new DomainError(
      'PROFILE_NOT_FOUND',
      `The profile of priority ${priority} ended at ${toInstant(profile.endsAtMs)}: there is nothing left to cancel.`,
    );
}

/** @throws DomainError SERVICE_UNAVAILABLE while the actors of a new tenant are still being built. */
export function findTenant(directory: Directory, tenantUuid: TenantUuid): Tenant {
  const tenant = directory.tenant(tenantUuid);
  if (tenant === undefined)
    throw new DomainError('SERVICE_UNAVAILABLE', 'The organization is being set up; try again.');
  return tenant;
}

/** @throws DomainError TARGET_INACTIVE */
export function requireActiveLocation(location: LocationEntity): void {
  if (location.record.status !== 'ACTIVE') {
    throw new DomainError(
      'TARGET_INACTIVE',
      'The location is not active; activate it before changing its limits.',
    );
  }
}

/** @throws DomainError TARGET_INACTIVE if the connector or its location is inactive. */
export function requireActiveConnector(connector: ConnectorEntity): void {
  requireActiveLocation(connector.location);
  if (connector.record.status !== 'ACTIVE') {
    throw new DomainError(
      'TARGET_INACTIVE',
      'The connector is not active; activate it before changing its limits.',
    );
  }
}
