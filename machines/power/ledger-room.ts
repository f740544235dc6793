// Power that a grant needs in a ledger: its own, and that of older grants on phases that it does not cover.
import type { Holding } from './holding.js';
import { type Entry, lastingBy, lastingOn, leastLoadOf, wattsOn } from './ledger-entry.js';
import {
  cappedAt,
  isWithin,
  largerOf,
  mostOnFirst,
  NO_CURRENT,
  type OwnPhases,
  onFirst,
  type PhaseCount,
  smallerOf,
} from './own-phases.js';

/** Part of the possible entitlement that is certainly in force. A grant within that part adds nothing. */
export function coveredOn(entry: Entry): OwnPhases {
  return smallerOf(entry.bounds, largerOf(lastingOn(entry), entry.promises.sure));
}

/**
 * Highest limit or fallback on any phase by grant `fromSeq` and later ones. Grant 1 is the first since the service
 * start, so rows from disk do not count. For a non-compliant connector that row is its maximum, which was reserved and
 * never granted.
 */
export function toldSinceTenthsA(holding: Holding, fromSeq = 1): number {
  const { promises, failsafes, maxTenthsA } = holding as Entry;
  const [mostTenthsA] = largerOf(failsafes, promises.mostSince(fromSeq));
  return Math.min(mostTenthsA, maxTenthsA);
}

/** Number of phases that grants are for, at most the connector's own. */
function grantedPhasesOf({ usedPhases, phases }: Holding): PhaseCount {
  return Math.min(usedPhases, phases) as PhaseCount;
}

/**
 * Power that a grant of `tenthsA` on the used phases needs, W. If certain grants cover it, it needs only itself, beside
 * the own fail-safe on the other phases. Otherwise it adds to everything possibly in force, which may be on other
 * phases.
 */
function wattsBeside(entry: Entry, tenthsA: number): number {
  const { usedPhases, ownFailsafeTenthsA: own, bounds } = entry;
  const granted = onFirst(tenthsA, grantedPhasesOf(entry));
  if (!isWithin(granted, coveredOn(entry))) return wattsOn(entry, largerOf(granted, bounds));
  return wattsOn(entry, [tenthsA, usedPhases > 1 ? tenthsA : own, usedPhases > 2 ? tenthsA : own]);
}

/**
 * Power for the connector's minimum together with all grants possibly in force, W. Those grants may be for fewer phases
 * and then do not cover the minimum. If they cover it, only the minimum counts, because it adds nothing.
 */
export function leastBesideW(holding: Holding): number {
  const { bounds, leastTenthsA } = holding;
  const least = onFirst(leastTenthsA, grantedPhasesOf(holding));
  return wattsOn(holding, isWithin(least, bounds) ? least : largerOf(bounds, least));
}

/** Highest grant within `roomW` on the used phases, tenths of an ampere. */
export function tenthsWithinRoom(entry: Entry, roomW: number): number {
  const { phases, milliwattsOnPhase } = entry;
  const roomTenthsA = Math.floor((Math.max(0, roomW) * 1000) / milliwattsOnPhase);
  const used = grantedPhasesOf(entry);
  const coveredTenthsA = mostOnFirst(coveredOn(entry), used);
  const freeTenthsA = Math.floor((roomTenthsA - (phases - used) * entry.ownFailsafeTenthsA) / used);
  let mostTenthsA = Math.max(0, Math.min(freeTenthsA, coveredTenthsA));
  // A grant above the bound of the last used phase raises that phase alone first. A higher one raises the phase before
  // it as well.
  for (let raised = 1; raised <= used; raised++) {
    let keptTenthsA = 0;
    for (let phase = 0; phase < phases; phase++)
      if (phase < used - raised || phase >= used) keptTenthsA += entry.bounds[phase] ?? 0;
    const ceiling = raised === used ? Number.POSITIVE_INFINITY : (entry.bounds[used - raised - 1] ?? 0);
    const tenthsA = Math.min(Math.floor((roomTenthsA - keptTenthsA) / raised), ceiling);
    if (tenthsA >= (entry.bounds[used - raised] ?? 0)) mostTenthsA = Math.max(mostTenthsA, tenthsA);
  }
  return mostTenthsA;
}

/**
 * No grant of this service lasts: none was decided, its lease is over, or the charger restarted. The charger's current
 * limit is its own, or comes from an earlier owner.
 */
export function isWithoutGrant(holding: Holding): boolean {
  const { told, waiting } = holding as Entry;
  return waiting === undefined && told?.promise === undefined;
}

/** No sent grant of this service lasts. A withdrawn grant never left, so it does not change the charger's own limit. */
export function isWithoutSentGrant(holding: Holding): boolean {
  return (holding as Entry).told?.promise === undefined;
}

/**
 * The charger's own limit on all used phases while no grant of this service lasts, else 0. A grant within it adds no
 * load.
 */
export function hadTenthsA(holding: Holding): number {
  const { bounds, at } = holding as Entry;
  return isWithoutGrant(holding) ? mostOnFirst(smallerOf(bounds, at), grantedPhasesOf(holding)) : 0;
}

/**
 * Outstanding grants may still allow more than the newest grant and its fallback. The newest one counts up to
 * `mostTenthsA`.
 */
export function mayDrawBeyond(holding: Holding, mostTenthsA: number, nowMs: number): boolean {
  const { promises, maxTenthsA, told, waiting } = holding as Entry;
  const newest = waiting ?? told;
  const kept = newest && largerOf(newest.fallsBackTo, cappedAt(lastingBy(newest), mostTenthsA));
  return !isWithin(cappedAt(promises.mostAwaited(nowMs), maxTenthsA), kept ?? NO_CURRENT);
}

