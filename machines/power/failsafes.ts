// Selects the connectors that may keep their fail-safe. All fail-safes together must fit the lowest limit and every
// fuse.
import { type ConnectorRating, ratedMilliwattsPerTenth, tenthsAOf, wattsOfTenths } from '../values/units.js';
import { type Connector, isControlled, isLocked, turnOf, type Writing } from './connector.js';
import type { CircuitPhase, Fuses, Wiring } from './fuses.js';
import { isInTurn, isKeptOn, isWaiting, turnMsOf } from './rotation.js';

/** Time in which a charger describes its fail-safe after it connects. */
const DESCRIBED_WITHIN_MS = 60_000;
/** Margin above the highest voltage of the last hour. */
const VOLTAGE_MAY_RISE = 1.03;

type Written = Writing<'failsafe'>;

/** Remaining capacity below the lowest limit, W, and on each circuit phase, tenths of an ampere. */
interface Room {
  leftW: number;
  readonly leftTenthsA: number[];
}

/**
 * Allows each connector its fail-safe or not. If the fail-safes do not all fit the lowest known limit and every circuit
 * phase, only charging connectors keep theirs. Locked connectors come first, then `neverPause`, then the longest
 * charging time, as far as they fit.
 */
export function allowFailsafes(
  connectors: Iterable<Written>,
  lowestW: number,
  capacitiesTenthsA: readonly number[],
  nowMs: number,
): void {
  const all = [...connectors];
  const emptyRoom = (): Room => ({ leftW: lowestW, leftTenthsA: [...capacitiesTenthsA] });
  const together = emptyRoom();
  for (const connector of all) take(together, connector, failsafeTenthsAOf(connector));
  const doAllFit = together.leftW >= 0 && together.leftTenthsA.every((leftTenthsA) => leftTenthsA >= 0);
  for (const connector of all) connector.failsafe.isAllowed = doAllFit;
  if (doAllFit) return;
  // No grant changes the fallback of a charger that is not controlled.
  const beside = emptyRoom();
  for (const connector of all)
    if (!isControlled(connector)) take(beside, connector, connector.account.failsafeTenthsA);
  const chosen = chosenOf(all, beside, nowMs);
  // A charger may still fall back to an earlier `thenA` until it takes a grant with another one.
  const room = emptyRoom();
  for (const connector of all) take(room, connector, connector.account.failsafeTenthsA);
  for (const connector of chosen) {
    const moreTenthsA = failsafeTenthsAOf(connector) - connector.account.failsafeTenthsA;
    connector.failsafe.isAllowed = moreTenthsA <= 0 || takeIfItFits(room, connector, moreTenthsA);
  }
}

/** Sets the connector's fail-safe to 0, because others need that power, or ends that. */
export function waiveFailsafe({ failsafe }: Written, isWaived: boolean): void {
  failsafe.isWaived = isWaived;
}

/**
 * Connectors past their turn are excluded while others are pending, because their fail-safe could not be given away. A
 * fail-safe above the car's minimum is excluded too, because it would keep others from charging.
 */
function chosenOf(all: readonly Written[], room: Room, nowMs: number): readonly Written[] {
  const turnMs = all.some((connector) => isWaiting(connector)) ? turnMsOf(all) : Number.POSITIVE_INFINITY;
  const charging = all.filter(
    (connector) =>
      isControlled(connector) &&
      (isLocked(connector) || isKeptOn(connector) || isInTurn(connector, nowMs, turnMs)) &&
      failsafeTenthsAOf(connector) <= connector.account.leastTenthsA,
  );
  charging.sort(
    (a, b) =>
      Number(isLocked(b)) - Number(isLocked(a)) ||
      Number(isKeptOn(b)) - Number(isKeptOn(a)) ||
      (turnOf(a).onSinceMs ?? 0) - (turnOf(b).onSinceMs ?? 0) ||
      (a.key < b.key ? -1 : 1),
  );
  return charging.filter((connector) => takeIfItFits(room, connector, failsafeTenthsAOf(connector)));
}

function takeIfItFits(room: Room, connector: Connector, tenthsA: number): boolean {
  const { circuitPhases } = connector.account;
  const fitsCircuitPhases = circuitPhases.every(
    (circuitPhase) => tenthsA <= (room.leftTenthsA[circuitPhase] ?? 0),
  );
  if (!fitsCircuitPhases || wattsOf(connector, tenthsA) > room.leftW) return false;
  take(room, connector, tenthsA);
  return true;
}

function take(room: Room, connector: Connector, tenthsA: number): void {
  room.leftW -= wattsOf(connector, tenthsA);
  for (const circuitPhase of connector.account.circuitPhases)
    room.leftTenthsA[circuitPhase] = (room.leftTenthsA[circuitPhase] ?? 0) - tenthsA;
}

/**
 * Fail-safe power on the phases that its grants use. It counts at the highest voltage of the last hour plus a margin,
 * because no grant can lower a fail-safe.
 */
