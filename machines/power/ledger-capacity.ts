// Power that a grant needs in a ledger: its own, and that of older grants on phases that it does not cover.
import type { LedgerAccount } from './ledger-account.js';
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
  return smallerOf(entry.bounds, largerOf(lastingOn(entry), entry.outstanding.sure));
}

/**
 * Highest limit or fallback on any phase by grant `fromSeq` and later ones. Grant 1 is the first since the service
 * start, so rows from disk do not count. For a non-compliant connector that row is its maximum, which was reserved and
 * never granted.
 */
export function grantedSinceTenthsA(account: LedgerAccount, fromSeq = 1): number {
  const { outstanding, failsafes, maxTenthsA } = account as Entry;
  const [mostTenthsA] = largerOf(failsafes, outstanding.mostSince(fromSeq));
  return Math.min(mostTenthsA, maxTenthsA);
}

/** Number of phases that grants are for, at most the connector's own. */
function grantedPhasesOf({ usedPhases, phases }: LedgerAccount): PhaseCount {
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
export function leastBesideW(account: LedgerAccount): number {
  const { bounds, leastTenthsA } = account;
  const least = onFirst(leastTenthsA, grantedPhasesOf(account));
  return wattsOn(account, isWithin(least, bounds) ? least : largerOf(bounds, least));
}

/** Highest grant within `roomW` on the used phases, tenths of an ampere. */
export function tenthsWithin(entry: Entry, roomW: number): number {
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
export function isWithoutGrant(account: LedgerAccount): boolean {
  const { sent, pendingPersistence } = account as Entry;
  return pendingPersistence === undefined && sent?.outstandingGrant === undefined;
}

/** No sent grant of this service lasts. A withdrawn grant never left, so it does not change the charger's own limit. */
export function isWithoutSentGrant(account: LedgerAccount): boolean {
  return (account as Entry).sent?.outstandingGrant === undefined;
}

/**
 * The charger's own limit on all used phases while no grant of this service lasts, else 0. A grant within it adds no
 * load.
 */
export function hadTenthsA(account: LedgerAccount): number {
  const { bounds, at } = account as Entry;
  return isWithoutGrant(account) ? mostOnFirst(smallerOf(bounds, at), grantedPhasesOf(account)) : 0;
}

/**
 * Outstanding grants may still allow more than the newest grant and its fallback. The newest one counts up to
 * `mostTenthsA`.
 */
export function mayDrawBeyond(account: LedgerAccount, mostTenthsA: number, nowMs: number): boolean {
  const { outstanding, maxTenthsA, sent, pendingPersistence } = account as Entry;
  const newest = pendingPersistence ?? sent;
  const kept = newest && largerOf(newest.fallsBackTo, cappedAt(lastingBy(newest), mostTenthsA));
  return !isWithin(cappedAt(outstanding.mostAwaited(nowMs), maxTenthsA), kept ?? NO_CURRENT);
}

/**
 * Highest draw by outstanding grants and fallback, W. A grant without a known end counts for no longer than a lease.
 */
export function awaitedW(account: LedgerAccount, nowMs: number): number {
  const { outstanding, failsafes, maxTenthsA } = account as Entry;
  return wattsOn(account, cappedAt(largerOf(failsafes, outstanding.mostAwaited(nowMs)), maxTenthsA));
}

/** Highest limit without a known end that has outlasted a lease, W. */
export function unendingW(account: LedgerAccount, nowMs: number): number {
  const { outstanding, maxTenthsA } = account as Entry;
  return wattsOn(account, cappedAt(outstanding.mostUnending(nowMs), maxTenthsA));
}

/** The pending grant is within the sent one, as far as that lasts at `nowMs`. */
export function addsNothing(account: LedgerAccount, nowMs: number): boolean {
  const entry = account as Entry;
  const { pendingPersistence, sent, outstanding } = entry;
  if (pendingPersistence === undefined) return true;
  const isOver = sent?.outstandingGrant !== undefined && outstanding.isOver(sent.outstandingGrant, nowMs);
  const lasting = lastingOn(isOver ? { ...entry, sent: { ...sent, outstandingGrant: undefined } } : entry);
  return isWithin(lastingBy(pendingPersistence), lasting);
}

/** Latest end of the newest sent grant's lease, without settling time; minus infinity if none lasts. */
export function leaseEndMsOf(account: LedgerAccount): number {
  return (account as Entry).sent?.outstandingGrant?.endsAtMs ?? Number.NEGATIVE_INFINITY;
}

/** Entitlement by the newest sent grant on the used phases, tenths of an ampere. */
export function grantedTenthsA(account: LedgerAccount): number {
  const { sent, usedPhases } = account as Entry;
  return sent === undefined ? 0 : mostOnFirst(lastingBy(sent), usedPhases);
}

/**
 * Next time after `nowMs` at which `awaitedW`, `unendingW` or `mayDrawBeyond` may change without a message; infinite if
 * never.
 */
export function nextReleaseByTimeMs(account: LedgerAccount, nowMs: number): number {
  return (account as Entry).outstanding.nextAwaitedMs(nowMs);
}

/**
 * Fallback by the newest sent grant, or by the row on disk before the first grant. The charger's own reported fail-safe
 * does not count: its next report may differ, while a sent fallback lasts.
 */
export function grantedThenTenthsA(account: LedgerAccount): number {
  const { sent, lastSeq, keepsThen, failsafeTenthsA, usedPhases } = account as Entry;
  if (sent !== undefined) return mostOnFirst(sent.fallsBackTo, usedPhases);
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

/** Tenths of an ampere by circuit phase. */
export interface CircuitLoads {
  tenthsAOf(circuitPhase: number): number;
}

/** Excess of reservations over grants for connectors that may not obey: W, and tenths of an ampere by circuit phase. */
export class BeyondGrants implements CircuitLoads {
  readonly #accounts = new Set<LedgerAccount>();
  #powerW = 0;
  readonly #tenthsAOfCircuitPhase = new Map<number, number>();

  /** Most locations have no such connector and share one empty object. */
  static of(accounts: readonly LedgerAccount[]): BeyondGrants {
    if (accounts.length === 0) return NOBODY;
    const beyond = new BeyondGrants();
    for (const account of accounts) beyond.count(account);
    return beyond;
  }

  get powerW(): number {
    return this.#powerW;
  }

  tenthsAOf(circuitPhase: number): number {
    return this.#tenthsAOfCircuitPhase.get(circuitPhase) ?? 0;
  }

  count(account: LedgerAccount): void {
    this.#accounts.add(account);
    this.#add(account, 1);
  }

  /** Call this before a new grant to the connector. False if it was not counted. */
  leaveOut(account: LedgerAccount): boolean {
    if (!this.#accounts.delete(account)) return false;
    this.#add(account, -1);
    return true;
  }

  #add(account: LedgerAccount, sign: 1 | -1): void {
    const entry = account as Entry;
    const { boundW, entitled, loads, allCircuitPhases } = entry;
    this.#powerW += sign * (boundW - wattsOn(entry, entitled));
    const granted = largerOf(entitled, leastLoadOf(entry));
    for (const { circuitPhase, phase } of allCircuitPhases) {
      const beyondTenthsA = (loads[phase] ?? 0) - (granted[phase] ?? 0);
      this.#tenthsAOfCircuitPhase.set(circuitPhase, this.tenthsAOf(circuitPhase) + sign * beyondTenthsA);
    }
  }
}

/** Only counted connectors are left out and counted again, so this shared object stays empty. */
const NOBODY = new BeyondGrants();
