// The endpoints that act on a tenant, one row each, for the rules that hold for all of them.
import type { z } from 'zod';
import type { TenantUuid } from '../../machines/values/ids.js';
import { muteListSchema, muteSchema } from '../../src/features/alarms/contract.js';
import {
  clusterDeletedSchema,
  clusterDetailSchema,
  clusterListSchema,
  clusterSchema,
} from '../../src/features/clusters/contract.js';
import {
  apiKeyListSchema,
  apiKeySchema,
  issuedApiKeySchema,
  issuedOauthClientSchema,
  oauthClientListSchema,
  oauthClientSchema,
} from '../../src/features/credentials/contract.js';
import { energyListSchema } from '../../src/features/energy/contract.js';
import { locationSummarySchema } from '../../src/features/locations/contract.js';
import { connectorPowerSchema } from '../../src/features/power-history/contract.js';
import {
  cancelledConnectorScheduleSchema,
  cancelledLocationScheduleSchema,
  cancelledOrganizationScheduleSchema,
  clusterScheduleSchema,
  connectorHistorySchema,
  connectorScheduleSchema,
  connectorSchedulesSchema,
  locationHistorySchema,
  locationLimitsSchema,
  locationScheduleSchema,
  organizationHistorySchema,
  organizationLimitsSchema,
  organizationScheduleSchema,
  permanentLimitSchema,
} from '../../src/features/profiles/contract.js';
import { sessionListSchema } from '../../src/features/sessions/contract.js';
import { mailSubscriptionListSchema, webhookListSchema } from '../../src/features/webhooks/contract.js';
import type { Scope } from '../../src/ports/records.js';
import { profile } from './profiles.js';
import { HARBOUR, spareOf } from './running-service.js';

export interface EndpointCase {
  /** Its number in section 4; those of extensions begin at 101. */
  readonly number: number;
  readonly method: string;
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly scope: Scope;
  readonly status?: 201;
  readonly schema: z.ZodType;
}

/** Later than now on each of the tests' clocks, so that a query as of it includes all present records. */
const FAR_AHEAD = '2999-01-01T00:00:00Z';

interface Target {
  readonly locationId: string;
  /** Another member of the cluster. */
  readonly memberId: string;
  readonly controllerUuid: string;
  readonly clusterId: string;
  /** The tenant whose spare credentials the requests end; the harbour by default. */
  readonly tenantUuid?: TenantUuid;
}

let credentialsNamed = 0;

/** Names of active credentials are unique. */
function newCredential(): Readonly<Record<string, unknown>> {
  return { name: `Credential ${++credentialsNamed}`, scopes: ['credentials:write'] };
}

/**
 * Every endpoint of section 4 and the extensions to cancel and to read the past. Each has a request that succeeds after
 * those before it.
 */