function wattsOf({ provisioned: { spec }, account }: Connector, tenthsA: number): number {
  const { milliwattsPerTenth, usedPhases, phases } = account;
  const ratedMilliwatts = (ratedMilliwattsPerTenth(spec) * Math.min(usedPhases, phases)) / phases;
  return wattsOfTenths(tenthsA, Math.min(milliwattsPerTenth * VOLTAGE_MAY_RISE, ratedMilliwatts));
}

/**
 * The fail-safes of chargers that keep no `thenA` over a restart fit. No message can lower these fail-safes. If even
 * they do not fit, no reservation can keep the limit. A reservation would then only keep every car from charging.
 */
export function doOwnFailsafesFit(connectors: Iterable<Connector>, lowestW: number, nowMs: number): boolean {
  const forgetting = [...connectors].filter((connector) => forgetsThen(connector, nowMs));
  return sumOfFailsafesW(forgetting) <= lowestW;
}

/** The row on disk states that the charger keeps `thenA`, but the charger has not confirmed that in time. */
export function lacksConfirmedKeepsThen(connector: Connector, nowMs: number): boolean {
  const { isDescribed, keepsThen } = connector.account;
  return !isDescribed && keepsThen && forgetsThen(connector, nowMs);
}

/** The charger described itself as forgetting, or did not describe itself in time. */
function forgetsThen({ account, telemetry }: Connector, nowMs: number): boolean {
  if (account.isDescribed) return !account.keepsThen;
  return telemetry.hb !== undefined && nowMs - telemetry.awaitedSinceMs >= DESCRIBED_WITHIN_MS;
}

function sumOfFailsafesW(connectors: Iterable<Connector>): number {
  let sumW = 0;
  for (const connector of connectors) sumW += wattsOf(connector, failsafeTenthsAOf(connector));
  return sumW;
}

/** Fail-safe from provisioning. */
export function failsafeTenthsAOf({ provisioned: { spec }, account }: Connector): number {
  return Math.min(tenthsAOf(spec.failsafeA), account.maxTenthsA);
}

/**
 * The `thenA` of the connector's next grant. A charger that keeps `thenA` needs none while it has no car. A value below
 * the reservation would free nothing.
 */
export function thenTenthsAOf(connector: Connector): number {
  const { account, car, failsafe } = connector;
  const failsafeTenthsA = failsafeTenthsAOf(connector);
  const isNeeded = car.demand.hasCar || isLocked(connector) || !account.keepsThen;
  if (failsafe.isAllowed && isNeeded && !failsafe.isWaived) return failsafeTenthsA;
  return Math.min(failsafeTenthsA, account.alwaysReservedTenthsA);
}

/** Reservation at limit 0. A charger that keeps nothing over a restart falls back to its own fail-safe. */
export function heldTenthsAOf(connector: Connector): number {
  const { account } = connector;
  return Math.max(Math.min(thenTenthsAOf(connector), account.maxTenthsA), account.alwaysReservedTenthsA);
}

export function heldWOf(connector: Connector): number {
  return wattsOfTenths(heldTenthsAOf(connector), connector.account.milliwattsPerTenth);
}

/** Circuit load at limit 0. Fuses always have capacity for the charger's own fail-safe, also beyond the budget. */
export function heldLoadTenthsAOf(connector: Connector): number {
  return Math.max(heldTenthsAOf(connector), connector.account.alwaysCarriedTenthsA);
}

/** Properties of a connector that determine its fail-safe load. */
export interface FailsafeShape extends ConnectorRating, Wiring {
  /** A per phase. */
  readonly failsafeA: number;
}

/** Sum of all fail-safes. */
export interface FailsafeNeed {
  readonly neededW: number;
  /** Circuit phases that cannot carry their fail-safes. */
  readonly overloaded: readonly { readonly circuitPhase: CircuitPhase; readonly neededTenthsA: number }[];
}

/** Load if all `connectors` fall back at once, by provisioning alone. */
export function failsafeNeedOf(connectors: readonly FailsafeShape[], fuses: Fuses): FailsafeNeed {
  const neededTenthsA = fuses.circuitPhases.map(() => 0);
  let neededW = 0;
  for (const connector of connectors) {
    const tenthsA = tenthsAOf(Math.min(connector.failsafeA, connector.maxCurrentA));
    neededW += wattsOfTenths(tenthsA, ratedMilliwattsPerTenth(connector));
    for (const circuitPhase of fuses.circuitPhasesOf(connector))
      neededTenthsA[circuitPhase] = (neededTenthsA[circuitPhase] ?? 0) + tenthsA;
  }
  const overloaded = fuses.circuitPhases
    .map((circuitPhase, place) => ({ circuitPhase, neededTenthsA: neededTenthsA[place] ?? 0 }))
    .filter((each) => each.neededTenthsA > each.circuitPhase.capacityTenthsA);
  return { neededW, overloaded };
}
