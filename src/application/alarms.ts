// Extension: the alarms of a location or of the whole tenant, open ones included.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { AlarmRecord } from '../ports/records.js';
import { toInstant } from '../wire/instants.js';
import type { AlarmList, AlarmView } from '../wire/operator-history.js';
import type { SpanPageQuery } from '../wire/operator-queries.js';
import { type Core, findLocation, findTenant } from './core.js';
import { alarmCursorOf, alarmPlaceOf, askedPast } from './query-spans.js';

// Converts an alarm into the form of answers and of the event stream.
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

const LONGEST_DAYS = 366;

/** Newest first. A page continues at an instant, so alarms that begin between two pages do not shift the next one. */
export async function listAlarms(
  core: Core,
  tenantUuid: TenantUuid,
  locationText: string | undefined,
  asked: SpanPageQuery,
): Promise<AlarmList> {
  const window = askedPast(asked, core.clock.nowMs(), LONGEST_DAYS);
  const place = alarmPlaceOf(asked.cursor);
  const locationId =
    locationText === undefined
      ? undefined
      : findLocation(core.directory, tenantUuid, locationText).record.locationId;
  findTenant(core.directory, tenantUuid);
  const skip = place?.skip ?? 0;
  const endsAtMs = place === undefined ? window.endsAtMs : Math.min(window.endsAtMs, place.beganAtMs + 1);
  const found = await core.archive.alarms(tenantUuid, {
    locationId,
    window: { startsAtMs: window.startsAtMs, endsAtMs },
    count: skip + asked.limit + 1,
  });
  const alarms = found.slice(skip, skip + asked.limit);
  const last = found.length > skip + asked.limit ? alarms.at(-1) : undefined;
  return {
    from: toInstant(window.startsAtMs),
    to: toInstant(window.endsAtMs),
    alarms: alarms.map(viewOfAlarm),
    nextCursor:
      last === undefined
        ? null
        : alarmCursorOf({
            beganAtMs: last.beganAtMs,
            skip: found.slice(0, skip + asked.limit).filter(({ beganAtMs }) => beganAtMs === last.beganAtMs)
              .length,
          }),
  };
}
