// One connector as its location's supervisor knows it: what it reports, what its car wants, what it was told last.

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
import type { ConnectorActor, Link, Throttle, Turn } from './connector.machine.js';
import { createDemand, type Demand } from './connector-demand.js';
import type { Fuses, Wiring } from './fuses.js';
import type { Grant, LeaseKind, LeaseTiming, LimitReason } from './grant.js';
import type { GrantLedger } from './grant-ledger.js';
import type { Holding, HoldingSpec } from './holding.js';
import type { MeterSlot } from './meter-ledger.js';
import { ALL_PHASES, type PhaseCount } from './own-phases.js';
import type { StoredReservation } from './stored-reservation.js';

/** What provisioning says of a connector. */
export interface ConnectorSpec extends ConnectorRating, Wiring {
  /** An inactive connector is told nothing; what it falls back to stays reserved. */
  readonly isActive: boolean;
  /** A per phase. */
  readonly failsafeA: number;
  /** Of its charger; that of the service where its charger has none of its own. */
  readonly timing?: LeaseTiming | null;
  /** Once its car charges, it is paused after all others only. */
  readonly neverPause?: boolean;
  /** The grid operator's limit may pause it while it is locked, where that does not hold the floors of all locks. */
  readonly operatorMayPause?: boolean;
}

