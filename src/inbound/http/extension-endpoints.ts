// Extension endpoints for operators: the same kind of table, marked as extensions in OpenAPI.

import { DomainError } from '../../../machines/values/errors.js';
import {
  apiKeyListSchema,
  apiKeySchema,
  credentialRequestSchema,
  issuedApiKeySchema,
  issuedOauthClientSchema,
  oauthClientListSchema,
  oauthClientSchema,
} from '../../wire/credentials.js';
import {
  operatorHistorySchema,
  operatorLimitSchema,
  operatorMessageSchema,
} from '../../wire/grid-operator.js';
import {
  alarmListSchema,
  connectorHistorySchema,
  locationHistorySchema,
  locationPowerSchema,
  organizationHistorySchema,
} from '../../wire/operator-history.js';
import {
  connectorSchedulesSchema,
  locationListSchema,
  locationLiveSchema,
  locationSummarySchema,
  locationTimelineSchema,
} from '../../wire/operator-locations.js';
import {
  asOfQuerySchema,
  historyQuerySchema,
  pageQuerySchema,
  powerQuerySchema,
  spanPageQuerySchema,
  timelineQuerySchema,
} from '../../wire/operator-queries.js';
import {
  cancelledConnectorScheduleSchema,
  cancelledLocationScheduleSchema,
  cancelledOrganizationScheduleSchema,
  PRIORITY_RULE,
  prioritySchema,
} from '../../wire/rest.js';
import { siteMeterSchema, siteReadingSchema } from '../../wire/site-meter.js';
import { type Call, type Endpoint, withBody, withoutBody, withQuery } from './endpoint.js';

// Extension endpoints that cancel a profile before it ends, with the scopes of the endpoints that submit one.
const CANCELLING = { method: 'delete', isExtension: true } as const;

const DIGITS = /^(?:0|[1-9]\d?)$/;

/** @throws DomainError INVALID_REQUEST_BODY */
function priorityOf({ param }: Call): number {
  const text = param('priority');
  const priority = prioritySchema.safeParse(DIGITS.test(text) ? Number(text) : undefined).data;
  if (priority === undefined)
    throw new DomainError('INVALID_REQUEST_BODY', `priority: must be ${PRIORITY_RULE}`);
  return priority;
}

const CANCEL_ENDPOINTS: readonly Endpoint[] = [
  withoutBody(
    {
      ...CANCELLING,
      operationId: 'cancelConnectorSchedule',
      path: '/v1/chargers/{controllerUuid}/connectors/{connectorId}/schedules/{priority}',
      tag: 'chargers',
      summary: 'Cancel a profile of a connector, which unlocks it at once',
      scope: 'chargers:write',
      responseSchema: cancelledConnectorScheduleSchema,
      mayWarn: true,
      errors: ['INVALID_REQUEST_BODY', 'TARGET_INACTIVE', 'CHARGER_NOT_FOUND', 'PROFILE_NOT_FOUND'],
    },
    (call) =>
      call.application.cancelConnectorProfile(
        call.tenantUuid,
        call.param('controllerUuid'),
        call.param('connectorId'),
        priorityOf(call),
        call.warn,
      ),
  ),
  withoutBody(
    {
      ...CANCELLING,
      operationId: 'cancelLocationSchedule',
      path: '/v1/locations/{locationId}/schedules/{priority}',
      tag: 'locations',
      summary: 'Cancel a profile of a location, which is rolled back at once',
      scope: 'locations:write',
      responseSchema: cancelledLocationScheduleSchema,
      mayWarn: true,
      errors: ['INVALID_REQUEST_BODY', 'TARGET_INACTIVE', 'LOCATION_NOT_FOUND', 'PROFILE_NOT_FOUND'],
    },
    (call) =>
      call.application.cancelLocationProfile(
        call.tenantUuid,
        call.param('locationId'),
        priorityOf(call),
        call.warn,
      ),
  ),
  withoutBody(
    {
      ...CANCELLING,
      operationId: 'cancelOrganizationSchedule',
      path: '/v1/organizations/schedules/{priority}',
      tag: 'organizations',
      summary: 'Cancel a recorded profile of the organization',
      scope: 'org:write',
      responseSchema: cancelledOrganizationScheduleSchema,
      errors: ['INVALID_REQUEST_BODY', 'PROFILE_NOT_FOUND'],
    },
    (call) => call.application.cancelOrganizationProfile(call.tenantUuid, priorityOf(call)),
  ),
];

const OPERATOR_LIMIT_PATH = '/v1/locations/{locationId}/operator-limit';
const SITE_METER_PATH = '/v1/locations/{locationId}/site-meter';

/** Common fields: most of these endpoints read data of locations. */
const EXTENSION = {
  method: 'get',
  tag: 'operators',
  scope: 'locations:read',
  isExtension: true,
} as const;

