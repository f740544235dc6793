// Who may fall back to its fail-safe: together they must fit the lowest limit and every fuse.
import { type ConnectorRating, ratedMilliwattsPerTenth, tenthsAOf, wattsOfTenths } from '../values/units.js';
import { type ConnectorControl, isLocked, turnOf } from './connector-control.js';
import type { Fuses, Pole, Wiring } from './fuses.js';
import { carriedAnywayTenthsA, reservedAnywayTenthsA } from './holding.js';
import { isInTurn, isKeptOn, isWaiting, turnMsOf } from './turns.js';

/** A charger that tells of itself has done so by then. */
const DESCRIBED_WITHIN_MS = 60_000;
/** By so much more than it was measured within the last hour. */
const VOLTAGE_MAY_RISE = 1.03;

/** What is left of the lowest limit, W, and of each pole, tenths of an ampere. */
interface Room {
  leftW: number;
  readonly leftTenthsA: number[];
}

/**
 * Says of each connector whether it may fall back to its fail-safe. Where those of all do not fit the lowest limit there
 * can be, or a pole, as many of those keep theirs that charge as fit: locked ones first, then such as would not wake up,
 * then those that have charged longest. Nominal voltages, so that a reading never turns it.
 */
export function allowFailsafes(
  controls: Iterable<ConnectorControl>,
  lowestW: number,
  capacitiesTenthsA: readonly number[],
  nowMs: number,
): void {
  const all = [...controls];
  const emptyRoom = (): Room => ({ leftW: lowestW, leftTenthsA: [...capacitiesTenthsA] });
  const together = emptyRoom();
  for (const control of all) take(together, control, failsafeTenthsAOf(control));
  const doAllFit = together.leftW >= 0 && together.leftTenthsA.every((leftTenthsA) => leftTenthsA >= 0);
  for (const control of all) control.usesFailsafe = doAllFit;
  if (doAllFit) return;
  const chosen = chosenOf(all, emptyRoom(), nowMs);
  // Until it has taken a grant that says otherwise, anybody may fall back to what it was told before.
  const room = emptyRoom();
  for (const control of all) take(room, control, control.holding.failsafeTenthsA);
  for (const control of chosen) {
    const moreTenthsA = failsafeTenthsAOf(control) - control.holding.failsafeTenthsA;
    control.usesFailsafe = moreTenthsA <= 0 || takeIfItFits(room, control, moreTenthsA);
  }
}

/**
 * Nobody whose turn is over while others wait: what it may fall back to could not be given to them. Nor one whose fail-safe is
 * more than its car needs at least: it would keep others from charging.
 */
function chosenOf(all: readonly ConnectorControl[], room: Room, nowMs: number): readonly ConnectorControl[] {
  const turnMs = all.some(isWaiting) ? turnMsOf(all) : Number.POSITIVE_INFINITY;
  const charging = all.filter(
    (control) =>
      (isLocked(control) || isKeptOn(control) || isInTurn(control, nowMs, turnMs)) &&
      failsafeTenthsAOf(control) <= control.holding.leastTenthsA,
  );
  charging.sort(
    (a, b) =>
      Number(isLocked(b)) - Number(isLocked(a)) ||
      Number(isKeptOn(b)) - Number(isKeptOn(a)) ||
      (turnOf(a).onSinceMs ?? 0) - (turnOf(b).onSinceMs ?? 0) ||
      (a.key < b.key ? -1 : 1),
  );
  return charging.filter((control) => takeIfItFits(room, control, failsafeTenthsAOf(control)));
}

function takeIfItFits(room: Room, control: ConnectorControl, tenthsA: number): boolean {
  const { poles } = control.holding;
  const fitsPoles = poles.every((pole) => tenthsA <= (room.leftTenthsA[pole] ?? 0));
  if (!fitsPoles || wattsOf(control, tenthsA) > room.leftW) return false;
  take(room, control, tenthsA);
  return true;
}

function take(room: Room, control: ConnectorControl, tenthsA: number): void {
  room.leftW -= wattsOf(control, tenthsA);
  for (const pole of control.holding.poles) room.leftTenthsA[pole] = (room.leftTenthsA[pole] ?? 0) - tenthsA;
}

/**
 * On the phases that it is granted anything for, at the highest voltage of the last hour and a little more, since nobody can
 * lower a fail-safe where the voltage rises.
 */
function wattsOf({ spec, holding }: ConnectorControl, tenthsA: number): number {
  const { milliwattsPerTenth, usedPhases, phases } = holding;
  const ratedMilliwatts = (ratedMilliwattsPerTenth(spec) * Math.min(usedPhases, phases)) / phases;
  return wattsOfTenths(tenthsA, Math.min(milliwattsPerTenth * VOLTAGE_MAY_RISE, ratedMilliwatts));
}

