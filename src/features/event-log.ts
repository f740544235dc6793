// Every event of the log: the committed change that it follows from, and the view that fills it.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { ProfileTarget } from '../ports/records.js';
import type { Change } from '../ports/store.js';
import { toInstant } from '../wire/instants.js';
import { viewOfAlarm } from './alarms/alarms.js';
import { viewOfCluster } from './clusters/clusters.js';
import type { NewEvent } from './events/rows.js';
import { viewOfStanding } from './operator-limit/operator-limit.js';
import { viewOfSession } from './sessions/sessions.js';

/** Undefined for bookkeeping, which is no event. @param by the credential of the change; undefined without one */
export function eventOf(
  change: Change,
  tenantUuid: TenantUuid,
  by: string | undefined,
): NewEvent | undefined {
  const body = bodyOf(change, tenantUuid);
  return body && { ...NOWHERE, key: undefined, by: by ?? null, ...body };
}

const BOOKKEEPING: ReadonlySet<Change['kind']> = new Set<Change['kind']>([
  'alarm.change',
  'reservation.put',
  'needs.put',
  'billedWindow.put',
  'power.put',
]);

/** The log has an event for such a change. */
export function isEvent({ kind }: Change): boolean {
  return !BOOKKEEPING.has(kind);
}

const NOWHERE = { locationId: null, controllerUuid: null, connectorId: null } as const;

type EventBody = Pick<NewEvent, 'type' | 'atMs' | 'data'> &
  Partial<Pick<NewEvent, 'key' | 'locationId' | 'controllerUuid' | 'connectorId'>>;

function bodyOf(change: Change, tenantUuid: TenantUuid): EventBody | undefined {
  switch (change.kind) {
    case 'profile.put': {
      const { priority, limitKw, startsAtMs, endsAtMs } = change.profile;
      const data = { priority, limitKw, startTime: toInstant(startsAtMs), endTime: toInstant(endsAtMs) };
      return { type: 'schedule.submitted', atMs: change.atMs, ...placeOf(change.target), data };
    }
    case 'profile.cancel': {
      const { priority, target, atMs } = change;
      return { type: 'schedule.cancelled', atMs, ...placeOf(target), data: { priority } };
    }
    case 'permanentLimit.set': {
      const { locationId, limitKw, atMs } = change;
      return { type: 'limit.changed', atMs, locationId, data: { permanentLimitKw: limitKw } };
    }
    case 'cluster.put': {
      const { cluster } = change;
      const { locationIds, ...data } = viewOfCluster(tenantUuid, cluster);
      return {
        type: 'cluster.changed',
        atMs: cluster.updatedAtMs,
        data: { ...data, totalLocations: locationIds.length },
      };
    }
    case 'cluster.delete': {
      const { clusterId, atMs } = change;
      return { type: 'cluster.deleted', atMs, data: { clusterId } };
    }
    case 'alarm.begin': {
      const { alarm } = change;
      return {
        type: 'alarm.began',
        atMs: alarm.beganAtMs,
        ...placeOfAlarm(change),
        key: `began ${alarm.alarmId}`,
      };
    }
    case 'alarm.end': {
      const { alarm } = change;
      return {
        type: 'alarm.ended',
        atMs: alarm.endedAtMs ?? alarm.beganAtMs,
        ...placeOfAlarm(change),
        key: `ended ${alarm.alarmId}`,
      };
    }
    case 'operator.put': {
      const { event } = change;
      const { locationId, recordedAtMs } = event;
      const key = `operator ${locationId} ${recordedAtMs} ${event.state}`;
      return {
        type: 'operatorLimit.changed',
        atMs: recordedAtMs,
        locationId,
        key,
        data: viewOfStanding(event),
      };
    }
    case 'session.put': {
      const { session } = change;
      const { locationId, controllerUuid, connectorId, arrivedAtMs, leftAtMs } = session;
      const key = `session ${controllerUuid} ${connectorId} ${arrivedAtMs} ${session.session ?? ''}`;
      const data = viewOfSession(session);
      return { type: 'session.ended', atMs: leftAtMs, locationId, controllerUuid, connectorId, key, data };
    }
    default:
      return undefined;
  }
}

function placeOf(target: ProfileTarget): Pick<EventBody, 'locationId' | 'controllerUuid' | 'connectorId'> {
  const { kind, ...place } = target;
  return place;
}

function placeOfAlarm({
  alarm,
}: Extract<Change, { readonly alarm: unknown }>): Pick<
  NewEvent,
  'locationId' | 'controllerUuid' | 'connectorId' | 'data'
> {
  const { locationId, controllerUuid, connectorId } = alarm;
  return { locationId, controllerUuid, connectorId, data: viewOfAlarm(alarm) };
}
