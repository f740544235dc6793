// Reason that no grants can keep a limit or a fuse: the minimum need exceeds the capacity.
import { wattsOfTenths } from '../values/units.js';
import { type Connector, floorWOf, isControlled, isLocked } from './connector.js';
import { heldLoadTenthsAOf, heldWOf } from './failsafes.js';
import { type CircuitPhase, type Fuses, nameOfCircuitPhase } from './fuses.js';

/** Power that no grant can lower, W. Leases that end by themselves do not count. */
export interface PowerNeed {
  readonly lockedW: number;
  /** For each reachable connector: its fail-safe, or a higher limit without a known end that has outlasted a lease. */
  readonly heldW: number;
  readonly uncontrolledW: number;
}

/** @param controlled connectors that can receive a limit; `uncontrolled` are all others */
export function powerNeedOf(
  controlled: readonly Connector[],
  uncontrolled: readonly Connector[],
  nowMs: number,
): PowerNeed {
  let lockedW = 0;
  let heldW = 0;
  let uncontrolledW = 0;
  for (const connector of controlled) {
    if (isFloorNeeded(connector)) lockedW += floorWOf(connector);
    else heldW += keptWOf(connector, nowMs);
  }
  for (const connector of uncontrolled) uncontrolledW += lastingWOf(connector, nowMs);
  return { lockedW, heldW, uncontrolledW };
}

function isFloorNeeded(connector: Connector): boolean {
  return connector.car.demand.hasCar && isLocked(connector) && !connector.decided.isPausedForOperator;
}

function keptWOf(connector: Connector, nowMs: number): number {
  return Math.max(heldWOf(connector), connector.account.unendingW(nowMs));
}

/** Power that the 6 A minimum adds to a need that already includes the connector, W. */
export function floorBesideNeedW(connector: Connector, nowMs: number): number {
  return isFloorNeeded(connector) ? 0 : Math.max(0, floorWOf(connector) - keptWOf(connector, nowMs));
}

/** A sentence in kW, in amperes, or both. An overbooked fuse is named even if the limit cannot be kept either. */
export function shortageOf(
  need: PowerNeed,
  limitW: number,
  connectors: Iterable<Connector>,
  fuses: Fuses,
): string | undefined {
  const sentences = [shortOfFuse(connectors, fuses), shortOfPower(need, limitW)].filter(
    (sentence) => sentence !== undefined,
  );
  return sentences.length === 0 ? undefined : sentences.join('; ');
}

/** The sentence for a limit that cannot be kept. */
function shortOfPower(need: PowerNeed, limitW: number): string | undefined {
  const { lockedW, heldW, uncontrolledW } = need;
  if (uncontrolledW + lockedW + heldW <= limitW) return undefined;
  return (
    `The limit of ${limitW / 1000} kW cannot be kept: ${lockedW / 1000} kW are the 6 A minimum of locked connectors, ` +
    `${heldW / 1000} kW fail-safes and outstanding grants of reachable connectors, ` +
    `${uncontrolledW / 1000} kW reserved for connectors that no limit reaches`
  );
}

/** The sentence for each fuse phase whose need exceeds its capacity, in amperes. */
function shortOfFuse(connectors: Iterable<Connector>, { circuitPhases }: Fuses): string | undefined {
  if (circuitPhases.length === 0) return undefined;
  const needs = circuitPhases.map(() => ({ lockedTenthsA: 0, heldTenthsA: 0, uncontrolledTenthsA: 0 }));
  for (const connector of connectors) {
    for (const place of connector.account.circuitPhases) {
      const need = needs[place];
      if (need === undefined) continue;
      const heldTenthsA = heldLoadTenthsAOf(connector);
      if (!isControlled(connector)) need.uncontrolledTenthsA += lastingTenthsAOf(connector);
      else if (isLocked(connector) && connector.car.demand.hasCar)
        need.lockedTenthsA += Math.max(connector.account.leastTenthsA, heldTenthsA);
      else need.heldTenthsA += heldTenthsA;
    }
  }
  const sentences = circuitPhases.flatMap(
    (circuitPhase, place) => sentenceOn(circuitPhase, needs[place]) ?? [],
  );
  return sentences.length === 0 ? undefined : sentences.join('; ');
}

interface Need {
  readonly lockedTenthsA: number;
  readonly heldTenthsA: number;
  readonly uncontrolledTenthsA: number;
}

function sentenceOn(circuitPhase: CircuitPhase, need: Need | undefined): string | undefined {
  if (need === undefined) return undefined;
  const { lockedTenthsA, heldTenthsA, uncontrolledTenthsA } = need;
  const neededTenthsA = lockedTenthsA + heldTenthsA + uncontrolledTenthsA;
  if (neededTenthsA <= circuitPhase.capacityTenthsA) return undefined;
  return (
    `The fuse of ${nameOfCircuitPhase(circuitPhase)} is overbooked, ${neededTenthsA / 10} A of ${circuitPhase.capacityTenthsA / 10} A: ` +
    `${lockedTenthsA / 10} A are the 6 A minimum of locked connectors, ${heldTenthsA / 10} A fail-safes and outstanding grants of reachable connectors, ` +
    `${uncontrolledTenthsA / 10} A reserved for connectors that no limit reaches`
  );
}

/** Lasting entitlement of an uncontrolled connector. */
export function lastingWOf({ account }: Connector, nowMs: number): number {
  if (account.isWorstCase) return account.boundW;
  const failsafeW = wattsOfTenths(account.failsafeTenthsA, account.milliwattsPerTenth);
  return Math.max(failsafeW, account.unendingW(nowMs));
}

/** Lasting load of an uncontrolled connector on its circuit phases. */
function lastingTenthsAOf(connector: Connector): number {
  const { account } = connector;
  if (account.isWorstCase) return account.boundTenthsA;
  return Math.max(account.failsafeTenthsA, heldLoadTenthsAOf(connector));
}
