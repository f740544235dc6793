// One connector as its location's supervisor knows it: what it reports, what its car wants, what it was told last.

import {
  type ConnectorRating,
  capVoltageV,
  MINIMUM_TENTHS_A,
  milliwattsPerTenthA,
  tenthsAOf,
  wattsOfTenths,
} from '../values/units.js';
import { type Compliance, createCompliance, foldCompliance } from './compliance.js';
import type { ConnectorActor, Link, Throttle, Turn } from './connector.machine.js';
import { createDemand, type Demand, foldDemand } from './connector-demand.js';
import type { Fuses, Wiring } from './fuses.js';
import type { LeaseKind, LimitReason } from './grant.js';
import type { GrantLedger } from './grant-ledger.js';
import type { Holding } from './holding.js';
import type { MeterReading, MeterSlot } from './meter-ledger.js';

/** What provisioning says of a connector. */
export interface ConnectorSpec extends ConnectorRating, Wiring {
  /** An inactive connector is told nothing; what it falls back to stays reserved. */
  readonly isActive: boolean;
  /** A per phase. */
  readonly failsafeA: number;
}

/** Of the nominal voltage: less than this is no measurement, and of what is more than that no more is believed. */
const LEAST_VOLTAGE = 0.9;
const MOST_VOLTAGE = 1.15;
/** Less than this on a phase is a meter's noise. */
const LEAST_PHASE_A = 1;
/** A voltage counts as lower only when it is by this much, so that it does not move limits with every reading. */
const VOLTAGE_STEP_V = 3;

/** Currents in tenths of an ampere per phase, times of one monotonic clock in ms. The supervisor alone writes it. */
export interface ConnectorControl {
  readonly key: string;
  readonly slot: MeterSlot;
  /** Its machine: lock, throttle and link are read from there. Another one once its location is built anew. */
  actor: ConnectorActor;
  readonly holding: Holding;
  spec: ConnectorSpec;
  /** Of its location. */
  fuses: Fuses;
  /** As many phases as it is reserved on: as provisioned, or all where it was seen to use more than that. */
  phases: 1 | 3;
  readonly demand: Demand;
  readonly compliance: Compliance;
  /** Since when it is expected to report: it became known, or its charger said that it is there. */
  awaitedSinceMs: number;
  /**
   * What it drew, W, when it was heard of last before the service started: 0 where it never was, undefined where that is
   * not known, infinite where it is to be taken to draw all it may.
   */
  heardBeforeW: number | undefined;
  /** The most its charger said, in the boot of `boot`, that it falls back to; undefined before it said anything. */
  said: { readonly boot: string; readonly failsafeTenthsA: number } | undefined;
  /** It may fall back to its fail-safe, as far as limit and fuses go, as of the last decision. */
  usesFailsafe: boolean;
  /** It is told to fall back to 0, because others need what its fail-safe would take. */
  isFailsafeWaived: boolean;
  /** What the connector is reserved for on disk. */
  storedLimitTenthsA: number;
  storedThenTenthsA: number;
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
  /** The newest grant's limit; undefined where none was given since the charger started. */
  sentTenthsA: number | undefined;
  sentAtMs: number;
  /** From when the lease of the newest grant counts at the latest. */
  leasedFromMs: number;
  raisedAtMs: number;
  /** What it is due; what was sent may still be less. */
  targetTenthsA: number;
  reason: LimitReason;
}

