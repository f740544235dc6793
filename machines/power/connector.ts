// State that a location's supervisor keeps for one connector.

import type { ConnectorDescription, Entitlements } from '../ledger/entitlements.js';
import type { Grant, LeaseKind, LeaseTiming, LimitReason, Throttle } from '../ledger/grant.js';
import { type Ledger, NOTHING_STORED, type StoredReservation } from '../ledger/ledger.js';
import { ALL_PHASES, type PhaseCount } from '../ledger/own-phases.js';
import type { Departures } from '../policy/default-needs.js';
import type { SessionNeed, SessionNeeds } from '../policy/session-needs.js';
import type { SessionState } from '../values/session-state.js';
import type { EpochMs } from '../values/time.js';
import {
  type ConnectorRating,
  dcWOfTenths,
  leastTenthsAOf,
  milliwattsPerTenthA,
  ratedMilliwattsPerTenth,
  tenthsAOf,
  wattsOfTenths,
} from '../values/units.js';
import type { Writable } from '../values/writable.js';
import type { Binding } from './claims.js';
import { type Compliance, createCompliance } from './compliance.js';
import { type ConnectorActor, type Link, NO_TURN, type Turn } from './connector.machine.js';
import { createDemand, type Demand } from './connector-demand.js';
import { EnergyCount, type StoredEnergy } from './energy-count.js';
import type { Fuses, Wiring } from './fuses.js';
import type { MeterSlot } from './meter-ledger.js';

/** Provisioned properties of a connector. */
export interface ConnectorSpec extends ConnectorRating, Wiring {
  /** An inactive connector receives no limits. Its fail-safe stays reserved. */
  readonly isActive: boolean;
  /** A per phase. */
  readonly failsafeA: number;
  /** Timing of the charger; null or omitted means the default of the service. */
  readonly timing?: LeaseTiming | null;
  /** After its car has begun to charge, the connector is paused only after all others. */
  readonly neverPause?: boolean;
  /** The connector may be paused while locked if the operator's limit is below the floors of all locks. */
  readonly operatorMayPause?: boolean;
  /** Departures of cars that declare none; null or omitted without any. */
  readonly departures?: Departures | null;
}

/** State of the current car's session. */
export interface Session {
  /** Session id from the charger; undefined if the charger reports none or no car is plugged in. */
  readonly id: string | undefined;
  /** The first `phases` of the connector's phases carry current, and the others carry none, since this time. */
  readonly seen: { readonly phases: PhaseCount; readonly sinceMs: number } | undefined;
  /** The car has used phases beyond its observed ones. No phases of this session are reallocated any more. */
  readonly isBarred: boolean;
  /** Observed phase count of the car while all phases are offered; all phases until then. */
  readonly learnt: PhaseCount;
  /**
   * Time of the last switch to another phase count. The switch is complete after the charger takes a grant above
   * `switchedSeq`.
   */
  readonly switchedAtMs: number;
  readonly switchedSeq: number;
  /** More phases would serve more power since this time; undefined while they would not. */
  readonly worthMoreSinceMs: number | undefined;
  /** One phase would serve more power since this time; undefined while it would not. */
  readonly worthFewerSinceMs: number | undefined;
}

export function createSession(): Session {
  return {
    id: undefined,
    seen: undefined,
    isBarred: false,
    learnt: ALL_PHASES,
    switchedAtMs: Number.NEGATIVE_INFINITY,
    switchedSeq: -1,
    worthMoreSinceMs: undefined,
    worthFewerSinceMs: undefined,
  };
}

/** Provisioning of the connector. */
export interface Provisioned {
  /** Expected heartbeat interval and lease length. */
  readonly timing: LeaseTiming;
  readonly spec: ConnectorSpec;
  /** Fuses of the connector's location. */
  readonly fuses: Fuses;
}

/** The charger's reports. */
export interface Telemetry {
  readonly slot: MeterSlot;
  /** Phases with a reservation: the provisioned count, or all after the connector has loaded more phases than that. */
  readonly phases: 1 | 3;
  /** Number of the newest heartbeat; undefined before the first of this boot. A grant must answer a heartbeat. */
  readonly hb: number | undefined;
  readonly boot: string;
  readonly receivedAtMs: number;
  /**
   * The newest heartbeat reports that earlier limits may outlast their leases. The charger awaits a grant that answers
   * it.
   */
  readonly isEndOpen: boolean;
  /** Time of the last voltage reading that sets the power per ampere; minus infinity before the first. */
  readonly voltageSeenAtMs: number;
  /** The highest fail-safe that the charger has reported in `boot`; undefined before the first report. */
  readonly said: { readonly boot: string; readonly failsafeTenthsA: number } | undefined;
  /** The `boot` in which the charger reported `endsWithSession`; undefined without such a report. */
  readonly endsWithSessionIn: string | undefined;
  /** The `boot` in which the charger reported `switchesPhases`. */
  readonly switchesPhasesIn: string | undefined;
  /** Reports that no decision reads: the state behind an OCPP gateway, and the reason against its lease, in words. */
  readonly forOperators: {
    readonly ocppState: SessionState | undefined;
    readonly whyNoLease: string | undefined;
  };
  /** Reports are due from this time: the connector became known, or its charger connected. */
  readonly awaitedSinceMs: number;
  /**
   * The last reading before the service started, W. 0 if there was none, undefined if unknown. Infinite if the
   * connector must count with its full entitlement.
   */
  readonly lastWBeforeStart: number | undefined;
}

