// State that a location's supervisor keeps for one connector.

import {
  type ConnectorRating,
  dcWOfTenths,
  leastTenthsAOf,
  milliwattsPerTenthA,
  ratedMilliwattsPerTenth,
  tenthsAOf,
  wattsOfTenths,
} from '../values/units.js';
import type { Binding } from './claims.js';
import { type Compliance, createCompliance } from './compliance.js';
import { type ConnectorActor, type Link, NO_TURN, type Turn } from './connector.machine.js';
import { createDemand, type Demand } from './connector-demand.js';
import type { ConnectorDescription, Entitlements } from './entitlements.js';
import type { Fuses, Wiring } from './fuses.js';
import type { Grant, LeaseKind, LeaseTiming, LimitReason, Throttle } from './grant.js';
import type { Ledger, StoredReservation } from './ledger.js';
import type { MeterSlot } from './meter-ledger.js';
import { ALL_PHASES, type PhaseCount } from './own-phases.js';

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
}

/** State of the current car's session. */
export interface SessionKnown {
  /** Session id from the charger; undefined if the charger reports none or no car is plugged in. */
  id: string | undefined;
  /** The first `phases` of the connector's phases carry current, and the others carry none, since this time. */
  seen: { readonly phases: PhaseCount; readonly sinceMs: number } | undefined;
  /** The car has used phases beyond its observed ones. No phases of this session are reallocated any more. */
  isBarred: boolean;
  /** Observed phase count of the car while all phases are offered; all phases until then. */
  learnt: PhaseCount;
  /**
   * Time of the last switch to another phase count. The switch is complete after the charger takes a grant above
   * `switchedSeq`.
   */
  switchedAtMs: number;
  switchedSeq: number;
  /** More phases would serve more power since this time; undefined while they would not. */
  worthMoreSinceMs: number | undefined;
  /** One phase would serve more power since this time; undefined while it would not. */
  worthFewerSinceMs: number | undefined;
}