export function createControl(
  ledger: GrantLedger,
  fuses: Fuses,
  key: string,
  slot: MeterSlot,
  actor: ConnectorActor,
  spec: ConnectorSpec,
  lease: LeaseKind,
  nowMs: number,
): ConnectorControl {
  const maxTenthsA = tenthsAOf(spec.maxCurrentA);
  const failsafeTenthsA = Math.min(tenthsAOf(spec.failsafeA), maxTenthsA);
  const holding = ledger.add(key, {
    maxTenthsA,
    failsafeTenthsA,
    milliwattsPerTenth: milliwattsPerTenthA(capVoltageV(spec), spec.phases),
    lease,
    keepsThen: false,
    poles: fuses.polesOf(spec),
  });
  return {
    key,
    slot,
    actor,
    holding,
    spec,
    fuses,
    phases: spec.phases,
    demand: createDemand(maxTenthsA),
    compliance: createCompliance(),
    awaitedSinceMs: nowMs,
    heardBeforeW: 0,
    said: undefined,
    usesFailsafe: true,
    isFailsafeWaived: false,
    storedLimitTenthsA: 0,
    storedThenTenthsA: 0,
    storedLease: lease,
    isStoring: false,
    storesAgainAtMs: Number.NEGATIVE_INFINITY,
    hb: undefined,
    boot: '',
    heardAtMs: 0,
    sentTenthsA: undefined,
    sentAtMs: Number.NEGATIVE_INFINITY,
    leasedFromMs: Number.NEGATIVE_INFINITY,
    raisedAtMs: Number.NEGATIVE_INFINITY,
    targetTenthsA: 0,
    reason: 'failsafe',
  };
}

/**
 * Folds in a reading that the meter ledger accepted: heartbeat, acknowledgement, demand and compliance.
 * @param epoch of this service: a charger that still speaks of an older one acknowledges nothing.
 */
export function hearReading(
  ledger: GrantLedger,
  control: ConnectorControl,
  reading: MeterReading,
  epoch: number,
  nowMs: number,
): boolean {
  const { holding, spec } = control;
  let isNews = followVoltage(ledger, control, reading.voltageV);
  if (hearHeartbeat(ledger, control, reading, nowMs)) isNews = true;
  if (
    reading.epoch === epoch &&
    reading.seq !== undefined &&
    isKeptTo(control, reading.seq, reading.limitA)
  ) {
    if (ledger.acknowledge(holding, reading.seq, nowMs)) isNews = true;
  }
  // Where no fuse is known, no phase counts by itself.
  const isBeyondPhases = holding.poles.length > 0 && phasesUsed(reading) > spec.phases;
  const drawnTenthsA = drawnTenthsAOf(reading, spec);
  // Who cannot be told a limit breaks none.
  const allowedTenthsA = control.hb === undefined ? holding.maxTenthsA : holding.entitledTenthsA;
  const judgedTenthsA = isBeyondPhases ? Number.POSITIVE_INFINITY : drawnTenthsA;
  if (foldCompliance(control.compliance, judgedTenthsA, allowedTenthsA, nowMs)) isNews = true;
  const isOnAll = isBeyondPhases || (control.phases !== spec.phases && control.compliance.isNonCompliant);
  if (reserveOn(ledger, control, isOnAll ? 3 : spec.phases)) isNews = true;
  if (reserveWorstCase(ledger, control)) isNews = true;
  const limitTenthsA = limitTenthsAOf(control, reading);
  const maxTenthsA = holding.maxTenthsA;
  return (
    foldDemand(
      control.demand,
      {
        status: reading.status,
        drawnTenthsA: usedTenthsAOf(reading, spec, drawnTenthsA),
        limitTenthsA,
        maxTenthsA,
      },
      nowMs,
    ) || isNews
  );
}

