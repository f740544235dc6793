// Converts an alarm into the form of answers and of the event stream.
import type { AlarmRecord } from '../ports/records.js';
import { toInstant } from '../wire/instants.js';
import type { AlarmView } from '../wire/operator-history.js';

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
