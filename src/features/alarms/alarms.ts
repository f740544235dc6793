// The alarms of a location or of the whole tenant, open ones included.

import { type Asked, type Core, findLocation, findTenant } from '../../actors/core.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { AlarmRecord } from '../../ports/records.js';
import { toInstant } from '../../wire/instants.js';
import { askedPast, type SpanPageQuery, spanPageQuerySchema, unknownCursor } from '../../wire/spans.js';
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

/** Newest first. A page continues at an instant, so alarms that begin between two pages do not shift the next one. */
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
  const { skip } = place;
  const endsAtMs = Math.min(window.endsAtMs, place.beganAtMs + 1);
  const found = await read((trx) =>
    readAlarms(trx, tenantUuid, {
      locationId,
      window: { startsAtMs: window.startsAtMs, endsAtMs },
      count: skip + query.limit + 1,
    }),
  );
  const alarms = found.slice(skip, skip + query.limit);
  const last = found.length > skip + query.limit ? alarms.at(-1) : undefined;
  const passed = found.slice(0, skip + query.limit);
  return {
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    alarms: alarms.map(viewOfAlarm),
    nextCursor:
      last === undefined
        ? null
        : `${last.beganAtMs}-${passed.filter(({ beganAtMs }) => beganAtMs === last.beganAtMs).length}`,
  };
}

const PLACE = /^(-?\d{1,15})-(\d{1,6})$/;

/**
 * The place that a cursor names: `skip` alarms that began at `beganAtMs` were already returned.
 * @throws DomainError INVALID_REQUEST_BODY
 */
function placeOf(cursor: string | undefined): { readonly beganAtMs: number; readonly skip: number } {
  if (cursor === undefined) return { beganAtMs: Number.POSITIVE_INFINITY, skip: 0 };
  const [, beganAtMs, skip] = PLACE.exec(cursor) ?? [];
  if (beganAtMs === undefined || skip === undefined) throw unknownCursor();
  return { beganAtMs: Number(beganAtMs), skip: Number(skip) };
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