/** Estimates from the draw of the current car. */
export interface Car {
  readonly demand: Readonly<Demand>;
  readonly compliance: Readonly<Compliance>;
  readonly session: Session;
}

/** Grants to the connector: the newest sent one, and the reservation on disk that covers them. */
export interface Granted {
  /** Limit of the newest grant; undefined if none was sent since the charger started or fell silent. */
  readonly sentTenthsA: number | undefined;
  /** Phase count of that limit. */
  readonly sentPhases: PhaseCount;
  /** `seq` of the first grant sent since the charger started or fell silent. */
  readonly sentFromSeq: number;
  readonly sentAtMs: number;
  /** Latest end of the newest grant's lease by an accurate clock. */
  readonly leasedUntilMs: number;
  /** That lease is shorter than usual, because a lower limit begins soon (R3). */
  readonly isLeaseCut: boolean;
  readonly raisedAtMs: number;
  /**
   * The newest lower grant, and the time since which the charger has taken no new one; undefined if none is
   * outstanding.
   */
  readonly untaken: { readonly seq: number; readonly sinceMs: number } | undefined;
  /** Reservation that is certainly on disk. */
  readonly stored: StoredReservation;
  /** Lease kind on disk; undefined if unknown. */
  readonly storedLease: LeaseKind | undefined;
  /** A write of the reservation is in progress. */
  readonly isStoring: boolean;
  /** Time of the next write after a failed one. Until then, grants leave without a write if they need none. */
  readonly storesAgainAtMs: number;
}

/** Use of the connector's fail-safe, as of the last decision. */
export interface FailsafeUse {
  /** From provisioning, up to the connector's maximum. */
  readonly provisionedTenthsA: number;
  /** Power of a tenth of an ampere at the highest assumed voltage, on all phases. */
  readonly ratedMilliwattsPerTenth: number;
  /** Limit and fuses have capacity for the fail-safe. */
  readonly isAllowed: boolean;
  /** The fail-safe is set to 0, because others need that power. */
  readonly isWaived: boolean;
}

/** The session of a car that has left. Energies in Wh. */
export interface EndedSession extends SessionNeeds {
  readonly arrivedAtMs: EpochMs;
  readonly leftAtMs: EpochMs;
  /** The needs that counted at its end. */
  readonly need: SessionNeed;
  readonly session: string | undefined;
  readonly idTag: string | undefined;
  readonly peakW: number;
  /** A part of its energy is not from a register, but integrated from power. */
  readonly isIntegrated: boolean;
  readonly times: SessionTimes;
}

/** Times of a session, as far as reports show them. */
export interface SessionTimes {
  /** The car drew power; undefined in rows from before it was counted. */
  readonly chargingMs: number | undefined;
  /** The car got less than it could use, by the reason of its limit. */
  readonly limitedMs: Partial<Record<LimitReason, number>>;
}

/** Declared needs of the car, and the count of its energy. */
export interface Needs extends SessionNeeds {
  /** Session id at the last reading. */
  readonly session: string | undefined;
  /** The last identifier that authorized the session. */
  readonly idTag: string | undefined;
  /** Arrival of the car; undefined without a car, and unknown in rows from before defaults. */
  readonly arrivedAtMs: EpochMs | undefined;
  /** The highest power since its arrival. */
  readonly peakW: number;
  /** A part of its energy is not from a register, but integrated from power. */
  readonly isIntegrated: boolean;
  readonly times: Writable<SessionTimes>;
  /** They are from before the service start, and the charger has not reported since. */
  readonly isFromBefore: boolean;
  /** The row on disk may have declarations that have ended, or lack the arrival of the car. */
  readonly isRowOutdated: boolean;
  /** Sessions that are not stored yet, the oldest first. */
  readonly ended: readonly EndedSession[];
}

