// Alarms with a beginning and an end: each is reported once, kept on disk, and open again after a restart.
import type { AlarmKind } from '../../machines/ledger/grant.js';
import { connectorKey } from '../../machines/values/ids.js';
import type { LocationEntity } from '../actors/directory.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { AlarmRecord, ConnectorRecord } from '../ports/records.js';
import type { Change } from '../ports/store.js';

export type AlarmNews = 'began' | 'changed' | 'ended';

interface AlarmBookOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  /** Must write sooner or later, in order, and must not throw. */
  readonly write: (location: LocationEntity, change: Change) => void;
  /** Called for every beginning, new reason and end; must not throw. */
  readonly onAlarm: (location: LocationEntity, alarm: AlarmRecord, what: AlarmNews) => void;
}

export class OpenAlarms {
  readonly #options: AlarmBookOptions;

  constructor(options: AlarmBookOptions) {
    this.#options = options;
  }

  /**
   * Begins or ends the alarm of the location or of one of its connectors, or gives it another reason. Does nothing
   * without a change.
   * @param reason a sentence for the operator; undefined: no alarm
   */
  set(
    location: LocationEntity,
    kind: AlarmKind,
    connector: ConnectorRecord | undefined,
    reason: string | undefined,
  ): void {
    const key = alarmKey(kind, connector === undefined ? undefined : connectorKey(connector));
    const open = location.alarms.get(key);
    if (open?.reason === reason) return;
    if (reason === undefined) this.#end(location, key, open);
    else if (open === undefined) this.#begin(location, key, { kind, connector, reason });
    else this.#change(location, key, { ...open, reason });
  }

  /** Undefined without an open alarm. */
  reasonOf({ alarms }: LocationEntity, kind: AlarmKind, connector: ConnectorRecord): string | undefined {
    return alarms.get(alarmKey(kind, connectorKey(connector)))?.reason;
  }

  /** Takes an alarm that was open at the end of the last service. */
  restore({ alarms }: LocationEntity, alarm: AlarmRecord): void {
    alarms.set(alarmKey(alarm.kind, connectorKeyOf(alarm)), alarm);
  }

  #begin(
    location: LocationEntity,
    key: string,
    { kind, connector, reason }: { kind: AlarmKind; connector: ConnectorRecord | undefined; reason: string },
  ): void {
    const { clock, log, newId, write, onAlarm } = this.#options;
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
    location.alarms.set(key, alarm);
    log.warn({ tenantUuid: location.tenant.tenantUuid, ...alarm }, 'alarm began');
    onAlarm(location, alarm, 'began');
  }

  #change(location: LocationEntity, key: string, alarm: AlarmRecord): void {
    const { log, write, onAlarm } = this.#options;
    const { alarmId, reason } = alarm;
    location.alarms.set(key, alarm);
    write(location, { kind: 'alarm.change', alarmId, reason });
    log.info({ tenantUuid: location.tenant.tenantUuid, ...alarm }, 'alarm changed its reason');
    onAlarm(location, alarm, 'changed');
  }

  #end(location: LocationEntity, key: string, open: AlarmRecord | undefined): void {
    if (open === undefined) return;
    const { clock, log, write, onAlarm } = this.#options;
    const alarm = { ...open, endedAtMs: clock.nowMs() };
    location.alarms.delete(key);
    write(location, { kind: 'alarm.end', alarm });
    log.info({ tenantUuid: location.tenant.tenantUuid, ...alarm }, 'alarm ended');
    onAlarm(location, alarm, 'ended');
  }
}

function alarmKey(kind: AlarmKind, connectorKey: string | undefined): string {
  return `${kind} ${connectorKey ?? ''}`;
}

/** Undefined for an alarm of the whole location. */
function connectorKeyOf({ controllerUuid, connectorId }: AlarmRecord): string | undefined {
  if (controllerUuid === null || connectorId === null) return undefined;
  return connectorKey({ controllerUuid, connectorId });
}
