// The record of a world: each event, for a listener of the trace, and every violation.
import { createHash } from 'node:crypto';
import type { ConnectorReport } from '../../machines/power/connector.machine.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Log } from '../../src/ports/log.js';
import type { AlarmRecord } from '../../src/ports/records.js';
import type { Change } from '../../src/ports/store.js';
import type { CarNote } from '../charger/car.js';
import type { FaultKind, TraceEvent } from '../log/trace-event.js';
import type { NewProfile } from './limit-oracle.js';
import type { Violation } from './power-watch.js';
import type { RestAnswer } from './rest-client.js';
import { Tracer } from './tracer.js';

// Adds the begin and the end of each alarm to the trace, from the changes that the service stores.
class AlarmNotes {
  readonly #tracer: Pick<Tracer, 'add'>;
  readonly #open = new Map<string, AlarmRecord>();

  constructor(tracer: Pick<Tracer, 'add'>) {
    this.#tracer = tracer;
  }

  written(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.kind === 'alarm.begin') {
        this.#open.set(change.alarm.alarmId, change.alarm);
        this.#note(change.alarm, true);
      } else if (change.kind === 'alarm.end') {
        const alarm = this.#open.get(change.alarmId);
        this.#open.delete(change.alarmId);
        if (alarm !== undefined) this.#note(alarm, false);
      }
    }
  }

  #note({ kind: alarm, locationId, controllerUuid, connectorId }: AlarmRecord, isOn: boolean): void {
    const target = controllerUuid === null ? locationId : `${controllerUuid}/${connectorId}`;
    this.#tracer.add({ kind: 'alarm', alarm, target, isOn });
  }
}

const KEPT_VIOLATIONS = 1_000;
const SILENT: Omit<Log, 'error'> = { debug() {}, info() {}, warn() {} };

export class WorldRecord {
  readonly violations: Violation[] = [];
  /** Undefined without a listener of the trace. */
  readonly tracer: Tracer | undefined;
  /** Alarms, as the service stores them; undefined without a listener of the trace. */
  readonly alarms: AlarmNotes | undefined;
  readonly #nowMs: () => EpochMs;

  constructor(onEvent: ((event: TraceEvent) => void) | undefined, nowMs: () => EpochMs) {
    this.#nowMs = nowMs;
    this.tracer = onEvent && new Tracer(onEvent, nowMs);
    this.alarms = this.tracer && new AlarmNotes(this.tracer);
  }

  /**
   * Log for the service: its errors are violations, with or without a `listener` for the other levels. At level
   * debug the service logs every effect of an actor. Locks are among these effects, and no message to a charger
   * contains locks.
   */
  log(listener: Omit<Log, 'error'> = SILENT): Log {
    return {
      ...listener,
      debug: (fields, message) => {
        listener.debug(fields, message);
        if (isLockReport(fields)) this.#lock(fields);
      },
      error: (fields, message) =>
        this.report({ invariant: 'P14', target: 'service', detail: `${message} ${describe(fields)}` }),
    };
  }

  /** Records a violation at this instant. */
  report(violation: Omit<Violation, 'atMs'>): void {
    this.violate({ atMs: this.#nowMs(), ...violation });
  }

  violate(violation: Violation): void {
    this.tracer?.add({ kind: 'violation', ...violation });
    if (this.violations.length < KEPT_VIOLATIONS) this.violations.push(violation);
  }

  fault(fault: FaultKind, target: string, isOn: boolean): void {
    this.tracer?.add({ kind: 'fault', fault, target, isOn });
  }

  action(name: string, { status, body }: RestAnswer): void {
    this.tracer?.add({ kind: 'action', name, status });
    this.tracer?.add({ kind: 'answer', name, digest: digestOf(body) });
  }

  visit({ locationId, controllerUuid }: ChargerAddress, connectorId: ConnectorId, note: CarNote): void {
    const { what, car, deliveredWh } = note;
    this.tracer?.add({
      kind: 'session',
      locationId,
      controllerUuid,
      connectorId,
      what,
      sessionId: car.sessionId ?? '',
      requestedWh: Math.round(car.batteryWh - car.storedWh),
      deliveredWh: Math.round(deliveredWh),
    });
  }

  #lock(report: ConnectorReport): void {
    const isOn = report.type === 'connector.locked';
    const limitW = isOn ? Math.floor(report.limitKw * 1000) : 0;
    this.tracer?.add({ kind: 'lock', target: report.key, limitW, isOn });
  }

  profile(target: string, { startTime, endTime, limitKw, priority = 0 }: NewProfile): void {
    const limitW = Math.floor(limitKw * 1000);
    const window = { startsAtMs: Date.parse(startTime), endsAtMs: Date.parse(endTime) };
    this.tracer?.add({ kind: 'profile', target, priority, limitW, ...window });
  }

  profileCancelled(target: string, priority: number): void {
    const window = { startsAtMs: this.#nowMs(), endsAtMs: this.#nowMs() };
    this.tracer?.add({ kind: 'profile', target, priority, limitW: 0, ...window });
  }
}

const OWN_IDS: ReadonlySet<string> = new Set(['requestId', 'alarmId']);

function isLockReport(fields: object): fields is ConnectorReport {
  return 'type' in fields && (fields.type === 'connector.locked' || fields.type === 'connector.unlocked');
}

/**
 * Leaves out ids and sentences. An error has the id of its request, which differs each time, and each world numbers its
 * alarms. A sentence has a space: its wording is no part of the course of events.
 */
function digestOf(body: unknown): string {
  const isLeftOut = (key: string, value: unknown) =>
    OWN_IDS.has(key) || (typeof value === 'string' && value.includes(' '));
  const text = JSON.stringify(body, (key, value: unknown) => (isLeftOut(key, value) ? undefined : value));
  return createHash('sha256')
    .update(text ?? '')
    .digest('hex')
    .slice(0, 16);
}

function describe(fields: object): string {
  const error = 'err' in fields ? fields.err : undefined;
  return error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(fields);
}
