// The record of a world: each event, for a listener of the trace, and every violation.
import { createHash } from 'node:crypto';
import type { LimitReason } from '../../machines/ledger/grant.js';
import type { ConnectorReport } from '../../machines/power/connector.machine.js';
import type { ChargingStatus } from '../../machines/values/charging-status.js';
import type { ChargerAddress, ConnectorAddress, ConnectorId } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Log } from '../../src/ports/log.js';
import type { AlarmRecord } from '../../src/ports/records.js';
import type { Change } from '../../src/ports/store.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { CarNote, PerPhase } from '../charger/car.js';
import type { OutletState } from '../charger/virtual-charger.js';
import type { FaultKind, TraceEvent } from '../log/trace-event.js';
import type { ChargerRun } from './charger-run.js';
import type { NewProfile } from './limit-oracle.js';
import { type Limits, type SourceReading, type SourceReadings, UNLIMITED_W } from './limit-readings.js';
import type { RestAnswer } from './rest-client.js';

export interface Violation {
  readonly atMs: EpochMs;
  readonly invariant: string;
  readonly target: string;
  readonly detail: string;
}

/** A check's way to report a violation; the receiver adds the time. */
export type Report = (violation: Omit<Violation, 'atMs'>) => void;

type Untimed<E> = E extends unknown ? Omit<E, 'atMs'> : never;

/** Last traced state of a connector. */
interface OutletRecord {
  status: ChargingStatus;
  powerW: number;
  limitTenthsA: number;
  reason: LimitReason;
  isLeased: boolean;
  isOnline: boolean;
}

/** Voltages change with every load: the trace has only changes that a person would notice. */
const LEAST_TENTHS_V = 10;

const MEASURED_EVERY_MS = 10_000;
const DECIDED = ['limitW', 'cause', 'rule', 'effectiveW', 'operator'] as const;
const MEASURED = ['buildingW', 'reserveW'] as const;

function sameIn(a: Limits, b: Limits, fields: readonly (keyof Limits)[]): boolean {
  return fields.every((field) => a[field] === b[field]);
}

function isOld(tracedAtMs: EpochMs, atMs: EpochMs): boolean {
  return atMs - tracedAtMs >= MEASURED_EVERY_MS;
}

/** Last traced limit of a source. */
interface SourceRecord {
  readonly atMs: EpochMs;
  readonly limitW: number;
}

const UNTRACED: SourceRecord = { atMs: Number.NEGATIVE_INFINITY, limitW: UNLIMITED_W };
const ABSENT: SourceReading = { limitW: UNLIMITED_W, isDecided: true };

/** Last traced limit. */
interface Granted {
  epoch: number;
  limitA: number;
  reason: LimitReason;
}

/** Turns the events of a world into trace events, each only when something of it changed. */
export class Tracer {
  readonly #emit: (event: TraceEvent) => void;
  readonly #nowMs: () => EpochMs;
  readonly #recorded = new Map<OutletState, OutletRecord>();
  readonly #powerW = new Map<string, number>();
  readonly #limitW = new Map<string, number>();
  readonly #limits = new Map<string, { readonly atMs: EpochMs; readonly limits: Limits }>();
  /** By location and name of the source. */
  readonly #sources = new Map<string, Map<string, SourceRecord>>();
  readonly #voltages = new Map<string, readonly number[]>();
  readonly #granted = new Map<string, Granted>();
  /** The same by address object, for one life of the service, which keeps its address objects. */
  readonly #grantedTo = new WeakMap<ConnectorAddress, Granted>();

  constructor(emit: (event: TraceEvent) => void, nowMs: () => EpochMs) {
    this.#emit = emit;
    this.#nowMs = nowMs;
  }

  /** Takes any event that is not about a connector, limit, power or grant. */
  add(event: Untimed<TraceEvent>): void {
    this.#emit({ atMs: this.#nowMs(), ...event } as TraceEvent);
  }

  /** The charger's state may have changed. */
  charger(run: ChargerRun): void {
    for (const state of run.charger.outlets) this.#outlet(run, state);
  }