/** Needs on disk at the service start. */
export type StoredNeeds = Pick<
  Needs,
  | 'declared'
  | 'deliveredWh'
  | 'charged'
  | 'session'
  | 'idTag'
  | 'arrivedAtMs'
  | 'peakW'
  | 'isIntegrated'
  | 'times'
> & { readonly energy: StoredEnergy };

/** @param before on disk; omitted if no car is known */
export function createNeeds(before?: StoredNeeds): Needs {
  return {
    declared: before?.declared ?? {},
    deliveredWh: before?.deliveredWh ?? 0,
    charged: before?.charged,
    session: before?.session,
    idTag: before?.idTag,
    arrivedAtMs: before?.arrivedAtMs,
    peakW: before?.peakW ?? 0,
    isIntegrated: before?.isIntegrated ?? false,
    times: { chargingMs: before?.times.chargingMs ?? 0, limitedMs: { ...before?.times.limitedMs } },
    isFromBefore: before !== undefined,
    isRowOutdated: false,
    ended: [],
  };
}

/** Target of the connector by the last decision. */
export interface Decided {
  /** The limit sent may be lower. */
  readonly targetTenthsA: number;
  readonly reason: LimitReason;
  /** The resource that limits the connector: power, or a circuit phase's index; undefined without one. */
  readonly limitedBy: Binding | undefined;
  /** Limit that a lock will give it soon, for which others make room; 0 without one (R52). */
  readonly lockAheadTenthsA: number;
  /** The connector is locked but paused, because the operator's limit is below the floors of all locks. */
  readonly isPausedForOperator: boolean;
}

/**
 * Currents in tenths of an ampere per phase, times of one monotonic clock in ms. Each part has one module that writes
 * it (`test/architecture`).
 */
export interface Connector {
  readonly key: string;
  /** Machine that holds lock, throttle and link. A rebuilt location replaces it. */
  readonly actor: ConnectorActor;
  /** The ledger's part. */
  readonly account: Entitlements;
  readonly provisioned: Provisioned;
  readonly telemetry: Telemetry;
  readonly car: Car;
  readonly needs: Needs;
  /** It goes on from car to car. */
  readonly energy: EnergyCount;
  readonly granted: Granted;
  readonly failsafe: FailsafeUse;
  readonly decided: Decided;
}

/** A connector as the writer of that part may use it. */
export type Writing<Part extends keyof Connector> = Omit<Connector, Part> & {
  readonly [P in Part]: Writable<Connector[P]>;
};

/** State of the connector before the service started, or before another rating applied. */
export interface ConnectorBefore {
  readonly lease: LeaseKind;
  readonly isNonCompliant: boolean;
  /** `lastWBeforeStart` of its telemetry. */
  readonly lastW: number | undefined;
  readonly needs?: StoredNeeds | undefined;
}

export function createConnector(
  ledger: Ledger,
  key: string,
  slot: MeterSlot,
  actor: ConnectorActor,
  provisioned: Provisioned,
  { lease, isNonCompliant, lastW, needs }: ConnectorBefore,
  nowMs: number,
): Connector {
  const { spec } = provisioned;
  const account = ledger.add(key, accountSpecOf(provisioned, lease));
  return {
    key,
    actor,
    account,
    provisioned,
    telemetry: {
      slot,
      phases: spec.phases,
      hb: undefined,
      boot: '',
      receivedAtMs: 0,
      isEndOpen: false,
      voltageSeenAtMs: Number.NEGATIVE_INFINITY,
      said: undefined,
      endsWithSessionIn: undefined,
      switchesPhasesIn: undefined,
      forOperators: { ocppState: undefined, whyNoLease: undefined },
      awaitedSinceMs: nowMs,
      lastWBeforeStart: lastW,
    },
    car: {
      demand: createDemand(account.maxTenthsA),
      compliance: createCompliance(isNonCompliant),
      session: createSession(),
    },
    needs: createNeeds(needs),
    energy: new EnergyCount(needs?.energy),
    granted: {
      sentTenthsA: undefined,
      sentPhases: ALL_PHASES,
      sentFromSeq: 0,
      sentAtMs: Number.NEGATIVE_INFINITY,
      leasedUntilMs: Number.NEGATIVE_INFINITY,
      isLeaseCut: false,
      raisedAtMs: Number.NEGATIVE_INFINITY,
      untaken: undefined,
      stored: NOTHING_STORED,
      storedLease: lease,
      isStoring: false,
      storesAgainAtMs: Number.NEGATIVE_INFINITY,
    },
    failsafe: {
      provisionedTenthsA: failsafeTenthsAOf(spec),
      ratedMilliwattsPerTenth: ratedMilliwattsPerTenth(spec),
      isAllowed: true,
      isWaived: false,
    },
    decided: {
      targetTenthsA: 0,
      reason: 'failsafe',
      limitedBy: undefined,
      lockAheadTenthsA: 0,
      isPausedForOperator: false,
    },
  };
}

