// Every event of the log: the committed change that it follows from, and the view that fills it.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { Change } from '../ports/store.js';
import { viewOfAlarm } from './alarms/alarms.js';
import { viewOfCluster } from './clusters/clusters.js';
import type { NewEvent } from './events/rows.js';
import { viewOfStanding } from './operator-limit/operator-limit.js';
import { viewOfSession } from './sessions/sessions.js';

/** Undefined for a change that is no event. @param by the credential of the change; undefined without one */
export function eventOf(
  change: Change,
  tenantUuid: TenantUuid,
  by: string | undefined,
): NewEvent | undefined {
  const body = bodyOf(change, tenantUuid);
  return body && { ...NOWHERE, tenantUuid, key: undefined, by: by ?? null, ...body };
}

/** Profiles and permanent limits have a history of their own, and bookkeeping is no event. */
const LOGGED: ReadonlySet<Change['kind']> = new Set<Change['kind']>([
  'cluster.put',
  'cluster.delete',
  'alarm.begin',
  'alarm.end',
  'operator.put',
  'session.put',
]);

/** The log has an event for such a change. */
export function isEvent({ kind }: Change): boolean {
  return LOGGED.has(kind);
}

const NOWHERE = { locationId: null, controllerUuid: null, connectorId: null } as const;

type EventBody = Pick<NewEvent, 'type' | 'atMs' | 'data'> &
  Partial<Pick<NewEvent, 'key' | 'locationId' | 'controllerUuid' | 'connectorId'>>;

function bodyOf(change: Change, tenantUuid: TenantUuid): EventBody | undefined {
  switch (change.kind) {
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

function placeOfAlarm({
  alarm,
}: Extract<Change, { readonly alarm: unknown }>): Pick<
  NewEvent,
  'locationId' | 'controllerUuid' | 'connectorId' | 'data'
> {
  const { locationId, controllerUuid, connectorId } = alarm;
  return { locationId, controllerUuid, connectorId, data: viewOfAlarm(alarm) };
}
