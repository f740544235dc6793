// Upper bound of each connector's entitlement, also after lost, late or duplicate messages (power-safety.md, rules
// 1-7).

import { type GrantTiming, longestLeaseMsOf, ttlMsOf } from './grant.js';
import type { AccountSpec, LedgerAccount } from './ledger-account.js';
import { type CircuitLoads, refusalOf, tenthsWithin } from './ledger-capacity.js';
import {
  addOutstandingGrant,
  boundWFrom,
  countBy,
  createEntry,
  type Entry,
  endBy,
  expectedW,
  forgo,
  lastingTenthsA,
  loadsFrom,
  type Restored,
  rate,
  recount,
  renew,
  restore,
  use,
  widen,
  wire,
} from './ledger-entry.js';
import { ALL_PHASES, isWithin, NO_CURRENT, type OwnPhases, onFirst, type PhaseCount } from './own-phases.js';

// Sums of the possible connector loads per circuit phase, and the capacities. Tenths of an ampere.
class CircuitPhaseSums {
  loadsTenthsA: number[] = [];
  #capacitiesTenthsA: readonly number[] = [];

  /** Changes the capacities of the same circuit phases. */
  limit(capacitiesTenthsA: readonly number[]): void {
    this.#capacitiesTenthsA = capacitiesTenthsA;
  }

  /** Replaces the circuit phases; the new ones have no load. */
  replace(capacitiesTenthsA: readonly number[]): void {
    this.limit(capacitiesTenthsA);
    this.loadsTenthsA = capacitiesTenthsA.map(() => 0);
  }

  /** Replaces a connector's currents `from` by `to`. */
  move({ allCircuitPhases }: LedgerAccount, from: OwnPhases, to: OwnPhases): void {
    for (const { circuitPhase, phase } of allCircuitPhases)
      this.loadsTenthsA[circuitPhase] =
        (this.loadsTenthsA[circuitPhase] ?? 0) + (to[phase] ?? 0) - (from[phase] ?? 0);
  }