/** Fail-safe from provisioning, up to the maximum. */
export function failsafeTenthsAOf({ failsafeA, maxCurrentA }: ConnectorSpec): number {
  return Math.min(tenthsAOf(failsafeA), tenthsAOf(maxCurrentA));
}

function accountSpecOf({ spec, fuses, timing }: Provisioned, lease: LeaseKind): ConnectorDescription {
  return {
    maxTenthsA: tenthsAOf(spec.maxCurrentA),
    failsafeTenthsA: failsafeTenthsAOf(spec),
    milliwattsPerTenth: ratedMilliwattsPerTenth(spec),
    // A DC connector's limit is a power, independent of the voltage.
    ...(spec.dc == null && { leastMilliwattsOnPhase: milliwattsPerTenthA(spec.voltageV, 1) }),
    leastTenthsA: leastTenthsAOf(spec),
    lease,
    ttlMs: timing.ttlMs,
    keepsThen: false,
    circuitPhasesOfPhases: fuses.circuitPhasesOfEachPhase(spec),
  };
}

/** Reserves the maximum of a connector that does not comply or keeps no limits (R8). True if the reservation changes. */
export function reserveWorstCase(connector: Connector): boolean {
  const isWorstCase = connector.car.compliance.isNonCompliant || isReadOnly(connector);
  if (isWorstCase === connector.account.isWorstCase) return false;
  connector.account.setWorstCase(isWorstCase);
  return true;
}

/** Assigns the connector's load to the circuit phases of its fuses and wiring. */
export function rewire({ account, provisioned: { fuses, spec }, telemetry: { phases } }: Connector): void {
  account.describe({ circuitPhasesOfPhases: fuses.circuitPhasesOfEachPhase({ ...spec, phases }) });
}

/** The connector reports power but takes no limits, or keeps no lease. */
export function isReadOnly({ telemetry: { slot, hb }, account }: Connector): boolean {
  return account.lease === 'none' || (slot.receivedAtMs !== undefined && hb === undefined);
}

/** The connector can receive a limit now. */
export function isReachable(connector: Connector): boolean {
  const { provisioned, telemetry } = connector;
  return provisioned.spec.isActive && linkOf(connector) === 'online' && telemetry.hb !== undefined;
}

/** The connector can receive a limit now and complies with limits. */
export function isControlled(connector: Connector): boolean {
  return !connector.account.isWorstCase && isReachable(connector);
}

export function linkOf({ actor }: Pick<Connector, 'actor'>): Link {
  return actor.getSnapshot().value.link;
}

/** By the last decision. */
export function throttleOf({ decided, car: { demand }, account }: Connector): Throttle {
  const { targetTenthsA } = decided;
  if (!demand.hasCar) return 'free';
  if (targetTenthsA < account.leastTenthsA) return 'paused';
  if (targetTenthsA >= Math.min(demand.mostTenthsA, account.maxTenthsA)) return 'free';
  return targetTenthsA === account.leastTenthsA ? 'minimum' : 'limited';
}

/** The limit of the lock, kW; undefined for an unlocked connector. */
export function lockLimitKwOf({ actor }: Pick<Connector, 'actor'>): number | undefined {
  const { value, context } = actor.getSnapshot();
  return value.lock === 'locked' ? context.lockLimitKw : undefined;
}

export function isLocked({ actor }: Pick<Connector, 'actor'>): boolean {
  return actor.getSnapshot().value.lock === 'locked';
}

/** Start of the current charging turn or pause. */
export function turnOf({ actor }: Pick<Connector, 'actor'>): Turn {
  const { value, context } = actor.getSnapshot();
  return value.throttle === 'idle' ? NO_TURN : context.turn;
}

/** The lowest limit above 0, W: 6 A for AC. */
export function floorWOf({ account }: Connector): number {
  return wattsOfTenths(account.leastTenthsA, account.milliwattsPerTenth);
}

/** Power fields of a grant. A DC connector keeps to the power at the car. */
export function powersOf(
  { account, provisioned: { spec } }: Connector,
  limitTenthsA: number,
  thenTenthsA: number,
): Pick<Grant, 'limitW' | 'thenW'> {
  const { voltageV, dc } = spec;
  if (dc == null) return { limitW: Math.floor((limitTenthsA * account.milliwattsPerTenth) / 1000) };
  const unit = { voltageV, dc };
  return { limitW: dcWOfTenths(limitTenthsA, unit), thenW: dcWOfTenths(thenTenthsA, unit) };
}