  power(locationId: string, drawnW: number): void {
    const rounded = Math.round(drawnW);
    if (this.#powerW.get(locationId) === rounded) return;
    this.#powerW.set(locationId, rounded);
    this.#emit({ atMs: this.#nowMs(), kind: 'power', locationId, powerW: rounded });
  }

  limit(locationId: string, allowedW: number): void {
    if (this.#limitW.get(locationId) === allowedW) return;
    this.#limitW.set(locationId, allowedW);
    this.#emit({ atMs: this.#nowMs(), kind: 'limit', locationId, limitW: allowedW });
  }

  /**
   * The location's limits as the service applies them. The load of a building, and the limits that follow from it, move
   * each second. As long as they do not change the limit in force, the trace has each of them every ten seconds.
   */
  limits(limits: Limits, sources: SourceReadings): void {
    const { locationId } = limits;
    const atMs = this.#nowMs();
    const last = this.#limits.get(locationId);
    const isDue =
      last === undefined ||
      !sameIn(last.limits, limits, DECIDED) ||
      (isOld(last.atMs, atMs) && !sameIn(last.limits, limits, MEASURED));
    if (isDue) {
      this.#limits.set(locationId, { atMs, limits });
      this.#emit({ atMs, kind: 'limits', ...limits });
    }
    this.#limitSources(locationId, sources, isDue);
  }

  /** A source that the location has lost sets no limit. */
  #limitSources(locationId: string, sources: SourceReadings, isDue: boolean): void {
    const atMs = this.#nowMs();
    const recorded = this.#sources.get(locationId) ?? new Map<string, SourceRecord>();
    this.#sources.set(locationId, recorded);
    for (const source of new Set([...recorded.keys(), ...sources.keys()])) {
      const { limitW, isDecided } = sources.get(source) ?? ABSENT;
      const last = recorded.get(source) ?? UNTRACED;
      if (limitW === last.limitW || !(isDue || isDecided || isOld(last.atMs, atMs))) continue;
      recorded.set(source, { atMs, limitW });
      this.#emit({ atMs, kind: 'limitSource', locationId, source, limitW });
    }
  }

  /** Voltages of a grid line, V; traced when one of them differs by a volt from its last traced value. */
  voltage(line: string, voltagesV: PerPhase): void {
    const tenthsV = voltagesV.map((phaseV) => Math.round(10 * phaseV));
    const recorded = this.#voltages.get(line);
    if (
      recorded !== undefined &&
      tenthsV.every((phase, i) => Math.abs(phase - (recorded[i] ?? 0)) < LEAST_TENTHS_V)
    )
      return;
    this.#voltages.set(line, tenthsV);
    const [l1TenthsV = 0, l2TenthsV = 0, l3TenthsV = 0] = tenthsV;
    this.add({ kind: 'voltage', line, l1TenthsV, l2TenthsV, l3TenthsV });
  }

  /** A limit left the service; a plain renewal is no event. */
  granted(connector: ConnectorAddress, { epoch, seq, limitA, reason }: LimitMessage): void {
    const last = this.#grantedTo.get(connector) ?? this.#newlyGranted(connector);
    if (last.epoch === epoch && last.limitA === limitA && last.reason === reason) return;
    Object.assign(last, { epoch, limitA, reason });
    const { locationId, controllerUuid, connectorId } = connector;
    const limitTenthsA = Math.round(10 * limitA);
    this.#emit({
      atMs: this.#nowMs(),
      kind: 'grant',
      locationId,
      controllerUuid,
      connectorId,
      epoch,
      seq,
      limitTenthsA,
      reason,
    });
  }

  #newlyGranted(connector: ConnectorAddress): Granted {
    const key = `${connector.controllerUuid}/${connector.connectorId}`;
    const granted = this.#granted.get(key) ?? { epoch: -1, limitA: 0, reason: 'idle' as const };
    this.#granted.set(key, granted);
    this.#grantedTo.set(connector, granted);
    return granted;
  }

  #outlet(run: ChargerRun, state: OutletState): void {
    const { status } = state;
    const { applied } = state.holder;
    const drawnW = Math.round(state.physicalPowerW());
    const limitTenthsA = Math.round(applied.limitA * 10);
    const isLeased = applied.seq > 0;
    const isOnline = run.isConnected;
    const last = this.#recorded.get(state);
    if (
      last !== undefined &&
      last.powerW === drawnW &&
      last.limitTenthsA === limitTenthsA &&
      last.status === status &&
      last.isLeased === isLeased &&
      last.reason === applied.reason &&
      last.isOnline === isOnline
    ) {
      return;
    }
    const now: OutletRecord = {
      status,
      powerW: drawnW,
      limitTenthsA,
      reason: applied.reason,
      isLeased,
      isOnline,
    };
    this.#recorded.set(state, now);
    const { locationId, controllerUuid } = run.charger.address;
    const { connectorId } = state.spec;
    this.#emit({ atMs: this.#nowMs(), kind: 'connector', locationId, controllerUuid, connectorId, ...now });
  }
}

/** Adds the begin and the end of each alarm to the trace, from the changes that the service stores. */
class AlarmNotes {
  readonly #tracer: Pick<Tracer, 'add'>;
  readonly #open = new Set<string>();

  constructor(tracer: Pick<Tracer, 'add'>) {
    this.#tracer = tracer;
  }

  written(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.kind === 'alarm.begin') {
        this.#open.add(change.alarm.alarmId);
        this.#note(change.alarm, true);
      } else if (change.kind === 'alarm.end') {
        const { alarm } = change;
        if (this.#open.delete(alarm.alarmId)) this.#note(alarm, false);
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
  readonly report: Report = (reported) => {
    const violation = { atMs: this.#nowMs(), ...reported };
    this.tracer?.add({ kind: 'violation', ...violation });
    if (this.violations.length < KEPT_VIOLATIONS) this.violations.push(violation);
  };

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
