// Learns of alarms where the service writes them down, and tells the trace when one begins and ends.
import type { AlarmRecord } from '../../src/ports/records.js';
import type { Change } from '../../src/ports/store.js';
import type { Tracer } from './tracer.js';

export interface AlarmNotes {
  written(changes: readonly Change[]): void;
}

export function createAlarmNotes(tracer: Pick<Tracer, 'add'>): AlarmNotes {
  const open = new Map<string, AlarmRecord>();

  function note({ kind: alarm, locationId, controllerUuid, connectorId }: AlarmRecord, isOn: boolean): void {
    const target = controllerUuid === null ? locationId : `${controllerUuid}/${connectorId}`;
    tracer.add({ kind: 'alarm', alarm, target, isOn });
  }

  return {
    written(changes) {
      for (const change of changes) {
        if (change.kind === 'alarm.begin') {
          open.set(change.alarm.alarmId, change.alarm);
          note(change.alarm, true);
        } else if (change.kind === 'alarm.end') {
          const alarm = open.get(change.alarmId);
          open.delete(change.alarmId);
          if (alarm !== undefined) note(alarm, false);
        }
      }
    },
  };
}
