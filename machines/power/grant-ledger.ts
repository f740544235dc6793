// Upper bound of each connector's entitlement, also after lost, late or duplicate messages (power-safety.md, rules
// 1-7).

import { type GrantTiming, longestLeaseMsOf, ttlMsOf } from './grant.js';
import type { Holding, HoldingSpec } from './holding.js';
import {
  boundWFrom,
  countBy,
  createEntry,
  type Entry,
  endBy,
  expectedW,
  forgo,
  lastingTenthsA,
  loadsFrom,
  promiseTo,
  type Restored,
  rate,
  recount,
  renew,
  restore,
  use,
  widen,
  wire,
} from './ledger-entry.js';
import { type BeyondGrants, refusalOf, tenthsWithinRoom } from './ledger-room.js';
import { ALL_PHASES, isWithin, NO_CURRENT, type OwnPhases, onFirst, type PhaseCount } from './own-phases.js';
import { PoleSums } from './pole-sums.js';

/** The decision is defective: a grant must not leave. No charger can cause this error. */
export class LedgerError extends Error {}

export interface NewGrant {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** Receipt time of the answered heartbeat. */
  readonly heardAtMs: number;
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
  readonly #poles = new PoleSums();
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
    return this.#poles.loadsTenthsA;
  }

  /** Changes the capacities of the same circuit phases. Existing loads stay. */
  limitPoles(capacitiesTenthsA: readonly number[]): void {
    this.#poles.limit(capacitiesTenthsA);
  }

  /** Replaces all circuit phases. No connector loads the new ones until `describe` assigns it to them. */
  rewire(capacitiesTenthsA: readonly number[]): void {
    this.#poles.replace(capacitiesTenthsA);
    for (const entry of this.#entries)
      wire(
        entry,
        Array.from({ length: entry.phases }, () => []),
      );
  }

  add(key: string, spec: HoldingSpec): Holding {
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
  boundWFrom(holding: Holding, atMs: number): number {
    return boundWFrom(holding as Entry, atMs);
  }

  /** Load per phase from `atMs` on without a new grant. Grants that end before that do not count. */
  loadsFrom(holding: Holding, atMs: number): OwnPhases {
    return loadsFrom(holding as Entry, atMs);
  }

  remove(holding: Holding): void {
    if (!this.#entries.delete(holding as Entry)) return;
    this.#totalW -= holding.boundW;
    this.#poles.move(holding, holding.loads, NO_CURRENT);
  }

  /** Changes voltage, lease, maximum, own fail-safe or circuit phases. `nowMs` is the time of the charger's report. */
  describe(holding: Holding, spec: Partial<HoldingSpec>, nowMs = Number.POSITIVE_INFINITY): void {
    const entry = holding as Entry;
    if (spec.maxTenthsA !== undefined) entry.maxTenthsA = spec.maxTenthsA;
    if (spec.polesOfPhases !== undefined) {
      const { milliwattsOnPhase } = entry;
      this.#poles.move(entry, entry.loads, NO_CURRENT);
      wire(entry, spec.polesOfPhases);
      rate(entry, milliwattsOnPhase * entry.phases);
      this.#poles.move(entry, NO_CURRENT, entry.loads);
    }
    if (spec.milliwattsPerTenth !== undefined) rate(entry, spec.milliwattsPerTenth);
    const isFirstWord = spec.keepsThen !== undefined && !entry.isDescribed;
    if (spec.lease !== undefined) countBy(entry, spec.lease, isFirstWord, nowMs);
    if (spec.ttlMs !== undefined) entry.ttlMs = spec.ttlMs;
    if (spec.keepsThen !== undefined) entry.keepsThen = spec.keepsThen;
    entry.isDescribed ||= spec.keepsThen !== undefined;
    if (spec.failsafeTenthsA !== undefined) {
      entry.saidFailsafeTenthsA = spec.failsafeTenthsA;
      // A charger that keeps `thenA` may have kept more than this ledger has recorded.
      if (entry.keepsThen) entry.fallbacks.raise(onFirst(spec.failsafeTenthsA, ALL_PHASES));
    }
    this.#rebound(entry);
  }

  /** The charger did not confirm in time that it keeps `thenA`, so its own fail-safe is reserved. */
  presumeForgetful(holding: Holding): void {
    const entry = holding as Entry;
    entry.keepsThen = false;
    this.#rebound(entry);
  }

  setWorstCase(holding: Holding, isWorstCase: boolean): void {
    const entry = holding as Entry;
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
  restarted(holding: Holding): void {
    const entry = holding as Entry;
    forgo(entry);
    if (entry.keepsThen) return;
    entry.fallbacks.raise(onFirst(entry.saidFailsafeTenthsA, ALL_PHASES));
    this.#rebound(entry);
  }

  /** Future grants are for the first `phases` phases. Earlier grants keep their phases. */
  useOn(holding: Holding, phases: PhaseCount): void {
    use(holding as Entry, phases);
  }

  /** The charger breaks the phase count of its grants, so every grant possibly in force counts on all phases. */
  widen(holding: Holding): void {
    const entry = holding as Entry;
    widen(entry);
    this.#rebound(entry);
  }

  /** Future grants get numbers above `seq`. */
  continueAfter(holding: Holding, seq: number): void {
    Object.assign(holding as Entry, { lastSeq: seq, ackedSeq: seq });
  }

  /**
   * Restores the reservation on disk at the service start. It may be in force from `nowMs` for settling time and lease
   * (`ttlMs` if known), on the first `phases` phases. Until the charger describes itself, the earlier owner's record of
   * `keepsThen` applies.
   */
  restore(holding: Holding, restored: Restored, nowMs: number): void {
    const entry = holding as Entry;
    restore(entry, restored, nowMs);
    this.#rebound(entry);
  }

  /** Lease length, ms, that from `nowMs` on covers all outstanding grants and every new one. */
  coveringTtlMs(holding: Holding, nowMs: number): number {
    const { promises, ttlMs } = holding as Entry;
    return Math.max(ttlMs, ttlMsOf(promises.latestEndMs - nowMs));
  }

  /**
   * Records the limit that the charger reports from a grant before the service start; 0 for none. The disk may hold
   * more.
   * @param on the certain part of the limit, if the grant may be for fewer phases than on disk
   */
  noteHeld(holding: Holding, tenthsA: number, on?: OwnPhases): void {
    const entry = holding as Entry;
    entry.heldTenthsA = tenthsA;
    entry.promises.doubt(tenthsA, on);
  }

  /** Records the charger's own limit while no grant of this service lasts, on its certain phases. */
  noteAt(holding: Holding, currents: OwnPhases): void {
    (holding as Entry).at = currents;
  }

  /** The highest possible grant now: the newest lasting grant, or the remaining capacity if that is more. */
  grantableTenthsA(holding: Holding, budgetW: number): number {
    const lasting = lastingTenthsA(holding as Entry);
    return Math.min(Math.max(lasting, this.fittingTenthsA(holding, budgetW)), holding.maxTenthsA);
  }

  /** Capacity that the others leave in the budget and on each circuit phase, regardless of outstanding grants. */
  fittingTenthsA(holding: Holding, budgetW: number): number {
    const roomW = budgetW - (this.#totalW - holding.boundW);
    return Math.min(tenthsWithinRoom(holding as Entry, roomW), this.carriableTenthsA(holding));
  }

  /**
   * Capacity that the others leave on the circuit phases of the used phases; `beyond` does not count. Infinite without
   * fuses.
   */
  carriableTenthsA(holding: Holding, beyond?: BeyondGrants): number {
    return this.#poles.leftFor(holding, beyond);
  }

  /**
   * Records a grant before it leaves and returns its `seq`.
   * @throws LedgerError if the sum of all bounds would exceed the budget or a circuit phase. Renewals and decreases are
   * exempt (rule 2).
   */
  grant(holding: Holding, grant: NewGrant): number {
    const { limitTenthsA, thenTenthsA, heardAtMs, ttlMs, budgetW, isLockFloor, isWaiting } = grant;
    const entry = holding as Entry;
    const phases = entry.usedPhases;
    const promised = { seq: entry.lastSeq + 1, limitTenthsA, phases, fromMs: heardAtMs, ttlMs, isWaiting };
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
    const given = { seq, promise: promiseTo(entry, promised), fallsBackTo: onFirst(thenTenthsA, phases) };
    if (isWaiting !== true) entry.told = given;
    entry.waiting = isWaiting === true ? given : undefined;
    entry.fallbacks.add(seq, thenTenthsA, phases);
    entry.at = NO_CURRENT;
    this.#rebound(entry);
    return seq;
  }

  /** The pending grant `seq` has left. */
  noteLeft(holding: Holding, seq: number): void {
    const entry = holding as Entry;
    if (entry.waiting?.seq !== seq) return;
    const { promise } = entry.waiting;
    if (promise !== undefined) promise.sure = onFirst(promise.limitTenthsA, promise.phases);
    entry.told = entry.waiting;
    entry.waiting = undefined;
  }

  /** The charger keeps to grant `seq`, as of `nowMs`. True if that releases a larger entitlement. */
  acknowledge(holding: Holding, seq: number, nowMs: number): boolean {
    const entry = holding as Entry;
    if (seq <= entry.ackedSeq || seq > entry.lastSeq) return false;
    entry.ackedSeq = seq;
    const isReleased = entry.promises.acknowledge(seq, nowMs);
    // Without an anchor, the lease began at the latest with its acknowledgement. That end applies once the charger
    // keeps leases.
    if (entry.promises.isEndless) endBy(entry, seq, nowMs + longestLeaseMsOf(entry));
    // The earlier current takes the settling time to end.
    const left = entry.fallbacks.acknowledge(seq);
    // An outstanding grant counts in full until its end, so no bound changes yet.
    if (isWithin(left, NO_CURRENT)) return isReleased;
    entry.promises.leave(left, nowMs);
    this.#rebound(entry);
    return true;
  }

  /** Earlier limits may outlast their leases until the charger acknowledges a newer one. */
  openEnd(holding: Holding): void {
    (holding as Entry).promises.openEnds();
  }

  /** Releases all grants that can no longer be in force. True if a bound fell. */
  release(nowMs: number): boolean {
    let fell = false;
    for (const entry of this.#entries) {
      const { told, promises } = entry;
      if (told?.promise !== undefined && promises.isOver(told.promise, nowMs)) told.promise = undefined;
      if (!promises.release(nowMs)) continue;
      const beforeW = entry.boundW;
      this.#rebound(entry);
      fell ||= entry.boundW < beforeW;
    }
    return fell;
  }

  /** Next time at which `release` changes this connector; undefined if time alone changes nothing. */
  nextReleaseAtMs(holding: Holding): number | undefined {
    const { nextEndMs } = (holding as Entry).promises;
    return nextEndMs === Number.POSITIVE_INFINITY ? undefined : nextEndMs;
  }

  #rebound(entry: Entry): void {
    const { boundW: beforeW, loads: before } = entry;
    recount(entry, this.#reservesOwn);
    this.#totalW += entry.boundW - beforeW;
    this.#poles.move(entry, before, entry.loads);
  }
}
