// All commands and queries of the service, bound to their dependencies. Inbound code reaches the actors only through
// here.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { StreamEvent } from '../wire/operator-stream.js';
import { listAlarms } from './alarms.js';
import {
  createCluster,
  deleteCluster,
  removeClusterMember,
  submitClusterProfile,
  updateCluster,
} from './clusters.js';
import type { Core } from './core.js';
import type { Unsubscribe } from './event-stream.js';
import { locationLive } from './location-live.js';
import { locationPower } from './location-power.js';
import { locationTimeline } from './location-timeline.js';
import { listLocations, locationSummary } from './locations.js';
import {
  cancelConnectorProfile,
  cancelLocationProfile,
  cancelOrganizationProfile,
  submitConnectorProfile,
  submitLocationProfile,
  submitOrganizationProfile,
} from './profiles.js';
import { clusterDetail, listClusters } from './queries/clusters.js';
import { connectorHistory, locationHistory, organizationHistory } from './queries/profile-histories.js';
import {
  connectorSchedules,
  connectorSchedulesAt,
  locationLimits,
  locationLimitsAt,
  organizationLimits,
  organizationLimitsAt,
} from './queries/profile-stacks.js';
import { operatorLimit, operatorLimitHistory, siteMeter } from './queries/site-limits.js';
import { putSiteReading, setOperatorLimit, setPermanentLimit } from './site-limits.js';
import { findLocation, findTenant } from './targets.js';

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

/** Calls `listener` for every event from now on, of one location or of all; `listener` must not throw. */
function subscribe(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string | undefined,
  listener: (event: StreamEvent) => void,
): Unsubscribe {
  const location =
    locationText === undefined ? undefined : findLocation(core.directory, tenantUuid, locationText);
  return core.events.subscribe(findTenant(core.directory, tenantUuid), location, listener);
}

type Calls = typeof COMMANDS & typeof QUERIES & { readonly subscribe: typeof subscribe };

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
};

export function createApplication(core: Core): Application {
  // Bound and not wrapped: the signatures stay those of the commands and queries.
  const bound: Record<string, unknown> = {};
  for (const [name, call] of Object.entries<(core: Core, ...asked: never[]) => unknown>({
    ...COMMANDS,
    ...QUERIES,
    subscribe,
  }))
    bound[name] = call.bind(undefined, core);
  return bound as Application;
}
