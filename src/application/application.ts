// All commands and queries of the service, bound to their dependencies. Inbound code reaches the actors only through
// here.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { StreamEvent } from '../wire/operator-stream.js';
import { listAlarms } from './alarms.js';
import {
  clusterDetail,
  createCluster,
  deleteCluster,
  listClusters,
  removeClusterMember,
  submitClusterProfile,
  updateCluster,
} from './clusters.js';
import type { Core } from './core.js';
import { findLocation, findTenant } from './core.js';
import type { EventStream, Unsubscribe } from './event-stream.js';
import { locationLive } from './location-live.js';
import { locationPower } from './location-power.js';
import { locationTimeline } from './location-timeline.js';
import { listLocations, locationSummary } from './locations.js';
import {
  cancelConnectorProfile,
  cancelLocationProfile,
  cancelOrganizationProfile,
  connectorHistory,
  connectorSchedules,
  connectorSchedulesAt,
  locationHistory,
  locationLimits,
  locationLimitsAt,
  organizationHistory,
  organizationLimits,
  organizationLimitsAt,
  submitConnectorProfile,
  submitLocationProfile,
  submitOrganizationProfile,
} from './profiles.js';
import {
  operatorLimit,
  operatorLimitHistory,
  putSiteReading,
  setOperatorLimit,
  setPermanentLimit,
  siteMeter,
} from './site-limits.js';

export const COMMANDS = {
  submitConnectorProfile,
  submitLocationProfile,
  setPermanentLimit,
  submitOrganizationProfile,
  cancelConnectorProfile,
  cancelLocationProfile,
  cancelOrganizationProfile,
  createCluster,
  updateCluster,
  deleteCluster,
  removeClusterMember,
  submitClusterProfile,
  setOperatorLimit,
  putSiteReading,
};

export const QUERIES = {
  locationLimits,
  organizationLimits,
  listClusters,
  clusterDetail,
  listLocations,
  locationSummary,
  locationLive,
  locationLimitsAt,
  locationTimeline,
  locationHistory,
  locationPower,
  listAlarms,
  connectorSchedules,
  connectorSchedulesAt,
  connectorHistory,
  organizationLimitsAt,
  organizationHistory,
  operatorLimit,
  operatorLimitHistory,
  siteMeter,
};

type Calls = typeof COMMANDS & typeof QUERIES;

/**
 * Each call has the signature of its command or query, without `core`. The tenant comes first, from the credential
 * alone. Identifiers are the raw text of the path: an invalid one counts as unknown. A call fails with DomainError if
 * the contract refuses it, and with StoreUnavailableError if nothing could be written. If a write leads to a shortage
 * of power, `advise` is called before the answer.
 */
export type Application = {
  readonly [Name in keyof Calls]: Calls[Name] extends (core: Core, ...asked: infer Asked) => infer Answer
    ? (...asked: Asked) => Answer
    : never;
} & {
  /** Calls `listener` for every event from now on, of one location or of all; `listener` must not throw. */
  subscribe(
    tenantUuid: TenantUuid,
    locationText: string | undefined,
    listener: (event: StreamEvent) => void,
  ): Unsubscribe;
};

export function createApplication(core: Core, events: EventStream): Application {
  const application: Record<string, unknown> = {
    subscribe: ((tenantUuid, locationText, listener) => {
      const { directory } = core;
      const location =
        locationText === undefined ? undefined : findLocation(directory, tenantUuid, locationText);
      return events.subscribe(findTenant(directory, tenantUuid), location, listener);
    }) satisfies Application['subscribe'],
  };
  // Bound and not wrapped: the signatures stay those of the commands and queries.
  for (const [name, call] of Object.entries<(core: Core, ...asked: never[]) => unknown>({
    ...COMMANDS,
    ...QUERIES,
  }))
    application[name] = call.bind(undefined, core);
  return application as Application;
}
