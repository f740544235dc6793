// Extension endpoints that cancel a profile before it ends, with the scopes of the endpoints that submit one.
import { DomainError } from '../../../machines/values/errors.js';
import {
  cancelledConnectorScheduleSchema,
  cancelledLocationScheduleSchema,
  cancelledOrganizationScheduleSchema,
} from '../../wire/cancelled-profiles.js';
import { PRIORITY_RULE, prioritySchema } from '../../wire/rest.js';
import { type Call, type Endpoint, withoutBody } from './endpoint.js';

const EXTENSION = { method: 'delete', isExtension: true } as const;

const DIGITS = /^(?:0|[1-9]\d?)$/;

/** @throws DomainError INVALID_REQUEST_BODY */
function priorityOf({ param }: Call): number {
  const text = param('priority');
  const priority = prioritySchema.safeParse(DIGITS.test(text) ? Number(text) : undefined).data;
  if (priority === undefined)
    throw new DomainError('INVALID_REQUEST_BODY', `priority: must be ${PRIORITY_RULE}`);
  return priority;
}

export const CANCEL_ENDPOINTS: readonly Endpoint[] = [
  withoutBody(
    {
      ...EXTENSION,
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
      ...EXTENSION,
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
      ...EXTENSION,
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