/**
 * Whether those fit that no message can lower, because their chargers keep nothing over a restart. Where not even they
 * do, no reservation can make the limit certain, and reserving them would only keep everybody from charging.
 */
export function doOwnFailsafesFit(
  controls: Iterable<ConnectorControl>,
  lowestW: number,
  nowMs: number,
): boolean {
  const forgetting = [...controls].filter((control) => isKnownToForget(control, nowMs));
  return sumOfFailsafesW(forgetting) <= lowestW;
}

/** It was taken to keep what it is told, by what is on disk, and has had time to say so itself. */
export function isWronglyTakenToKeep(control: ConnectorControl, nowMs: number): boolean {
  const { isDescribed, keepsThen } = control.holding;
  return !isDescribed && keepsThen && isKnownToForget(control, nowMs);
}

/** It said so, or has had time to say otherwise. */
function isKnownToForget({ holding, hb, awaitedSinceMs }: ConnectorControl, nowMs: number): boolean {
  if (holding.isDescribed) return !holding.keepsThen;
  return hb !== undefined && nowMs - awaitedSinceMs >= DESCRIBED_WITHIN_MS;
}

function sumOfFailsafesW(controls: Iterable<ConnectorControl>): number {
  let sumW = 0;
  for (const control of controls) sumW += wattsOf(control, failsafeTenthsAOf(control));
  return sumW;
}

/** Its fail-safe as the operator provisioned it. */
export function failsafeTenthsAOf({ spec, holding }: ConnectorControl): number {
  return Math.min(tenthsAOf(spec.failsafeA), holding.maxTenthsA);
}

/**
 * What the connector is told to fall back to: nothing need be kept for one without a car that remembers what it is told. Never less
 * than is reserved for it anyway: that would free nothing.
 */
export function thenTenthsAOf(control: ConnectorControl): number {
  const { holding, demand, usesFailsafe, isFailsafeWaived } = control;
  const failsafeTenthsA = failsafeTenthsAOf(control);
  const isNeeded = demand.hasCar || isLocked(control) || !holding.keepsThen;
  if (usesFailsafe && isNeeded && !isFailsafeWaived) return failsafeTenthsA;
  return Math.min(failsafeTenthsA, reservedAnywayTenthsA(holding));
}

/** What it takes of the budget even at 0: a charger that keeps nothing over a restart falls back to a fail-safe of its own. */
export function heldTenthsAOf(control: ConnectorControl): number {
  const { holding } = control;
  return Math.max(Math.min(thenTenthsAOf(control), holding.maxTenthsA), reservedAnywayTenthsA(holding));
}

/** The same in W. */
export function heldWOf(control: ConnectorControl): number {
  return wattsOfTenths(heldTenthsAOf(control), control.holding.milliwattsPerTenth);
}

/** What it loads its poles with even at 0: fuses have room for what it falls back to by itself, whatever the budget has. */
export function heldLoadTenthsAOf(control: ConnectorControl): number {
  return Math.max(heldTenthsAOf(control), carriedAnywayTenthsA(control.holding));
}

/** A connector as far as its fail-safe concerns what it shares with others. */
export interface FailsafeShape extends ConnectorRating, Wiring {
  /** A per phase. */
  readonly failsafeA: number;
}

/** What all fail-safes need at once. */
export interface FailsafeNeed {
  readonly neededW: number;
  /** Poles that cannot carry them. */
  readonly overloaded: readonly { readonly pole: Pole; readonly neededTenthsA: number }[];
}

/** What `connectors` would take if all of them fell back at once, before anything is known of them but how they are provisioned. */
export function failsafeNeedOf(connectors: readonly FailsafeShape[], fuses: Fuses): FailsafeNeed {
  const neededTenthsA = fuses.poles.map(() => 0);
  let neededW = 0;
  for (const connector of connectors) {
    const tenthsA = tenthsAOf(Math.min(connector.failsafeA, connector.maxCurrentA));
    neededW += wattsOfTenths(tenthsA, ratedMilliwattsPerTenth(connector));
    for (const pole of fuses.polesOf(connector)) neededTenthsA[pole] = (neededTenthsA[pole] ?? 0) + tenthsA;
  }
  const overloaded = fuses.poles
    .map((pole, place) => ({ pole, neededTenthsA: neededTenthsA[place] ?? 0 }))
    .filter((each) => each.neededTenthsA > each.pole.capacityTenthsA);
  return { neededW, overloaded };
}
