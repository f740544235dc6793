// Selects the connectors that may keep their fail-safe. All fail-safes together must fit the lowest limit and every
// fuse.
import { type ConnectorRating, ratedMilliwattsPerTenth, tenthsAOf, wattsOfTenths } from '../values/units.js';
import { Room } from './claims.js';
import {
  type Connector,
  type ConnectorSpec,
  failsafeTenthsAOf,
  isControlled,
  isLocked,
  turnOf,
  type Writing,
} from './connector.js';
import type { CircuitPhase, Fuses, Wiring } from './fuses.js';
import { isInTurn, isKeptOn, TurnLength } from './rotation.js';

/** Time in which a charger describes its fail-safe after it connects. */
const DESCRIBED_WITHIN_MS = 60_000;
/** Margin above the highest voltage of the last hour. */
const VOLTAGE_MAY_RISE = 1.03;

type Written = Writing<'failsafe'>;

/** Fail-safes of a location's connectors, against the lowest limit and the least capacity of each circuit phase. */
export class Failsafes {
  readonly #emptyRoom: () => Room;
  /** Room beside all fail-safes. */
  readonly #together: Room;
  /** Sum for chargers that keep nothing over a restart, W. */
  #forgottenW = 0;
  #areAllAllowed = true;

  constructor(lowestW: number, capacitiesTenthsA: readonly number[]) {
    this.#emptyRoom = () => new Room(lowestW, capacitiesTenthsA);
    this.#together = this.#emptyRoom();
  }

  count(connector: Connector, nowMs: number): void {
    const powerW = take(this.#together, connector, connector.failsafe.provisionedTenthsA);
    if (forgetsThen(connector, nowMs)) this.#forgottenW += powerW;
    this.#areAllAllowed &&= connector.failsafe.isAllowed;
  }

  /**
   * The fail-safes of chargers that keep no `thenA` over a restart fit. No message can lower these fail-safes. If even
   * they do not fit, no reservation can keep the limit. A reservation would then only keep every car from charging.
   */
  doForgottenFit(lowestW: number): boolean {
    return this.#forgottenW <= lowestW;
  }

  /**
   * Allows each connector its fail-safe or not. If they do not all fit, only charging connectors keep theirs. Locked
   * connectors come first, then `neverPause`, then the longest charging time, as far as they fit.
   */
  allow(connectors: readonly Written[], nowMs: number): void {
    const doAllFit = this.#together.overdrawn().size === 0;
    if (doAllFit && this.#areAllAllowed) return;
    for (const { failsafe } of connectors) failsafe.isAllowed = doAllFit;
    if (doAllFit) return;
    const [beside, room] = [this.#emptyRoom(), this.#emptyRoom()];
    for (const connector of connectors) {
      // A charger may still fall back to an earlier `thenA` until it takes a grant with another one.
      take(room, connector, connector.account.failsafeTenthsA);
      // No grant changes the fallback of a charger that is not controlled.
      if (!isControlled(connector)) take(beside, connector, connector.account.failsafeTenthsA);
    }
    for (const connector of chosenOf(connectors, beside, nowMs)) {
      const { failsafe, account } = connector;
      const moreTenthsA = failsafe.provisionedTenthsA - account.failsafeTenthsA;
      failsafe.isAllowed = moreTenthsA <= 0 || takeIfItFits(room, connector, moreTenthsA);
    }
  }
}

/** Applies a changed fail-safe from provisioning. */
export function provisionFailsafe({ failsafe }: Written, spec: ConnectorSpec): void {
  failsafe.provisionedTenthsA = failsafeTenthsAOf(spec);
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
  const length = new TurnLength();
  for (const connector of all) length.count(connector);
  const turnMs = length.isAnyWaiting ? length.ms : Number.POSITIVE_INFINITY;
  const charging = all.filter(
    (connector) =>
      isControlled(connector) &&
      (isLocked(connector) || isKeptOn(connector) || isInTurn(turnOf(connector), nowMs, turnMs)) &&
      connector.failsafe.provisionedTenthsA <= connector.account.leastTenthsA,
  );
  charging.sort(
    (a, b) =>
      Number(isLocked(b)) - Number(isLocked(a)) ||
      Number(isKeptOn(b)) - Number(isKeptOn(a)) ||
      (turnOf(a).onSinceMs ?? 0) - (turnOf(b).onSinceMs ?? 0) ||
      (a.key < b.key ? -1 : 1),
  );
  return charging.filter((connector) => takeIfItFits(room, connector, connector.failsafe.provisionedTenthsA));
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

/** @returns the power of the fail-safe, W */
function take(room: Room, connector: Connector, tenthsA: number): number {
  const powerW = wattsOf(connector, tenthsA);
  room.leftW -= powerW;
  room.load(connector.account.circuitPhases, tenthsA);
  return powerW;
}

/**
 * Fail-safe power on the phases that its grants use. It counts at the highest voltage of the last hour plus a margin,
 * because no grant can lower a fail-safe.
 */
function wattsOf({ failsafe, account }: Connector, tenthsA: number): number {
  const { milliwattsPerTenth, usedPhases, phases } = account;
  const ratedMilliwatts = (failsafe.ratedMilliwattsPerTenth * Math.min(usedPhases, phases)) / phases;
  return wattsOfTenths(tenthsA, Math.min(milliwattsPerTenth * VOLTAGE_MAY_RISE, ratedMilliwatts));
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

/**
 * The `thenA` of the connector's next grant. A charger that keeps `thenA` needs none while it has no car. A value below
 * the reservation would free nothing.
 */
export function thenTenthsAOf(connector: Connector): number {
  const { account, car, failsafe } = connector;
  const failsafeTenthsA = failsafe.provisionedTenthsA;
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