export function createSessionKnown(): SessionKnown {
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

/**
 * Currents in tenths of an ampere per phase, times of one monotonic clock in ms. Only the supervisor writes this
 * object.
 */
export interface ConnectorControl {
  readonly key: string;
  readonly slot: MeterSlot;
  /** Machine that holds lock, throttle and link. A rebuilt location replaces it. */
  actor: ConnectorActor;
  readonly account: Entitlements;
  /** Expected heartbeat interval and lease length. */
  timing: LeaseTiming;
  spec: ConnectorSpec;
  /** Fuses of the connector's location. */
  fuses: Fuses;
  /** Phases with a reservation: the provisioned count, or all after the connector has loaded more phases than that. */
  phases: 1 | 3;
  readonly demand: Demand;
  readonly compliance: Compliance;
  readonly session: SessionKnown;
  /** The `boot` in which the charger reported `endsWithSession`; undefined without such a report. */
  endsWithSessionIn: string | undefined;
  /** The `boot` in which the charger reported `switchesPhases`. */
  switchesPhasesIn: string | undefined;
  /** Reports are due from this time: the connector became known, or its charger connected. */
  awaitedSinceMs: number;
  /**
   * The last reading before the service started, W. 0 if there was none, undefined if unknown. Infinite if the
   * connector must count with its full entitlement.
   */
  lastWBeforeStart: number | undefined;
  /** The highest fail-safe that the charger has reported in `boot`; undefined before the first report. */
  said: { readonly boot: string; readonly failsafeTenthsA: number } | undefined;
  /** Time of the last voltage reading that sets the power per ampere; minus infinity before the first. */
  voltageSeenAtMs: number;
  /** Limit and fuses have capacity for the fail-safe, as of the last decision. */
  usesFailsafe: boolean;
  /** The connector's fail-safe is set to 0, because others need that power. */
  isFailsafeWaived: boolean;
  /** Limit that a lock will give it soon, for which others make room; 0 without one (R52). */
  lockAheadTenthsA: number;
  /** The connector is locked but paused, because the operator's limit is below the floors of all locks. */
  isPausedForOperator: boolean;
  /** Reservation of the connector on disk. */
  storedLimitTenthsA: number;
  storedThenTenthsA: number;
  /** Longest lease on disk, ms. */
  storedTtlMs: number;
  /** Number of phases on disk. */
  storedPhases: PhaseCount;
  /** Lease kind on disk; undefined if unknown. */
  storedLease: LeaseKind | undefined;
  /** A write of the reservation is in progress. */
  isStoring: boolean;
  /** Time of the next write after a failed one. Until then, grants leave without a write if they need none. */
  storesAgainAtMs: number;
  /** Number of the newest heartbeat; undefined before the first of this boot. A grant must answer a heartbeat. */
  hb: number | undefined;
  boot: string;
  receivedAtMs: number;
  /**
   * The newest heartbeat reports that earlier limits may outlast their leases. The charger awaits a grant that answers
   * it.
   */
  isEndOpen: boolean;
  /** Limit of the newest grant; undefined if none was sent since the charger started or fell silent. */
  sentTenthsA: number | undefined;
  /** Phase count of that limit. */
  sentPhases: PhaseCount;
  /** `seq` of the first grant sent since the charger started or fell silent. */
  sentFromSeq: number;
  sentAtMs: number;
  /** Latest end of the newest grant's lease by an accurate clock. */
  leasedUntilMs: number;
  /** That lease is shorter than usual, because a lower limit begins soon (R3). */
  isLeaseCut: boolean;
  raisedAtMs: number;
  /**
   * The newest lower grant, and the time since which the charger has taken no new one; undefined if none is
   * outstanding.
   */
  untaken: { readonly seq: number; readonly sinceMs: number } | undefined;
  /** Limit by the last decision. The limit sent may be lower. */
  targetTenthsA: number;
  reason: LimitReason;
  /**
   * The resource that limits the connector, as of the last decision: power, or a circuit phase's index; undefined
   * without one.
   */
  limitedBy: Binding | undefined;
}

/** Values before the first decision. */
const UNDECIDED = {
  usesFailsafe: true,
  isFailsafeWaived: false,
  isPausedForOperator: false,
  lockAheadTenthsA: 0,
};

export function createControl(
  ledger: Ledger,
  fuses: Fuses,
  key: string,
  slot: MeterSlot,
  actor: ConnectorActor,
  spec: ConnectorSpec,
  { lease, timing }: { readonly lease: LeaseKind; readonly timing: LeaseTiming },
  nowMs: number,
): ConnectorControl {
  const account = ledger.add(key, accountSpecOf(spec, fuses, lease, timing));
  return {
    key,
    slot,
    actor,
    account,
    timing,
    spec,
    fuses,
    phases: spec.phases,
    demand: createDemand(account.maxTenthsA),
    compliance: createCompliance(),
    session: createSessionKnown(),
    endsWithSessionIn: undefined,
    switchesPhasesIn: undefined,
    awaitedSinceMs: nowMs,
    lastWBeforeStart: 0,
    said: undefined,
    voltageSeenAtMs: Number.NEGATIVE_INFINITY,
    ...UNDECIDED,
    storedLimitTenthsA: 0,
    storedThenTenthsA: 0,
    storedTtlMs: 0,
    storedPhases: ALL_PHASES,
    storedLease: lease,
    isStoring: false,
    storesAgainAtMs: Number.NEGATIVE_INFINITY,
    hb: undefined,
    boot: '',
    receivedAtMs: 0,
    isEndOpen: false,
    sentTenthsA: undefined,
    sentPhases: ALL_PHASES,
    sentFromSeq: 0,
    sentAtMs: Number.NEGATIVE_INFINITY,
    leasedUntilMs: Number.NEGATIVE_INFINITY,
    isLeaseCut: false,
    raisedAtMs: Number.NEGATIVE_INFINITY,
    untaken: undefined,
    targetTenthsA: 0,
    reason: 'failsafe',
    limitedBy: undefined,
  };
}

function accountSpecOf(
  spec: ConnectorSpec,
  fuses: Fuses,
  lease: LeaseKind,
  { ttlMs }: LeaseTiming,
): ConnectorDescription {
  const maxTenthsA = tenthsAOf(spec.maxCurrentA);
  return {
    maxTenthsA,
    failsafeTenthsA: Math.min(tenthsAOf(spec.failsafeA), maxTenthsA),
    milliwattsPerTenth: ratedMilliwattsPerTenth(spec),
    // A DC connector's limit is a power, independent of the voltage.
    ...(spec.dc == null && { leastMilliwattsOnPhase: milliwattsPerTenthA(spec.voltageV, 1) }),
    leastTenthsA: leastTenthsAOf(spec),
    lease,
    ttlMs,
    keepsThen: false,
    circuitPhasesOfPhases: fuses.circuitPhasesOfEachPhase(spec),
  };
}

/** Reserves the maximum of a connector that does not comply or keeps no limits. True if the reservation changes. */
export function reserveWorstCase(control: ConnectorControl): boolean {
  const isWorstCase = control.compliance.isNonCompliant || isReadOnly(control);
  if (isWorstCase === control.account.isWorstCase) return false;
  control.account.setWorstCase(isWorstCase);
  return true;
}

/** Assigns the connector's load to other fuses or another wiring. */
export function rewire(control: ConnectorControl, fuses: Fuses): void {
  control.fuses = fuses;
  control.account.describe({ circuitPhasesOfPhases: circuitPhasesOfPhases(control) });
}

/**
 * Reserves all phases of a connector that draws on more phases than provisioned, until the connector complies again.
 * True if the phase count changes.
 */
export function reserveOn(control: ConnectorControl, phases: 1 | 3): boolean {
  if (phases === control.phases) return false;
  control.phases = phases;
  control.account.describe({ circuitPhasesOfPhases: circuitPhasesOfPhases(control) });
  return true;
}

function circuitPhasesOfPhases({ fuses, spec, phases }: ConnectorControl): readonly (readonly number[])[] {
  return fuses.circuitPhasesOfEachPhase({ ...spec, phases });
}

/** Records the reservation that is certainly on disk. */
export function setStored(control: ConnectorControl, stored: StoredReservation): void {
  control.storedLimitTenthsA = stored.limitTenthsA;
  control.storedThenTenthsA = stored.thenTenthsA;
  control.storedTtlMs = stored.ttlMs;
  control.storedPhases = stored.phases;
}

/** The connector reports power but takes no limits, or keeps no lease. */
export function isReadOnly({ slot, hb, account }: ConnectorControl): boolean {
  return account.lease === 'none' || (slot.receivedAtMs !== undefined && hb === undefined);
}

/** The connector can receive a limit now and complies with limits. */
export function isControlled(control: ConnectorControl): boolean {
  const { spec, hb, account } = control;
  return spec.isActive && linkOf(control) === 'online' && hb !== undefined && !account.isWorstCase;
}

export function linkOf({ actor }: Pick<ConnectorControl, 'actor'>): Link {
  return actor.getSnapshot().value.link;
}

/** By the last decision. */
export function throttleOf({ targetTenthsA, demand, account }: ConnectorControl): Throttle {
  if (!demand.hasCar) return 'free';
  if (targetTenthsA < account.leastTenthsA) return 'paused';
  if (targetTenthsA >= Math.min(demand.mostTenthsA, account.maxTenthsA)) return 'free';
  return targetTenthsA === account.leastTenthsA ? 'minimum' : 'limited';
}

/** The limit of the lock, kW; undefined for an unlocked connector. */
export function lockLimitKwOf({ actor }: Pick<ConnectorControl, 'actor'>): number | undefined {
  const { value, context } = actor.getSnapshot();
  return value.lock === 'locked' ? context.lockLimitKw : undefined;
}

export function isLocked({ actor }: Pick<ConnectorControl, 'actor'>): boolean {
  return actor.getSnapshot().value.lock === 'locked';
}

/** Start of the current charging turn or pause. */
export function turnOf({ actor }: Pick<ConnectorControl, 'actor'>): Turn {
  const { value, context } = actor.getSnapshot();
  return value.throttle === 'idle' ? NO_TURN : context.turn;
}

/** The lowest limit above 0, W: 6 A for AC. */
export function floorWOf({ account }: ConnectorControl): number {
  return wattsOfTenths(account.leastTenthsA, account.milliwattsPerTenth);
}

/** Power fields of a grant. A DC connector keeps to the power at the car. */
export function powersOf(
  { account, spec: { voltageV, dc } }: ConnectorControl,
  limitTenthsA: number,
  thenTenthsA: number,
): Pick<Grant, 'limitW' | 'thenW'> {
  if (dc == null) return { limitW: Math.floor((limitTenthsA * account.milliwattsPerTenth) / 1000) };
  const unit = { voltageV, dc };
  return { limitW: dcWOfTenths(limitTenthsA, unit), thenW: dcWOfTenths(thenTenthsA, unit) };
}