export function endpointsOn({
  locationId,
  memberId,
  controllerUuid,
  clusterId,
  tenantUuid = HARBOUR,
}: Target): EndpointCase[] {
  const spare = spareOf(tenantUuid);
  const location = `/locations/${locationId}`;
  const cluster = `/clusters/${clusterId}`;
  return [
    {
      number: 1,
      method: 'POST',
      path: `/chargers/${controllerUuid}/connectors/1/schedules`,
      body: profile(),
      scope: 'chargers:write',
      schema: connectorScheduleSchema,
    },
    {
      number: 2,
      method: 'POST',
      path: `${location}/schedules`,
      body: profile(),
      scope: 'locations:write',
      schema: locationScheduleSchema,
    },
    {
      number: 3,
      method: 'PUT',
      path: `${location}/limit`,
      body: { limitKw: 42 },
      scope: 'locations:write',
      schema: permanentLimitSchema,
    },
    {
      number: 4,
      method: 'GET',
      path: `${location}/limits`,
      scope: 'locations:read',
      schema: locationLimitsSchema,
    },
    {
      number: 5,
      method: 'POST',
      path: '/organizations/schedules',
      body: profile(),
      scope: 'org:write',
      schema: organizationScheduleSchema,
    },
    {
      number: 6,
      method: 'GET',
      path: '/organizations/limits',
      scope: 'org:write',
      schema: organizationLimitsSchema,
    },
    {
      number: 7,
      method: 'POST',
      path: '/clusters',
      body: { name: 'Another', locationIds: [locationId], limitKw: 20 },
      scope: 'clusters:write',
      status: 201,
      schema: clusterSchema,
    },
    { number: 8, method: 'GET', path: '/clusters', scope: 'clusters:read', schema: clusterListSchema },
    { number: 9, method: 'GET', path: cluster, scope: 'clusters:read', schema: clusterDetailSchema },
    {
      number: 10,
      method: 'PATCH',
      path: cluster,
      body: { name: 'Renamed' },
      scope: 'clusters:write',
      schema: clusterSchema,
    },
    {
      number: 13,
      method: 'POST',
      path: `${cluster}/schedules`,
      body: profile(),
      scope: 'clusters:write',
      schema: clusterScheduleSchema,
    },
    {
      number: 101,
      method: 'DELETE',
      path: `/chargers/${controllerUuid}/connectors/1/schedules/0`,
      scope: 'chargers:write',
      schema: cancelledConnectorScheduleSchema,
    },
    {
      number: 102,
      method: 'DELETE',
      path: `${location}/schedules/0`,
      scope: 'locations:write',
      schema: cancelledLocationScheduleSchema,
    },
    {
      number: 103,
      method: 'DELETE',
      path: '/organizations/schedules/0',
      scope: 'org:write',
      schema: cancelledOrganizationScheduleSchema,
    },
    {
      number: 104,
      method: 'GET',
      path: `/chargers/${controllerUuid}/connectors/1/history`,
      scope: 'locations:read',
      schema: connectorHistorySchema,
    },
    {
      number: 124,
      method: 'GET',
      path: `/chargers/${controllerUuid}/connectors/1/power`,
      scope: 'locations:read',
      schema: connectorPowerSchema,
    },
    {
      number: 105,
      method: 'GET',
      path: `/chargers/${controllerUuid}/connectors/1/schedules?at=${FAR_AHEAD}`,
      scope: 'locations:read',
      schema: connectorSchedulesSchema,
    },
    {
      number: 106,
      method: 'GET',
      path: `${location}/history`,
      scope: 'locations:read',
      schema: locationHistorySchema,
    },
    {
      number: 107,
      method: 'GET',
      path: `${location}/limits?at=${FAR_AHEAD}`,
      scope: 'locations:read',
      schema: locationLimitsSchema,
    },
    {
      number: 108,
      method: 'GET',
      path: '/organizations/history',
      scope: 'org:write',
      schema: organizationHistorySchema,
    },
    {
      number: 109,
      method: 'GET',
      path: `/organizations/limits?at=${FAR_AHEAD}`,
      scope: 'org:write',
      schema: organizationLimitsSchema,
    },
    {
      number: 116,
      method: 'GET',
      path: '/energy?groupBy=tenant',
      scope: 'locations:read',
      schema: energyListSchema,
    },
    { number: 117, method: 'GET', path: '/sessions', scope: 'locations:read', schema: sessionListSchema },
    { number: 110, method: 'GET', path: location, scope: 'locations:read', schema: locationSummarySchema },
    {
      number: 121,
      method: 'POST',
      path: `${location}/alarm-mutes`,
      body: { kind: 'OFFLINE', until: new Date(Date.now() + 3_600_000).toISOString() },
      scope: 'locations:write',
      status: 201,
      schema: muteSchema,
    },
    {
      number: 122,
      method: 'GET',
      path: `${location}/alarm-mutes`,
      scope: 'locations:read',
      schema: muteListSchema,
    },
    {
      number: 123,
      method: 'GET',
      path: '/mail-subscriptions',
      scope: 'credentials:write',
      schema: mailSubscriptionListSchema,
    },
    {
      number: 120,
      method: 'GET',
      path: '/webhooks',
      scope: 'credentials:write',
      schema: webhookListSchema,
    },
    {
      number: 110,
      method: 'GET',
      path: '/credentials/api-keys',
      scope: 'credentials:write',
      schema: apiKeyListSchema,
    },
    {
      number: 111,
      method: 'POST',
      path: '/credentials/api-keys',
      body: newCredential(),
      scope: 'credentials:write',
      status: 201,
      schema: issuedApiKeySchema,
    },
    {
      number: 112,
      method: 'DELETE',
      path: `/credentials/api-keys/${spare}`,
      scope: 'credentials:write',
      schema: apiKeySchema,
    },
    {
      number: 113,
      method: 'GET',
      path: '/credentials/clients',
      scope: 'credentials:write',
      schema: oauthClientListSchema,
    },
    {
      number: 114,
      method: 'POST',
      path: '/credentials/clients',
      body: newCredential(),
      scope: 'credentials:write',
      status: 201,
      schema: issuedOauthClientSchema,
    },
    {
      number: 115,
      method: 'DELETE',
      path: `/credentials/clients/${spare}`,
      scope: 'credentials:write',
      schema: oauthClientSchema,
    },
    {
      number: 12,
      method: 'DELETE',
      path: `${cluster}/locations/${memberId}`,
      scope: 'clusters:write',
      schema: clusterSchema,
    },
    {
      number: 11,
      method: 'DELETE',
      path: cluster,
      scope: 'clusters:write',
      schema: clusterDeletedSchema,
    },
  ];
}

/** As a title: `2 POST /locations/…/schedules`. */
export function titleOf({ number, method, path }: EndpointCase): string {
  return `${number} ${method} ${path}`;
}