export const EXTENSION_ENDPOINTS: readonly Endpoint[] = [
  withQuery(
    {
      ...EXTENSION,
      operationId: 'listLocations',
      path: '/v1/locations',
      summary: 'List the locations with their present state',
      responseSchema: locationListSchema,
      errors: [],
    },
    pageQuerySchema,
    ({ application, tenantUuid }, query) => application.listLocations(tenantUuid, query),
  ),
  withoutBody(
    {
      ...EXTENSION,
      operationId: 'getLocation',
      path: '/v1/locations/{locationId}',
      summary: 'Read one location of that list',
      responseSchema: locationSummarySchema,
      errors: ['LOCATION_NOT_FOUND'],
    },
    ({ application, tenantUuid, param }) => application.locationSummary(tenantUuid, param('locationId')),
  ),
  withoutBody(
    {
      ...EXTENSION,
      operationId: 'getLocationLive',
      path: '/v1/locations/{locationId}/live',
      summary: 'Read limits, power and reasons of a location, connector by connector',
      responseSchema: locationLiveSchema,
      errors: ['LOCATION_NOT_FOUND'],
    },
    ({ application, tenantUuid, param }) => application.locationLive(tenantUuid, param('locationId')),
  ),
  withQuery(
    {
      ...EXTENSION,
      operationId: 'getLocationTimeline',
      path: '/v1/locations/{locationId}/timeline',
      summary: 'Read the limits in force of a location over time, with their causes',
      responseSchema: locationTimelineSchema,
      errors: ['LOCATION_NOT_FOUND'],
    },
    timelineQuerySchema,
    ({ application, tenantUuid, param }, query) =>
      application.locationTimeline(tenantUuid, param('locationId'), query),
  ),
  withQuery(
    {
      ...EXTENSION,
      operationId: 'getLocationHistory',
      path: '/v1/locations/{locationId}/history',
      summary: 'List every limit ever submitted for a location',
      responseSchema: locationHistorySchema,
      errors: ['LOCATION_NOT_FOUND'],
    },
    historyQuerySchema,
    ({ application, tenantUuid, param }, query) =>
      application.locationHistory(tenantUuid, param('locationId'), query),
  ),
  withQuery(
    {
      ...EXTENSION,
      operationId: 'getLocationPower',
      path: '/v1/locations/{locationId}/power',
      summary: 'Read the measured power of a location, with its limit in force',
      responseSchema: locationPowerSchema,
      errors: ['LOCATION_NOT_FOUND'],
    },
    powerQuerySchema,
    ({ application, tenantUuid, param }, query) =>
      application.locationPower(tenantUuid, param('locationId'), query),
  ),
  withQuery(
    {
      ...EXTENSION,
      operationId: 'listLocationAlarms',
      path: '/v1/locations/{locationId}/alarms',
      summary: 'List the alarms of a location, newest first',
      responseSchema: alarmListSchema,
      errors: ['LOCATION_NOT_FOUND'],
    },
    spanPageQuerySchema,
    ({ application, tenantUuid, param }, query) =>
      application.listAlarms(tenantUuid, param('locationId'), query),
  ),
  withQuery(
    {
      ...EXTENSION,
      operationId: 'listAlarms',
      path: '/v1/alarms',
      summary: 'List the alarms of all locations, newest first',
      responseSchema: alarmListSchema,
      errors: [],
    },
    spanPageQuerySchema,
    ({ application, tenantUuid }, query) => application.listAlarms(tenantUuid, undefined, query),
  ),
  withQuery(
    {
      ...EXTENSION,
      operationId: 'getConnectorSchedules',
      path: '/v1/chargers/{controllerUuid}/connectors/{connectorId}/schedules',
      summary: 'Read the profiles of a connector',
      responseSchema: connectorSchedulesSchema,
      errors: ['CHARGER_NOT_FOUND'],
    },
    asOfQuerySchema,
    ({ application, tenantUuid, param }, { at }) =>
      at === undefined
        ? application.connectorSchedules(tenantUuid, param('controllerUuid'), param('connectorId'))
        : application.connectorSchedulesAt(tenantUuid, param('controllerUuid'), param('connectorId'), at),
  ),
  withQuery(
    {
      ...EXTENSION,
      operationId: 'getConnectorHistory',
      path: '/v1/chargers/{controllerUuid}/connectors/{connectorId}/history',
      summary: 'List every profile ever submitted for a connector',
      responseSchema: connectorHistorySchema,
      errors: ['CHARGER_NOT_FOUND'],
    },
    historyQuerySchema,
    ({ application, tenantUuid, param }, query) =>
      application.connectorHistory(tenantUuid, param('controllerUuid'), param('connectorId'), query),
  ),
  withQuery(
    {
      ...EXTENSION,
      operationId: 'getOrganizationHistory',
      path: '/v1/organizations/history',
      // As for `GET /v1/organizations/limits`: a credential without access to
      // the recorded limits has none to earlier ones.
      scope: 'org:write',
      summary: 'List every limit ever recorded for the organization',
      responseSchema: organizationHistorySchema,
      errors: [],
    },
    historyQuerySchema,
    ({ application, tenantUuid }, query) => application.organizationHistory(tenantUuid, query),
  ),
  withoutBody(
    {
      ...EXTENSION,
      operationId: 'getOperatorLimit',
      path: OPERATOR_LIMIT_PATH,
      summary: "Read the state of the grid operator's limit of a location",
      responseSchema: operatorLimitSchema,
      errors: ['LOCATION_NOT_FOUND', 'NOT_FOUND'],
    },
    ({ application, tenantUuid, param }) => application.operatorLimit(tenantUuid, param('locationId')),
  ),
  withBody(
    {
      ...EXTENSION,
      operationId: 'setOperatorLimit',
      method: 'put',
      path: OPERATOR_LIMIT_PATH,
      scope: 'operator:write',
      summary: 'As the grid operator: limit a location, end the limit, or send a heartbeat',
      responseSchema: operatorLimitSchema,
      errors: ['LOCATION_NOT_FOUND', 'NOT_FOUND'],
    },
    operatorMessageSchema,
    ({ application, tenantUuid, param }, message) =>
      application.setOperatorLimit(tenantUuid, param('locationId'), message),
  ),
  withQuery(
    {
      ...EXTENSION,
      operationId: 'getOperatorLimitHistory',
      path: `${OPERATOR_LIMIT_PATH}/history`,
      summary: "List every state of the grid operator's limit of a location",
      responseSchema: operatorHistorySchema,
      errors: ['LOCATION_NOT_FOUND'],
    },
    historyQuerySchema,
    ({ application, tenantUuid, param }, query) =>
      application.operatorLimitHistory(tenantUuid, param('locationId'), query),
  ),
  withoutBody(
    {
      ...EXTENSION,
      operationId: 'getSiteMeter',
      path: SITE_METER_PATH,
      summary: 'Read the meter of a location, and the power that the building leaves for chargers',
      responseSchema: siteMeterSchema,
      errors: ['LOCATION_NOT_FOUND', 'NOT_FOUND'],
    },
    ({ application, tenantUuid, param }) => application.siteMeter(tenantUuid, param('locationId')),
  ),
  withBody(
    {
      ...EXTENSION,
      operationId: 'putSiteReading',
      method: 'put',
      path: SITE_METER_PATH,
      scope: 'meter:write',
      summary: 'As the meter of a location: send a reading',
      responseSchema: siteMeterSchema,
      errors: ['LOCATION_NOT_FOUND', 'NOT_FOUND'],
    },
    siteReadingSchema,
    ({ application, tenantUuid, param }, message) =>
      application.putSiteReading(tenantUuid, param('locationId'), message),
  ),
  ...CANCEL_ENDPOINTS,
];

