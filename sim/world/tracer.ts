// Turns the events of a world into trace events, each only when something of it changed.
import type { LimitReason } from '../../machines/power/grant.js';
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';
import type { ConnectorAddress } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { PerPhase } from '../charger/car.js';
import type { OutletState } from '../charger/virtual-charger.js';
import type { TraceEvent } from '../log/trace-event.js';
import type { ChargerRun } from './charger-run.js';

type Untimed<E> = E extends unknown ? Omit<E, 'atMs'> : never;

/** Last traced state of a connector. */
interface Told {
  status: ChargingStatus;
  powerW: number;
  limitTenthsA: number;
  reason: LimitReason;
  isLeased: boolean;
  isOnline: boolean;
}

/** Voltages change with every load: the trace has only changes that a person would notice. */
const LEAST_TENTHS_V = 10;

/** Last traced limit. */
interface Granted {
  epoch: number;
  limitA: number;
  reason: LimitReason;
}

export class Tracer {
  readonly #emit: (event: TraceEvent) => void;
  readonly #nowMs: () => EpochMs;
  readonly #told = new Map<OutletState, Told>();
  readonly #powerW = new Map<string, number>();
  readonly #limitW = new Map<string, number>();
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

  /** Voltages of a grid line, V; traced when one of them differs by a volt from its last traced value. */
  voltage(line: string, voltagesV: PerPhase): void {
    const tenthsV = voltagesV.map((phaseV) => Math.round(10 * phaseV));
    const told = this.#voltages.get(line);
    if (told !== undefined && tenthsV.every((phase, i) => Math.abs(phase - (told[i] ?? 0)) < LEAST_TENTHS_V))
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
    const last = this.#told.get(state);
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
    const now: Told = { status, powerW: drawnW, limitTenthsA, reason: applied.reason, isLeased, isOnline };
    this.#told.set(state, now);
    const { locationId, controllerUuid } = run.charger.address;
    const { connectorId } = state.spec;
    this.#emit({ atMs: this.#nowMs(), kind: 'connector', locationId, controllerUuid, connectorId, ...now });
  }
}