  /**
   * Capacity that the others leave on all circuit phases of the used phases; infinite without any.
   * @param uncounted part of the others' reservations that does not count
   */
  leftFor({ allCircuitPhases, loads, usedPhases }: LedgerAccount, uncounted?: CircuitLoads): number {
    let leastTenthsA = Number.POSITIVE_INFINITY;
    for (const { circuitPhase, phase } of allCircuitPhases) {
      if (phase >= usedPhases) continue;
      const countedTenthsA =
        (this.loadsTenthsA[circuitPhase] ?? 0) - (uncounted?.tenthsAOf(circuitPhase) ?? 0);
      const othersTenthsA = countedTenthsA - (loads[phase] ?? 0);
      leastTenthsA = Math.min(leastTenthsA, (this.#capacitiesTenthsA[circuitPhase] ?? 0) - othersTenthsA);
    }
    return Math.max(0, leastTenthsA);
  }
}

/** The decision is defective: a grant must not leave. No charger can cause this error. */
export class LedgerError extends Error {}

export interface NewGrant {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** Receipt time of the answered heartbeat. */
  readonly receivedAtMs: number;
  /** Lease length on an accurate clock; if omitted, the connector's own. It never exceeds that. */
  readonly ttlMs?: number | undefined;
  readonly budgetW: number;
  /**
   * The grant is the 6 A floor of a lock. It ignores the budget but never overloads a fuse (power-safety.md, "Who gets
   * how much", 4).
   */
  readonly isLockFloor?: boolean;
  /** The grant leaves only with a `noteLeft` call. */
  readonly isWaiting?: boolean;
}

/** Ledger of one location's connectors. Times of one monotonic clock, ms. */
export class GrantLedger {
  readonly #entries = new Set<Entry>();
  readonly #timing: GrantTiming;
  #totalW = 0;
  readonly #circuitPhases = new CircuitPhaseSums();
  #reservesOwn = true;

  constructor(timing: GrantTiming) {
    this.#timing = timing;
  }

  /** Sum of all bounds, W. */
  get totalW(): number {
    return this.#totalW;
  }

  /** Possible load of each circuit phase, tenths of an ampere. */
  get loadsTenthsA(): readonly number[] {
    return this.#circuitPhases.loadsTenthsA;
  }

  /** Changes the capacities of the same circuit phases. Existing loads stay. */
  limitCircuitPhases(capacitiesTenthsA: readonly number[]): void {
    this.#circuitPhases.limit(capacitiesTenthsA);
  }

  /** Replaces all circuit phases. No connector loads the new ones until `describe` assigns it to them. */
  rewire(capacitiesTenthsA: readonly number[]): void {
    this.#circuitPhases.replace(capacitiesTenthsA);
    for (const entry of this.#entries)
      wire(
        entry,
        Array.from({ length: entry.phases }, () => []),
      );
  }

  add(key: string, spec: AccountSpec): LedgerAccount {
    const entry = createEntry(key, spec, this.#timing);
    this.#entries.add(entry);
    this.#rebound(entry);
    return entry;
  }

  /** Total after all expiring grants and the reservations from disk have ended, W. */
  lastingW(): number {
    let sumW = 0;
    for (const entry of this.#entries) sumW += expectedW(entry);
    return sumW;
  }

  /** Bound from `atMs` on without a new grant, W. Grants that end before that do not count. */
  boundWFrom(account: LedgerAccount, atMs: number): number {
    return boundWFrom(account as Entry, atMs);
  }

  /** Load per phase from `atMs` on without a new grant. Grants that end before that do not count. */
  loadsFrom(account: LedgerAccount, atMs: number): OwnPhases {
    return loadsFrom(account as Entry, atMs);
  }

  remove(account: LedgerAccount): void {
    if (!this.#entries.delete(account as Entry)) return;
    this.#totalW -= account.boundW;
    this.#circuitPhases.move(account, account.loads, NO_CURRENT);
  }

  /** Changes voltage, lease, maximum, own fail-safe or circuit phases. `nowMs` is the time of the charger's report. */
  describe(account: LedgerAccount, spec: Partial<AccountSpec>, nowMs = Number.POSITIVE_INFINITY): void {
    const entry = account as Entry;
    if (spec.maxTenthsA !== undefined) entry.maxTenthsA = spec.maxTenthsA;
    if (spec.circuitPhasesOfPhases !== undefined) {
      const { milliwattsOnPhase } = entry;
      this.#circuitPhases.move(entry, entry.loads, NO_CURRENT);
      wire(entry, spec.circuitPhasesOfPhases);
      rate(entry, milliwattsOnPhase * entry.phases);
      this.#circuitPhases.move(entry, NO_CURRENT, entry.loads);
    }
    if (spec.milliwattsPerTenth !== undefined) rate(entry, spec.milliwattsPerTenth);
    const isFirstWord = spec.keepsThen !== undefined && !entry.isDescribed;
    if (spec.lease !== undefined) countBy(entry, spec.lease, isFirstWord, nowMs);
    if (spec.ttlMs !== undefined) entry.ttlMs = spec.ttlMs;
    if (spec.keepsThen !== undefined) entry.keepsThen = spec.keepsThen;
    entry.isDescribed ||= spec.keepsThen !== undefined;
    if (spec.failsafeTenthsA !== undefined) {
      entry.reportedFailsafeTenthsA = spec.failsafeTenthsA;
      // A charger that keeps `thenA` may have kept more than this ledger has recorded.
      if (entry.keepsThen) entry.fallbacks.raise(onFirst(spec.failsafeTenthsA, ALL_PHASES));
    }
    this.#rebound(entry);
  }

  /** The charger did not confirm in time that it keeps `thenA`, so its own fail-safe is reserved. */
  reserveOwnFailsafe(account: LedgerAccount): void {
    const entry = account as Entry;
    entry.keepsThen = false;
    this.#rebound(entry);
  }

  setWorstCase(account: LedgerAccount, isWorstCase: boolean): void {
    const entry = account as Entry;
    entry.isWorstCase = isWorstCase;
    this.#rebound(entry);
  }

  /**
   * Sets the budget's treatment of chargers that keep nothing over a restart. If true, their own fail-safes are
   * reserved. If false, only the granted fallback counts, and after a restart the reported limit until a grant is
   * taken. Fuses have capacity for these fail-safes in both cases.
   */
  reserveOwnFailsafes(isReserved: boolean): void {
    if (isReserved === this.#reservesOwn) return;
    this.#reservesOwn = isReserved;
    for (const entry of this.#entries) this.#rebound(entry);
  }

  /**
   * The charger restarted and holds no grant. A charger that keeps nothing is at its own fail-safe until it takes a
   * grant.
   */
  restarted(account: LedgerAccount): void {
    const entry = account as Entry;
    forgo(entry);
    if (entry.keepsThen) return;
    entry.fallbacks.raise(onFirst(entry.reportedFailsafeTenthsA, ALL_PHASES));
    this.#rebound(entry);
  }

  /** Future grants are for the first `phases` phases. Earlier grants keep their phases. */
  useOn(account: LedgerAccount, phases: PhaseCount): void {
    use(account as Entry, phases);
  }

  /** The charger breaks the phase count of its grants, so every grant possibly in force counts on all phases. */
  widen(account: LedgerAccount): void {
    const entry = account as Entry;
    widen(entry);
    this.#rebound(entry);
  }

  /** Future grants get numbers above `seq`. */
  continueAfter(account: LedgerAccount, seq: number): void {
    Object.assign(account as Entry, { lastSeq: seq, ackedSeq: seq });
  }

  /**
   * Restores the reservation on disk at the service start. It may be in force from `nowMs` for settling time and lease
   * (`ttlMs` if known), on the first `phases` phases. Until the charger describes itself, the earlier owner's record of
   * `keepsThen` applies.
   */
  restore(account: LedgerAccount, restored: Restored, nowMs: number): void {
    const entry = account as Entry;
    restore(entry, restored, nowMs);
    this.#rebound(entry);
  }

  /** Lease length, ms, that from `nowMs` on covers all outstanding grants and every new one. */
  coveringTtlMs(account: LedgerAccount, nowMs: number): number {
    const { outstanding, ttlMs } = account as Entry;
    return Math.max(ttlMs, ttlMsOf(outstanding.latestEndMs - nowMs));
  }

  /**
   * Records the limit that the charger reports from a grant before the service start; 0 for none. The disk may hold
   * more.
   * @param on the certain part of the limit, if the grant may be for fewer phases than on disk
   */
  noteHeld(account: LedgerAccount, tenthsA: number, on?: OwnPhases): void {
    const entry = account as Entry;
    entry.heldTenthsA = tenthsA;
    entry.outstanding.doubt(tenthsA, on);
  }

  /** Records the charger's own limit while no grant of this service lasts, on its certain phases. */
  noteAt(account: LedgerAccount, currents: OwnPhases): void {
    (account as Entry).at = currents;
  }

  /**
   * The highest possible grant now: the newest lasting grant, or the remaining capacity if that is more.
   * @param uncounted as in `fittingTenthsA`
   */
  grantableTenthsA(account: LedgerAccount, budgetW: number, uncounted?: CircuitLoads): number {
    const lasting = lastingTenthsA(account as Entry);
    return Math.min(Math.max(lasting, this.fittingTenthsA(account, budgetW, uncounted)), account.maxTenthsA);
  }

  /**
   * Capacity that the others leave in the budget and on each circuit phase, regardless of outstanding grants.
   * @param uncounted part of the others' loads that does not count
   */
  fittingTenthsA(account: LedgerAccount, budgetW: number, uncounted?: CircuitLoads): number {
    const roomW = budgetW - (this.#totalW - account.boundW);
    return Math.min(tenthsWithin(account as Entry, roomW), this.carriableTenthsA(account, uncounted));
  }

  /**
   * Capacity that the others leave on the circuit phases of the used phases; `uncounted` does not count. Infinite without
   * fuses.
   */
  carriableTenthsA(account: LedgerAccount, uncounted?: CircuitLoads): number {
    return this.#circuitPhases.leftFor(account, uncounted);
  }

  /**
   * Records a grant before it leaves and returns its `seq`.
   * @throws LedgerError if the sum of all bounds would exceed the budget or a circuit phase. Renewals and decreases are
   * exempt (rule 2).
   */
  grant(account: LedgerAccount, grant: NewGrant): number {
    const { limitTenthsA, thenTenthsA, receivedAtMs, ttlMs, budgetW, isLockFloor, isWaiting } = grant;
    const entry = account as Entry;
    const phases = entry.usedPhases;
    const promised = { seq: entry.lastSeq + 1, limitTenthsA, phases, fromMs: receivedAtMs, ttlMs, isWaiting };
    const mostTenthsA = Math.max(limitTenthsA, thenTenthsA);
    // A renewal needs no check and changes no bound.
    const isWithinMaximum = mostTenthsA <= entry.maxTenthsA;
    if (isWaiting !== true && isWithinMaximum && renew(entry, promised, thenTenthsA)) return ++entry.lastSeq;
    const room = {
      leftW: budgetW - this.#totalW + entry.boundW,
      carriableTenthsA: this.carriableTenthsA(entry),
    };
    const isMore = mostTenthsA > lastingTenthsA(entry);
    const refusal = isMore ? refusalOf(entry, mostTenthsA, { ...room, isLockFloor }) : undefined;
    if (refusal !== undefined) throw new LedgerError(`${entry.key}: ${refusal}`);
    if (limitTenthsA < 0 || !isWithinMaximum)
      throw new LedgerError(`${entry.key}: ${mostTenthsA} is outside 0 to ${entry.maxTenthsA} tenths of A`);
    const seq = ++entry.lastSeq;
    const given = {
      seq,
      outstandingGrant: addOutstandingGrant(entry, promised),
      fallsBackTo: onFirst(thenTenthsA, phases),
    };
    if (isWaiting !== true) entry.sent = given;
    entry.pendingPersistence = isWaiting === true ? given : undefined;
    entry.fallbacks.add(seq, thenTenthsA, phases);
    entry.at = NO_CURRENT;
    this.#rebound(entry);
    return seq;
  }

  /** The pending grant `seq` has left. */
  noteLeft(account: LedgerAccount, seq: number): void {
    const entry = account as Entry;
    if (entry.pendingPersistence?.seq !== seq) return;
    const { outstandingGrant } = entry.pendingPersistence;
    if (outstandingGrant !== undefined)
      outstandingGrant.sure = onFirst(outstandingGrant.limitTenthsA, outstandingGrant.phases);
    entry.sent = entry.pendingPersistence;
    entry.pendingPersistence = undefined;
  }

  /** The charger keeps to grant `seq`, as of `nowMs`. True if that releases a larger entitlement. */
  acknowledge(account: LedgerAccount, seq: number, nowMs: number): boolean {
    const entry = account as Entry;
    if (seq <= entry.ackedSeq || seq > entry.lastSeq) return false;
    entry.ackedSeq = seq;
    const isReleased = entry.outstanding.acknowledge(seq, nowMs);
    // Without an anchor, the lease began at the latest with its acknowledgement. That end applies once the charger
    // keeps leases.
    if (entry.outstanding.isEndless) endBy(entry, seq, nowMs + longestLeaseMsOf(entry));
    // The earlier current takes the settling time to end.
    const left = entry.fallbacks.acknowledge(seq);
    // An outstanding grant counts in full until its end, so no bound changes yet.
    if (isWithin(left, NO_CURRENT)) return isReleased;
    entry.outstanding.leave(left, nowMs);
    this.#rebound(entry);
    return true;
  }

  /** Earlier limits may outlast their leases until the charger acknowledges a newer one. */
  openEnd(account: LedgerAccount): void {
    (account as Entry).outstanding.openEnds();
  }

  /** Releases all grants that can no longer be in force. True if a bound fell. */
  release(nowMs: number): boolean {
    let fell = false;
    for (const entry of this.#entries) {
      const { sent, outstanding } = entry;
      if (sent?.outstandingGrant !== undefined && outstanding.isOver(sent.outstandingGrant, nowMs))
        sent.outstandingGrant = undefined;
      if (!outstanding.release(nowMs)) continue;
      const beforeW = entry.boundW;
      this.#rebound(entry);
      fell ||= entry.boundW < beforeW;
    }
    return fell;
  }

  /** Next time at which `release` changes this connector; undefined if time alone changes nothing. */
  nextReleaseAtMs(account: LedgerAccount): number | undefined {
    const { nextEndMs } = (account as Entry).outstanding;
    return nextEndMs === Number.POSITIVE_INFINITY ? undefined : nextEndMs;
  }

  #rebound(entry: Entry): void {
    const { boundW: beforeW, loads: before } = entry;
    recount(entry, this.#reservesOwn);
    this.#totalW += entry.boundW - beforeW;
    this.#circuitPhases.move(entry, before, entry.loads);
  }
}