/** What is known of the car that is plugged in. */
export interface SessionKnown {
  /** As its charger names it; undefined where it names none, or no car is there. */
  id: string | undefined;
  /** So many of the connector's phases, from the first on, carried current, and the others none, since then. */
  seen: { readonly phases: PhaseCount; readonly sinceMs: number } | undefined;
  /** It has used other phases than it was seen to: nothing of this session is lent any more. */
  isBarred: boolean;
  /** As many as it was seen to use where all were offered; all until then. */
  learnt: PhaseCount;
  /** Its charger was told another number of phases last then, and has taken that once it takes a grant after `switchedSeq`. */
  switchedAtMs: number;
  switchedSeq: number;
  /** More phases than now would serve more since then; undefined while they would not. */
  worthMoreSinceMs: number | undefined;
  /** One phase would serve more since then; undefined while it would not. */
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

/** Currents in tenths of an ampere per phase, times of one monotonic clock in ms. The supervisor alone writes it. */
export interface ConnectorControl {
  readonly key: string;
  readonly slot: MeterSlot;
  /** Its machine: lock, throttle and link are read from there. Another one once its location is built anew. */
  actor: ConnectorActor;
  readonly holding: Holding;
  /** How often it is expected to report, and how long it keeps to a grant. */
  timing: LeaseTiming;
  spec: ConnectorSpec;
  /** Of its location. */
  fuses: Fuses;
  /** As many phases as it is reserved on: as provisioned, or all where it was seen to use more than that. */
  phases: 1 | 3;
  readonly demand: Demand;
  readonly compliance: Compliance;
  readonly session: SessionKnown;
  /** The start of its charger in which it said that grants with a session end with that; undefined where it never did. */
  endsWithSessionIn: string | undefined;
  /** The same of its saying that it can charge a car on fewer phases than that uses. */
  switchesPhasesIn: string | undefined;
  /** Since when it is expected to report: it became known, or its charger said that it is there. */
  awaitedSinceMs: number;
  /**
   * What it drew, W, when it was heard of last before the service started: 0 where it never was, undefined where that is
   * not known, infinite where it is to be taken to draw all it may.
   */
  heardBeforeW: number | undefined;
  /** The most its charger said, in the boot of `boot`, that it falls back to; undefined before it said anything. */
  said: { readonly boot: string; readonly failsafeTenthsA: number } | undefined;
  /** When the voltage that its current counts at was measured last; before it ever was, minus infinity. */
  voltageSeenAtMs: number;
  /** It may fall back to its fail-safe, as far as limit and fuses go, as of the last decision. */
  usesFailsafe: boolean;
  /** It is told to fall back to 0, because others need what its fail-safe would take. */
  isFailsafeWaived: boolean;
  /** It is locked, and paused all the same: the grid operator's limit does not hold the floors of all locks. */
  isPausedForOperator: boolean;
  /** What the connector is reserved for on disk. */
  storedLimitTenthsA: number;
  storedThenTenthsA: number;
  /** For how long the disk has it keep to a grant at most, ms. */
  storedTtlMs: number;
  /** On how many of its phases. */
  storedPhases: PhaseCount;
  /** How the disk has it count its leases; undefined where that is not known. */
  storedLease: LeaseKind | undefined;
  /** A reservation is on its way to the disk. */
  isStoring: boolean;
  /** The disk did not take the last one: until then what needs none is sent without. */
  storesAgainAtMs: number;
  /** Newest heartbeat; undefined before the first of this boot: nothing can be granted without one. */
  hb: number | undefined;
  boot: string;
  heardAtMs: number;
  /** It said with that that what it was told may last longer than its leases, and waits for a limit that answers it. */
  isEndOpen: boolean;
  /** The newest grant's limit; undefined where none was given since the charger started, or fell silent. */
  sentTenthsA: number | undefined;
  /** On how many of its phases that is. */
  sentPhases: PhaseCount;
  /** The first of the grants that it was told since then. */
  sentFromSeq: number;
  sentAtMs: number;
  /** When the lease of the newest grant ends at the latest, by a clock that is right. */
  leasedUntilMs: number;
  raisedAtMs: number;
  /** The newest grant that lowered it, and since when its charger has taken nothing new; undefined where none is awaited. */
  untaken: { readonly seq: number; readonly sinceMs: number } | undefined;
  /** What it is due; what was sent may still be less. */
  targetTenthsA: number;
  reason: LimitReason;
  /** What keeps it from more, as of the last decision: the limit's watts, or the pole at that place; undefined: nothing. */
  limitedBy: Binding | undefined;
}

/** Before the first decision. */
const UNDECIDED = { usesFailsafe: true, isFailsafeWaived: false, isPausedForOperator: false };

export function createControl(
  ledger: GrantLedger,
  fuses: Fuses,
  key: string,
  slot: MeterSlot,
  actor: ConnectorActor,
  spec: ConnectorSpec,
  { lease, timing }: { readonly lease: LeaseKind; readonly timing: LeaseTiming },
  nowMs: number,
): ConnectorControl {
  const holding = ledger.add(key, holdingSpecOf(spec, fuses, lease, timing));
  return {
    key,
    slot,
    actor,
    holding,
    timing,
    spec,
    fuses,
    phases: spec.phases,
    demand: createDemand(holding.maxTenthsA),
    compliance: createCompliance(),
    session: createSessionKnown(),
    endsWithSessionIn: undefined,
    switchesPhasesIn: undefined,
    awaitedSinceMs: nowMs,
    heardBeforeW: 0,
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
    heardAtMs: 0,
    isEndOpen: false,
    sentTenthsA: undefined,
    sentPhases: ALL_PHASES,
    sentFromSeq: 0,
    sentAtMs: Number.NEGATIVE_INFINITY,
    leasedUntilMs: Number.NEGATIVE_INFINITY,
    raisedAtMs: Number.NEGATIVE_INFINITY,
    untaken: undefined,
    targetTenthsA: 0,
    reason: 'failsafe',
    limitedBy: undefined,
  };
}

function holdingSpecOf(
  spec: ConnectorSpec,
  fuses: Fuses,
  lease: LeaseKind,
  { ttlMs }: LeaseTiming,
): HoldingSpec {
  const maxTenthsA = tenthsAOf(spec.maxCurrentA);
  return {
    maxTenthsA,
    failsafeTenthsA: Math.min(tenthsAOf(spec.failsafeA), maxTenthsA),
    milliwattsPerTenth: ratedMilliwattsPerTenth(spec),
    // A DC connector holds a power, whatever the voltage.
    ...(spec.dc == null && { leastMilliwattsOnPhase: milliwattsPerTenthA(spec.voltageV, 1) }),
    leastTenthsA: leastTenthsAOf(spec),
    lease,
    ttlMs,
    keepsThen: false,
    polesOfPhases: fuses.polesOfEachPhase(spec),
  };
}

/** A charger that does not keep to limits, or did not, has its maximum reserved. True where that is news. */
export function reserveWorstCase(ledger: GrantLedger, control: ConnectorControl): boolean {
  const isWorstCase = control.compliance.isNonCompliant || isReadOnly(control);
  if (isWorstCase === control.holding.isWorstCase) return false;
  ledger.setWorstCase(control.holding, isWorstCase);
  return true;
}

/** Other fuses than before, or other wiring: from here on it loads their poles. */
export function rewire(ledger: GrantLedger, control: ConnectorControl, fuses: Fuses): void {
  control.fuses = fuses;
  ledger.describe(control.holding, { polesOfPhases: polesOfPhases(control) });
}

/**
 * A connector that draws on more phases than it was provisioned with has its current reserved on all, until it is
 * trusted again. True where that is news.
 */
export function reserveOn(ledger: GrantLedger, control: ConnectorControl, phases: 1 | 3): boolean {
  if (phases === control.phases) return false;
  control.phases = phases;
  ledger.describe(control.holding, { polesOfPhases: polesOfPhases(control) });
  return true;
}

function polesOfPhases({ fuses, spec, phases }: ConnectorControl): readonly (readonly number[])[] {
  return fuses.polesOfEachPhase({ ...spec, phases });
}

/** What is surely on disk of what it is reserved for. */
export function setStored(control: ConnectorControl, stored: StoredReservation): void {
  control.storedLimitTenthsA = stored.limitTenthsA;
  control.storedThenTenthsA = stored.thenTenthsA;
  control.storedTtlMs = stored.ttlMs;
  control.storedPhases = stored.phases;
}

/** It reports power but takes no limits, or none that would outlast a cut connection. */
export function isReadOnly({ slot, hb, holding }: ConnectorControl): boolean {
  return holding.lease === 'none' || (slot.receivedAtMs !== undefined && hb === undefined);
}

/** Whether it can be told a limit now, and relied upon to keep to it. */
export function isControlled(control: ConnectorControl): boolean {
  const { spec, hb, holding } = control;
  return spec.isActive && linkOf(control) === 'online' && hb !== undefined && !holding.isWorstCase;
}

/** Whether its charger can be reached, as its machine has it. */
export function linkOf({ actor }: Pick<ConnectorControl, 'actor'>): Link {
  return actor.getSnapshot().value.link;
}

/** How much of what its car wants it is given, as its machine has it. */
export function throttleOf({ actor }: Pick<ConnectorControl, 'actor'>): Throttle {
  return actor.getSnapshot().value.throttle;
}

/** The limit of its lock, kW, as its machine has it; undefined while it is not locked. */
export function lockLimitKwOf({ actor }: Pick<ConnectorControl, 'actor'>): number | undefined {
  const { value, context } = actor.getSnapshot();
  return value.lock === 'locked' ? context.lockLimitKw : undefined;
}

export function isLocked({ actor }: Pick<ConnectorControl, 'actor'>): boolean {
  return actor.getSnapshot().value.lock === 'locked';
}

/** Since when its car may charge, or is paused, as its machine has it. */
export function turnOf({ actor }: Pick<ConnectorControl, 'actor'>): Turn {
  return actor.getSnapshot().context.turn;
}

/** The least it can be told other than 0, in W: 6 A for AC. */
export function floorWOf({ holding }: ConnectorControl): number {
  return wattsOfTenths(holding.leastTenthsA, holding.milliwattsPerTenth);
}

/** The powers that a grant tells: of a DC connector those at the car, which it keeps to. */
export function powersOf(
  { holding, spec: { voltageV, dc } }: ConnectorControl,
  limitTenthsA: number,
  thenTenthsA: number,
): Pick<Grant, 'limitW' | 'thenW'> {
  if (dc == null) return { limitW: Math.floor((limitTenthsA * holding.milliwattsPerTenth) / 1000) };
  const unit = { voltageV, dc };
  return { limitW: dcWOfTenths(limitTenthsA, unit), thenW: dcWOfTenths(thenTenthsA, unit) };
}
