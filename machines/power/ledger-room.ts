// What a grant needs room for in a ledger: itself, and what may be in force still on phases that it is not for.
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

/** What of all that it may be entitled to is surely in force: a grant within that adds nothing. */
export function coveredOn(entry: Entry): OwnPhases {
  return smallerOf(entry.bounds, largerOf(lastingOn(entry), entry.promises.sure));
}

/**
 * The most that it may keep to of grant `fromSeq` and those after it, and may fall back to, on any phase. 1 is the first since the
 * start: what was on disk is none of those. Of a connector that did not comply that is its maximum, which was reserved and never granted.
 */
export function toldSinceTenthsA(holding: Holding, fromSeq = 1): number {
  const { promises, failsafes, maxTenthsA } = holding as Entry;
  const [mostTenthsA] = largerOf(failsafes, promises.mostSince(fromSeq));
  return Math.min(mostTenthsA, maxTenthsA);
}

/** As many of its phases as grants are for: nothing flows on those that it does not have. */
function grantedPhasesOf({ usedPhases, phases }: Holding): PhaseCount {
  return Math.min(usedPhases, phases) as PhaseCount;
}

/**
 * The least that it must have room for to be granted `tenthsA` on the phases it uses, W. Where what is surely in force covers
 * that: just that, beside what it falls back to by itself on the others. Else it is beside all that may be in force still, which
 * may be on other phases.
 */
function wattsBeside(entry: Entry, tenthsA: number): number {
  const { usedPhases, ownFailsafeTenthsA: own, bounds } = entry;
  const granted = onFirst(tenthsA, grantedPhasesOf(entry));
  if (!isWithin(granted, coveredOn(entry))) return wattsOn(entry, largerOf(granted, bounds));
  return wattsOn(entry, [tenthsA, usedPhases > 1 ? tenthsA : own, usedPhases > 2 ? tenthsA : own]);
}

/**
 * The least that it can be offered, W, beside what may be in force still: on phases of which that was for fewer it is no part of
 * that. Where that much may be in force anyway, it is just the least: nothing is added to what the others have to make room for.
 */
export function leastBesideW(holding: Holding): number {
  const { bounds, leastTenthsA } = holding;
  const least = onFirst(leastTenthsA, grantedPhasesOf(holding));
  return wattsOn(holding, isWithin(least, bounds) ? least : largerOf(bounds, least));
}

