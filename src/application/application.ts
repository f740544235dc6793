// All commands and queries of the service, bound to their dependencies. Inbound code reaches the actors only through
// here.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { StreamEvent } from '../wire/operator-stream.js';
import { cancelConnectorProfile } from './commands/cancel-connector-profile.js';
import { cancelLocationProfile } from './commands/cancel-location-profile.js';
import { cancelOrganizationProfile } from './commands/cancel-organization-profile.js';
import { createCluster } from './commands/create-cluster.js';
import { deleteCluster } from './commands/delete-cluster.js';
import { putSiteReading } from './commands/put-site-reading.js';
import { removeClusterMember } from './commands/remove-cluster-member.js';
import { setOperatorLimit } from './commands/set-operator-limit.js';
import { setPermanentLimit } from './commands/set-permanent-limit.js';
import { submitClusterProfile } from './commands/submit-cluster-profile.js';
import { submitConnectorProfile } from './commands/submit-connector-profile.js';
import { submitLocationProfile } from './commands/submit-location-profile.js';
import { submitOrganizationProfile } from './commands/submit-organization-profile.js';
import { updateCluster } from './commands/update-cluster.js';
import type { Core } from './core.js';
import type { Unsubscribe } from './event-stream.js';
import { clusterDetail } from './queries/cluster-detail.js';
import { connectorHistory } from './queries/connector-history.js';
import { connectorSchedules } from './queries/connector-schedules.js';
import { connectorSchedulesAt } from './queries/connector-schedules-at.js';
import { listAlarms } from './queries/list-alarms.js';
import { listClusters } from './queries/list-clusters.js';
import { listLocations, locationSummary } from './queries/list-locations.js';
import { locationHistory } from './queries/location-history.js';
import { locationLimits } from './queries/location-limits.js';
import { locationLimitsAt } from './queries/location-limits-at.js';
import { locationLive } from './queries/location-live.js';
import { locationPower } from './queries/location-power.js';
import { locationTimeline } from './queries/location-timeline.js';
import { operatorLimit } from './queries/operator-limit.js';
import { operatorLimitHistory } from './queries/operator-limit-history.js';
import { organizationHistory } from './queries/organization-history.js';
import { organizationLimits } from './queries/organization-limits.js';
import { organizationLimitsAt } from './queries/organization-limits-at.js';
import { siteMeter } from './queries/site-meter.js';
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