/** Takes an acknowledgement; false where it is none for anything that was sent, or says it was not followed. */
export function hearAck(
  ledger: GrantLedger,
  control: ConnectorControl,
  seq: number,
  appliedA: number | undefined,
  nowMs: number,
): boolean {
  return isKeptTo(control, seq, appliedA) && ledger.acknowledge(control.holding, seq, nowMs);
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
  ledger.describe(control.holding, { poles: polesOf(control) });
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

/** The 6 A floor in W. */
export function floorWOf({ holding }: ConnectorControl): number {
  return wattsOfTenths(MINIMUM_TENTHS_A, holding.milliwattsPerTenth);
}

function hearHeartbeat(
  ledger: GrantLedger,
  control: ConnectorControl,
  { hb, boot = '' }: MeterReading,
  nowMs: number,
): boolean {
  if (hb === undefined) return false;
  const isNewBoot = boot !== control.boot;
  const isFirst = control.hb === undefined;
  control.hb = hb;
  control.boot = boot;
  control.heardAtMs = nowMs;
  // A charger that started anew holds no grant.
  if (isNewBoot) {
    control.sentTenthsA = undefined;
    ledger.restarted(control.holding);
  }
  return isFirst || isNewBoot;
}

/** A charger that says it took a grant, but is held to more than that, did not take it. */
function isKeptTo(
  { holding, sentTenthsA }: ConnectorControl,
  seq: number,
  heldToA: number | undefined,
): boolean {
  if (seq !== holding.lastSeq || heldToA === undefined || sentTenthsA === undefined) return true;
  return tenthsAOf(heldToA) <= Math.max(sentTenthsA, holding.failsafeTenthsA);
}

function limitTenthsAOf({ sentTenthsA, holding }: ConnectorControl, { limitA }: MeterReading): number {
  const toldTenthsA = sentTenthsA ?? holding.maxTenthsA;
  return limitA === undefined ? toldTenthsA : Math.min(tenthsAOf(limitA), holding.maxTenthsA);
}

/** The most loaded phase, by its current or, where that is more, by its share of the power; rounded up. */
function drawnTenthsAOf({ powerW, currentA }: MeterReading, { voltageV, phases }: ConnectorRating): number {
  let drawnA = powerW / (voltageV * phases);
  if (currentA !== undefined) for (const phaseA of currentA) drawnA = Math.max(drawnA, phaseA);
  return Math.ceil(drawnA * 10 - 1e-6);
}

/** Of power alone it is not known how many phases the car uses: with one it may be using all of its limit. */
function usedTenthsAOf(
  { powerW, currentA }: MeterReading,
  { voltageV }: ConnectorRating,
  drawnTenthsA: number,
): number {
  return currentA === undefined ? Math.ceil((powerW / voltageV) * 10 - 1e-6) : drawnTenthsA;
}

/** Phases with a current that is none of a meter's noise. */
function phasesUsed({ currentA = [] }: MeterReading): number {
  return currentA.filter((phaseA) => phaseA >= LEAST_PHASE_A).length;
}

/**
 * A connector that draws on more phases than it was provisioned with has its current reserved on all, until it is
 * trusted again. True where that is news.
 */
function reserveOn(ledger: GrantLedger, control: ConnectorControl, phases: 1 | 3): boolean {
  if (phases === control.phases) return false;
  const heldV = control.holding.milliwattsPerTenth / milliwattsPerTenthA(1, control.phases);
  control.phases = phases;
  ledger.describe(control.holding, {
    milliwattsPerTenth: milliwattsPerTenthA(heldV, phases),
    poles: polesOf(control),
  });
  return true;
}

function polesOf({ fuses, spec, phases }: ConnectorControl): readonly number[] {
  return fuses.polesOf({ ...spec, phases });
}

/** The highest phase voltage, in whole volts, from which on a current is worth more power; lowered only by a clear step. */
function followVoltage(
  ledger: GrantLedger,
  { holding, spec, phases }: ConnectorControl,
  voltageV: readonly number[] | undefined,
): boolean {
  if (voltageV === undefined) return false;
  let highestV = 0;
  for (const phaseV of voltageV) highestV = Math.max(highestV, phaseV);
  // A meter that is broken or lies must not make room for more current.
  if (highestV < spec.voltageV * LEAST_VOLTAGE) return false;
  const wantedV = Math.ceil(Math.min(highestV, spec.voltageV * MOST_VOLTAGE));
  const heldV = holding.milliwattsPerTenth / milliwattsPerTenthA(1, phases);
  if (wantedV === heldV || (wantedV < heldV && wantedV + VOLTAGE_STEP_V > heldV)) return false;
  ledger.describe(holding, { milliwattsPerTenth: milliwattsPerTenthA(wantedV, phases) });
  return true;
}