/** The most that it can be granted within `roomW` on the phases it uses, tenths of an ampere. */
export function tenthsWithinRoom(entry: Entry, roomW: number): number {
  const { phases, milliwattsOnPhase } = entry;
  const roomTenthsA = Math.floor((Math.max(0, roomW) * 1000) / milliwattsOnPhase);
  const used = grantedPhasesOf(entry);
  const coveredTenthsA = mostOnFirst(coveredOn(entry), used);
  const freeTenthsA = Math.floor((roomTenthsA - (phases - used) * entry.ownFailsafeTenthsA) / used);
  let mostTenthsA = Math.max(0, Math.min(freeTenthsA, coveredTenthsA));
  // Above what it has on its last phase it is raised on that one alone, then on the one before as well.
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
 * No grant of this start of the service lasts: none was given, or its lease is over, or its charger started anew since. What the
 * charger is at it is at by itself, or by a grant from before.
 */
export function isWithoutGrant(holding: Holding): boolean {
  const { told, waiting } = holding as Entry;
  return waiting === undefined && told?.promise === undefined;
}

/** No grant of this service was sent. A grant that was withdrawn before it was sent leaves the charger's own limit as it is. */
export function isWithoutSentGrant(holding: Holding): boolean {
  return (holding as Entry).told?.promise === undefined;
}

/** What it is at then on all phases that it is to use: a grant within that loads nothing more. Else 0. */
export function hadTenthsA(holding: Holding): number {
  const { bounds, at } = holding as Entry;
  return isWithoutGrant(holding) ? mostOnFirst(smallerOf(bounds, at), grantedPhasesOf(holding)) : 0;
}

/** By what it was told it may draw more still than so much of what it was told last, or than it falls back to then. */
export function mayDrawBeyond(holding: Holding, mostTenthsA: number, nowMs: number): boolean {
  const { promises, maxTenthsA, told, waiting } = holding as Entry;
  const newest = waiting ?? told;
  const kept = newest && largerOf(newest.fallsBackTo, cappedAt(lastingBy(newest), mostTenthsA));
  return !isWithin(cappedAt(promises.mostAwaited(nowMs), maxTenthsA), kept ?? NO_CURRENT);
}

/** The most that it may draw by what it was told, and falls back to, W: what ends at no known time is awaited no longer than a lease. */
export function awaitedW(holding: Holding, nowMs: number): number {
  const { promises, failsafes, maxTenthsA } = holding as Entry;
  return wattsOn(holding, cappedAt(largerOf(failsafes, promises.mostAwaited(nowMs)), maxTenthsA));
}

/** The most that it may keep to for nobody knows how long, W, once it was waited for for a lease. */
export function unendingW(holding: Holding, nowMs: number): number {
  const { promises, maxTenthsA } = holding as Entry;
  return wattsOn(holding, cappedAt(promises.mostUnending(nowMs), maxTenthsA));
}

/** The grant that has not left yet is within what it was told before, as far as that lasts at `nowMs`. */
export function addsNothing(holding: Holding, nowMs: number): boolean {
  const entry = holding as Entry;
  const { waiting, told, promises } = entry;
  if (waiting === undefined) return true;
  const isOver = told?.promise !== undefined && promises.isOver(told.promise, nowMs);
  const lasting = lastingOn(isOver ? { ...entry, told: { ...told, promise: undefined } } : entry);
  return isWithin(lastingBy(waiting), lasting);
}

/** By when the lease of the newest grant that left has surely ended, settling left aside; minus infinity where none lasts. */
export function leaseEndMsOf(holding: Holding): number {
  return (holding as Entry).told?.promise?.endsAtMs ?? Number.NEGATIVE_INFINITY;
}

/** What that grant lets it draw on the phases that it is to use, tenths of an ampere. */
export function toldTenthsA(holding: Holding): number {
  const { told, usedPhases } = holding as Entry;
  return told === undefined ? 0 : mostOnFirst(lastingBy(told), usedPhases);
}

/** When it may be another answer, after `nowMs`, without any message; infinite where never. */
export function letsGoAtMs(holding: Holding, nowMs: number): number {
  return (holding as Entry).promises.nextAwaitedMs(nowMs);
}

/**
 * What it was told to fall back to, as the newest grant that left says, or what is known of it from before the first. What it says
 * it does by itself is none of that: it may say otherwise with its next word, and what it was told lasts.
 */
export function toldThenTenthsA(holding: Holding): number {
  const { told, lastSeq, keepsThen, failsafeTenthsA, usedPhases } = holding as Entry;
  if (told !== undefined) return mostOnFirst(told.fallsBackTo, usedPhases);
  return lastSeq === 0 && keepsThen ? failsafeTenthsA : 0;
}

/** What the others leave for one connector. */
interface RoomForGrant {
  readonly leftW: number;
  readonly carriableTenthsA: number;
  /** The floor of a lock needs no watts: it leaves whatever the budget. */
  readonly isLockFloor: boolean | undefined;
}

/** Why a grant that raises it to so much must not leave; undefined where it may. */
export function refusalOf(
  entry: Entry,
  mostTenthsA: number,
  { leftW, carriableTenthsA, isLockFloor = false }: RoomForGrant,
): string | undefined {
  const neededW = wattsBeside(entry, mostTenthsA);
  if (neededW > leftW && !isLockFloor) return `${neededW} W are more than the ${leftW} W that are left`;
  // A floor that it has already loads nothing more than before, nor does any that is reserved at its maximum.
  const hasTenthsA = entry.isWorstCase ? entry.maxTenthsA : hadTenthsA(entry);
  if (mostTenthsA <= carriableTenthsA || (isLockFloor && mostTenthsA <= hasTenthsA)) return undefined;
  return `${mostTenthsA} is more than the ${carriableTenthsA} its fuses carry`;
}

/** What is reserved for some beyond what they were granted, because they may not keep to that: W, and tenths of an ampere by pole. */
export class BeyondGrants {
  readonly #holdings = new Set<Holding>();
  #powerW = 0;
  readonly #tenthsAOfPole = new Map<number, number>();

  /** For most locations, at most times, that is nobody: all of them share one. */
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

  /** Before anything else is granted to it. False where it was not counted. */
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

/** Only who was counted before is left out and counted again, so nothing is ever added to it. */
const NOBODY = new BeyondGrants();
