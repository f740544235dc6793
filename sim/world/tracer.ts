// Turns what happens in a world into the events of a trace, each when something of it changed and only then.
import type { LimitReason } from '../../machines/grant.js';
import type { ConnectorAddress } from '../../machines/ids.js';
import type { ChargingStatus } from '../../machines/meter-ledger.js';
import type { EpochMs } from '../../machines/time.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { OutletState } from '../charger/virtual-charger.js';
import type { TraceEvent } from '../trace/trace-event.js';
import type { ChargerRun } from './charger-run.js';

type Untimed<E> = E extends unknown ? Omit<E, 'atMs'> : never;

export interface Tracer {
  /** What is no connector's, limit's, power's or grant's. */
  add(event: Untimed<TraceEvent>): void;
  /** The charger may be in another state than it was. */
  charger(run: ChargerRun): void;
  /** The location draws `powerW`. */
  power(locationId: string, powerW: number): void;
  /** The location is held to `limitW`. */
  limit(locationId: string, limitW: number): void;
  /** A limit left the service; a plain renewal is no event. */
  granted(connector: ConnectorAddress, limit: LimitMessage): void;
}

/** A connector as it was last told of. */
interface Told {
  status: ChargingStatus;
  powerW: number;
  limitTenthsA: number;
  reason: LimitReason;
  isLeased: boolean;
  isOnline: boolean;
}

interface Granted {
  epoch: number;
  limitA: number;
  reason: LimitReason;
}

export function createTracer(emit: (event: TraceEvent) => void, nowMs: () => EpochMs): Tracer {
  const told = new Map<OutletState, Told>();
  const powerW = new Map<string, number>();
  const limitW = new Map<string, number>();
  const granted = new Map<string, Granted>();

  function outlet(run: ChargerRun, state: OutletState): void {
    const { status } = state;
    const { applied } = state.holder;
    const drawnW = Math.round(state.physicalPowerW());
    const limitTenthsA = Math.round(applied.limitA * 10);
    const isLeased = applied.seq > 0;
    const isOnline = run.isConnected;
    const last = told.get(state);
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
    told.set(state, now);
    const { locationId, controllerUuid } = run.charger.address;
    const { connectorId } = state.spec;
    emit({ atMs: nowMs(), kind: 'connector', locationId, controllerUuid, connectorId, ...now });
  }

  return {
    add: (event) => emit({ atMs: nowMs(), ...event } as TraceEvent),
    charger(run) {
      for (const state of run.charger.outlets) outlet(run, state);
    },
    power(locationId, drawnW) {
      const rounded = Math.round(drawnW);
      if (powerW.get(locationId) === rounded) return;
      powerW.set(locationId, rounded);
      emit({ atMs: nowMs(), kind: 'power', locationId, powerW: rounded });
    },
    limit(locationId, allowedW) {
      if (limitW.get(locationId) === allowedW) return;
      limitW.set(locationId, allowedW);
      emit({ atMs: nowMs(), kind: 'limit', locationId, limitW: allowedW });
    },
    granted({ locationId, controllerUuid, connectorId }, { epoch, seq, limitA, reason }) {
      const key = `${controllerUuid}/${connectorId}`;
      const last = granted.get(key);
      if (last?.epoch === epoch && last.limitA === limitA && last.reason === reason) return;
      granted.set(key, { epoch, limitA, reason });
      const limitTenthsA = Math.round(10 * limitA);
      emit({
        atMs: nowMs(),
        kind: 'grant',
        locationId,
        controllerUuid,
        connectorId,
        epoch,
        seq,
        limitTenthsA,
        reason,
      });
    },
  };
}
