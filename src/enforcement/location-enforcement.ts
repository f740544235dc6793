// What enforcement keeps of one location: its supervisor, its clusters' shares, its alarms, the power of the minute.
import type { AlarmKind, LimitReason } from '../../machines/power/grant.js';
import type { GrantTiming } from '../../machines/power/grant-ledger.js';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import { wattsOfTenths } from '../../machines/values/units.js';
import type { AlarmRecord } from '../ports/records.js';
import { createPowerMinute, type PowerMinute } from './power-minute.js';

/** One connector as operators see it. */
export interface ConnectorView {
  /** undefined before its first grant. Tenths of A per phase. */
  readonly limitTenthsA: number | undefined;
  readonly limitW: number;
  readonly reason: LimitReason;
  /** What is left of its lease; undefined where it holds none. */
  readonly leaseLeftMs: number | undefined;
  /** The most it may be entitled to. */
  readonly reservedW: number;
}

export interface LocationEnforcement {
  readonly supervisor: LocationSupervisor;
  /** Open alarms, by kind and connector. */
  readonly alarms: Map<string, AlarmRecord>;
  readonly power: PowerMinute;
  /** What silent connectors count with in its power, W; undefined where everything is measured. */
  estimatedW: number | undefined;
  /** Monotonic ms of the last decision. */
  decidedAtMs: number;
  /** Reserved power as of the last time its clusters looked. */
  knownReservedW: number;
}

export function alarmKey(kind: AlarmKind, connectorKey: string | undefined): string {
  return `${kind} ${connectorKey ?? ''}`;
}

export function createLocationEnforcement(timing: GrantTiming, epoch: number): LocationEnforcement {
  return {
    supervisor: new LocationSupervisor(timing, epoch),
    alarms: new Map(),
    power: createPowerMinute(),
    estimatedW: undefined,
    decidedAtMs: Number.NEGATIVE_INFINITY,
    knownReservedW: 0,
  };
}

/** @param nowMs monotonic. */
export function viewOfConnector(
  { supervisor }: LocationEnforcement,
  key: string,
  nowMs: number,
): ConnectorView | undefined {
  const control = supervisor.controls.get(key);
  if (control === undefined) return undefined;
  const { sentTenthsA, holding, reason, leasedFromMs } = control;
  const leaseLeftMs = leasedFromMs + supervisor.timing.ttlMs - nowMs;
  return {
    limitTenthsA: sentTenthsA,
    limitW: wattsOfTenths(sentTenthsA ?? holding.failsafeTenthsA, holding.milliwattsPerTenth),
    reason,
    leaseLeftMs: sentTenthsA === undefined || leaseLeftMs <= 0 ? undefined : leaseLeftMs,
    reservedW: holding.boundW,
  };
}
