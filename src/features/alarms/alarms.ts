// The alarms of a location or of the whole tenant, open ones included.

import { type Asked, type Core, findLocation, findTenant } from '../../actors/core.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { AlarmRecord } from '../../ports/records.js';
import { toInstant } from '../../wire/instants.js';
import {
  askedPast,
  nextPlaceOf,
  placeOf,
  type SpanPageQuery,
  spanPageQuerySchema,
  windowUntil,
} from '../../wire/spans.js';
import { type AlarmList, type AlarmView, alarmListSchema } from './contract.js';
import { readAlarms } from './rows.js';

const LONGEST_DAYS = 366;

export const listAlarms = endpoint({
  operationId: 'listAlarms',
  method: 'get',
  path: '/v1/alarms',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'List the alarms of all locations, newest first',
  querySchema: spanPageQuerySchema,
  responseSchema: alarmListSchema,
  errors: [],
  handle: (core, asked) => alarmsOf(core, undefined, asked),
});

export const listLocationAlarms = endpoint({
  operationId: 'listLocationAlarms',
  method: 'get',
  path: '/v1/locations/{locationId}/alarms',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'List the alarms of a location, newest first',
  querySchema: spanPageQuerySchema,
  responseSchema: alarmListSchema,
  errors: ['LOCATION_NOT_FOUND'],
  handle: (core, asked) => alarmsOf(core, asked.path.locationId, asked),
});

/** Newest first. */
async function alarmsOf(
  { directory, clock, read }: Core,
  locationText: string | undefined,
  { tenantUuid, query }: Asked<unknown, unknown, SpanPageQuery>,
): Promise<AlarmList> {
  const window = askedPast(query, clock.nowMs(), LONGEST_DAYS);
  const place = placeOf(query.cursor);
  const locationId =
    locationText === undefined
      ? undefined
      : findLocation(directory, tenantUuid, locationText).record.locationId;
  findTenant(directory, tenantUuid);
  const found = await read((trx) =>
    readAlarms(trx, tenantUuid, {
      locationId,
      window: windowUntil(window, place),
      count: place.skip + query.limit + 1,
    }),
  );
  return {
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    alarms: found.slice(place.skip, place.skip + query.limit).map(viewOfAlarm),
    nextCursor: nextPlaceOf(found, place.skip + query.limit, ({ beganAtMs }) => beganAtMs),
  };
}

export function viewOfAlarm(alarm: AlarmRecord): AlarmView {
  return {
    alarmId: alarm.alarmId,
    kind: alarm.kind,
    locationId: alarm.locationId,
    controllerUuid: alarm.controllerUuid,
    connectorId: alarm.connectorId,
    reason: alarm.reason,
    firstReason: alarm.firstReason,
    beganAt: toInstant(alarm.beganAtMs),
    endedAt: alarm.endedAtMs === null ? null : toInstant(alarm.endedAtMs),
  };
}
