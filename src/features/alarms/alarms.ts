// The alarms of a location or of the whole tenant, open ones included.

import { type Asked, type Core, findLocationId } from '../../actors/core.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { AlarmRecord } from '../../ports/records.js';
import { toInstant } from '../../wire/instants.js';
import { newestFirst, type SpanPageQuery, spanPageQuerySchema } from '../../wire/spans.js';
import { type AlarmList, type AlarmView, alarmListSchema } from './contract.js';
import { readAlarms } from './rows.js';

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
  const { span, rows, nextCursor } = await newestFirst(
    query,
    clock.nowMs(),
    (window, count) => {
      const locationId = findLocationId(directory, tenantUuid, locationText);
      return read((trx) => readAlarms(trx, tenantUuid, { locationId, window, count }));
    },
    ({ beganAtMs }) => beganAtMs,
  );
  return { ...span, alarms: rows.map(viewOfAlarm), nextCursor };
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
