// Alarms with a beginning and an end: each is told once, kept on disk, and open again after a restart.
import type { AlarmKind } from '../../../machines/grant.js';
import { connectorKey } from '../../../machines/ids.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { AlarmRecord, ConnectorRecord } from '../../ports/records.js';
import type { Change } from '../../ports/store.js';
import type { LocationEntity } from '../entities.js';
import { alarmKey } from './location-enforcement.js';

export type AlarmNews = 'began' | 'changed' | 'ended';

export interface AlarmBook {
  /** Begins or ends the alarm of the location, or of one of its connectors, or gives it another reason; nothing where it already is so. */
  set(
    location: LocationEntity,
    kind: AlarmKind,
    connector: ConnectorRecord | undefined,
    /** A sentence for the operator; undefined where all is well. */
    reason: string | undefined,
  ): void;
  /** Takes an alarm that was open when the service ended. */
  restore(location: LocationEntity, alarm: AlarmRecord): void;
  openOf(location: LocationEntity): readonly AlarmRecord[];
}

export function createAlarmBook(options: {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  /** Writes sooner or later, in order; must not throw. */
  readonly write: (location: LocationEntity, change: Change) => void;
  /** Told of every beginning, other reason and end; must not throw. */
  readonly onAlarm: (location: LocationEntity, alarm: AlarmRecord, what: AlarmNews) => void;
}): AlarmBook {
  const { clock, log, newId, write, onAlarm } = options;

  function begin(
    location: LocationEntity,
    kind: AlarmKind,
    connector: ConnectorRecord | undefined,
    reason: string,
  ): AlarmRecord {
    const alarm: AlarmRecord = {
      alarmId: newId(),
      kind,
      locationId: location.record.locationId,
      controllerUuid: connector?.controllerUuid ?? null,
      connectorId: connector?.connectorId ?? null,
      reason,
      firstReason: reason,
      beganAtMs: clock.nowMs(),
      endedAtMs: null,
    };
    write(location, { kind: 'alarm.begin', alarm });
    return alarm;
  }

  return {
    set(location, kind, connector, reason) {
      const { alarms } = location.enforcement;
      const key = alarmKey(kind, connector === undefined ? undefined : connectorKey(connector));
      const open = alarms.get(key);
      if (open?.reason === reason) return;
      const tenantUuid = location.tenant.tenantUuid;
      if (reason !== undefined && open !== undefined) {
        const alarm = { ...open, reason };
        alarms.set(key, alarm);
        write(location, { kind: 'alarm.change', alarmId: alarm.alarmId, reason });
        log.info({ tenantUuid, ...alarm }, 'alarm lasts for another reason');
        onAlarm(location, alarm, 'changed');
      } else if (reason !== undefined) {
        const alarm = begin(location, kind, connector, reason);
        alarms.set(key, alarm);
        log.warn({ tenantUuid, ...alarm }, 'alarm began');
        onAlarm(location, alarm, 'began');
      } else if (open !== undefined) {
        const alarm = { ...open, endedAtMs: clock.nowMs() };
        alarms.delete(key);
        write(location, { kind: 'alarm.end', alarmId: alarm.alarmId, atMs: alarm.endedAtMs });
        log.info({ tenantUuid, ...alarm }, 'alarm ended');
        onAlarm(location, alarm, 'ended');
      }
    },
    restore({ enforcement }, alarm) {
      enforcement.alarms.set(alarmKey(alarm.kind, connectorKeyOf(alarm)), alarm);
    },
    openOf: ({ enforcement }) => [...enforcement.alarms.values()],
  };
}

/** undefined for an alarm of the whole location. */
export function connectorKeyOf({ controllerUuid, connectorId }: AlarmRecord): string | undefined {
  if (controllerUuid === null || connectorId === null) return undefined;
  return connectorKey({ controllerUuid, connectorId });
}