// Extension endpoints that list, create and end API keys and OAuth clients, behind a scope of their own.
const API_KEYS_PATH = '/v1/credentials/api-keys';
const CLIENTS_PATH = '/v1/credentials/clients';

const OF_CREDENTIALS = { tag: 'credentials', scope: 'credentials:write', isExtension: true } as const;

export const CREDENTIAL_ENDPOINTS: readonly Endpoint[] = [
  withoutBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'listApiKeys',
      method: 'get',
      path: API_KEYS_PATH,
      summary: 'List the API keys, newest first, without their secrets',
      responseSchema: apiKeyListSchema,
      errors: [],
    },
    ({ credentials, caller }) => credentials.listApiKeys(caller),
  ),
  withBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'createApiKey',
      method: 'post',
      path: API_KEYS_PATH,
      summary: 'Create an API key; only this answer has it',
      status: 201,
      responseSchema: issuedApiKeySchema,
      errors: [],
    },
    credentialRequestSchema,
    ({ credentials, caller }, request) => credentials.createApiKey(caller, request),
  ),
  withoutBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'revokeApiKey',
      method: 'delete',
      path: `${API_KEYS_PATH}/{keyId}`,
      summary: 'Revoke an API key for good, from the next request on',
      responseSchema: apiKeySchema,
      errors: ['NOT_FOUND'],
    },
    ({ credentials, caller, param }) => credentials.revokeApiKey(caller, param('keyId')),
  ),
  withoutBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'listOauthClients',
      method: 'get',
      path: CLIENTS_PATH,
      summary: 'List the OAuth clients, newest first, without their secrets',
      responseSchema: oauthClientListSchema,
      errors: [],
    },
    ({ credentials, caller }) => credentials.listClients(caller),
  ),
  withBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'createOauthClient',
      method: 'post',
      path: CLIENTS_PATH,
      summary: 'Create an OAuth client; only this answer has its secret',
      status: 201,
      responseSchema: issuedOauthClientSchema,
      errors: [],
    },
    credentialRequestSchema,
    ({ credentials, caller }, request) => credentials.createClient(caller, request),
  ),
  withoutBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'disableOauthClient',
      method: 'delete',
      path: `${CLIENTS_PATH}/{clientId}`,
      summary: 'Disable an OAuth client and its tokens for good, from the next request on',
      responseSchema: oauthClientSchema,
      errors: ['NOT_FOUND'],
    },
    ({ credentials, caller, param }) => credentials.disableClient(caller, param('clientId')),
  ),
];