/**
 * Highest draw by outstanding grants and fallback, W. A grant without a known end counts for no longer than a lease.
 */
export function awaitedW(holding: Holding, nowMs: number): number {
  const { promises, failsafes, maxTenthsA } = holding as Entry;
  return wattsOn(holding, cappedAt(largerOf(failsafes, promises.mostAwaited(nowMs)), maxTenthsA));
}

/** Highest limit without a known end that has outlasted a lease, W. */
export function unendingW(holding: Holding, nowMs: number): number {
  const { promises, maxTenthsA } = holding as Entry;
  return wattsOn(holding, cappedAt(promises.mostUnending(nowMs), maxTenthsA));
}

/** The pending grant is within the sent one, as far as that lasts at `nowMs`. */
export function addsNothing(holding: Holding, nowMs: number): boolean {
  const entry = holding as Entry;
  const { waiting, told, promises } = entry;
  if (waiting === undefined) return true;
  const isOver = told?.promise !== undefined && promises.isOver(told.promise, nowMs);
  const lasting = lastingOn(isOver ? { ...entry, told: { ...told, promise: undefined } } : entry);
  return isWithin(lastingBy(waiting), lasting);
}

/** Latest end of the newest sent grant's lease, without settling time; minus infinity if none lasts. */
export function leaseEndMsOf(holding: Holding): number {
  return (holding as Entry).told?.promise?.endsAtMs ?? Number.NEGATIVE_INFINITY;
}

/** Entitlement by the newest sent grant on the used phases, tenths of an ampere. */
export function toldTenthsA(holding: Holding): number {
  const { told, usedPhases } = holding as Entry;
  return told === undefined ? 0 : mostOnFirst(lastingBy(told), usedPhases);
}

/**
 * Next time after `nowMs` at which `awaitedW`, `unendingW` or `mayDrawBeyond` may change without a message; infinite if
 * never.
 */
export function letsGoAtMs(holding: Holding, nowMs: number): number {
  return (holding as Entry).promises.nextAwaitedMs(nowMs);
}

/**
 * Fallback by the newest sent grant, or by the row on disk before the first grant. The charger's own reported fail-safe
 * does not count: its next report may differ, while a sent fallback lasts.
 */
export function toldThenTenthsA(holding: Holding): number {
  const { told, lastSeq, keepsThen, failsafeTenthsA, usedPhases } = holding as Entry;
  if (told !== undefined) return mostOnFirst(told.fallsBackTo, usedPhases);
  return lastSeq === 0 && keepsThen ? failsafeTenthsA : 0;
}

/** Capacity that the others leave for one connector. */
interface RoomForGrant {
  readonly leftW: number;
  readonly carriableTenthsA: number;
  /** The floor of a lock ignores the budget. */
  readonly isLockFloor: boolean | undefined;
}

/** Reason that forbids a grant of `mostTenthsA`; undefined if it may leave. */
export function refusalOf(
  entry: Entry,
  mostTenthsA: number,
  { leftW, carriableTenthsA, isLockFloor = false }: RoomForGrant,
): string | undefined {
  const neededW = wattsBeside(entry, mostTenthsA);
  if (neededW > leftW && !isLockFloor) return `${neededW} W are more than the ${leftW} W that are left`;
  // A floor that the connector already has adds no load. The same holds for a connector whose maximum is reserved.
  const hasTenthsA = entry.isWorstCase ? entry.maxTenthsA : hadTenthsA(entry);
  if (mostTenthsA <= carriableTenthsA || (isLockFloor && mostTenthsA <= hasTenthsA)) return undefined;
  return `${mostTenthsA} is more than the ${carriableTenthsA} its fuses carry`;
}

/** Excess of reservations over grants for connectors that may not obey: W, and tenths of an ampere by circuit phase. */
export class BeyondGrants {
  readonly #holdings = new Set<Holding>();
  #powerW = 0;
  readonly #tenthsAOfPole = new Map<number, number>();

  /** Most locations have no such connector and share one empty object. */
  static of(holdings: readonly Holding[]): BeyondGrants {
    if (holdings.length === 0) return NOBODY;
    const beyond = new BeyondGrants();
    for (const holding of holdings) beyond.count(holding);
    return beyond;
  }

  get powerW(): number {
    return this.#powerW;
  }

  tenthsAOf(pole: number): number {
    return this.#tenthsAOfPole.get(pole) ?? 0;
  }

  count(holding: Holding): void {
    this.#holdings.add(holding);
    this.#add(holding, 1);
  }

  /** Call this before a new grant to the connector. False if it was not counted. */
  leaveOut(holding: Holding): boolean {
    if (!this.#holdings.delete(holding)) return false;
    this.#add(holding, -1);
    return true;
  }

  #add(holding: Holding, sign: 1 | -1): void {
    const entry = holding as Entry;
    const { boundW, entitled, loads, allPoles } = entry;
    this.#powerW += sign * (boundW - wattsOn(entry, entitled));
    const granted = largerOf(entitled, leastLoadOf(entry));
    for (const { pole, phase } of allPoles) {
      const beyondTenthsA = (loads[phase] ?? 0) - (granted[phase] ?? 0);
      this.#tenthsAOfPole.set(pole, this.tenthsAOf(pole) + sign * beyondTenthsA);
    }
  }
}

/** Only counted connectors are left out and counted again, so this shared object stays empty. */
const NOBODY = new BeyondGrants();
