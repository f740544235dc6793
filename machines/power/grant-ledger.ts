// What each charger of a location may be entitled to draw at most, whatever was lost, late or doubled (power safety, rules 1-7).

import { MINIMUM_TENTHS_A, wattsOfTenths } from '../values/units.js';
import type { Writable } from '../values/writable.js';
import { type GrantTiming, type LeaseKind, longestLeaseMsOf, ttlMsOf } from './grant.js';
import type { Holding, HoldingSpec } from './holding.js';
import { Fallbacks, Promises } from './promises.js';

/** A holding as the ledger itself writes it. */
interface Entry extends Writable<Holding> {
  readonly promises: Promises;
  /** Of the newest grant. What its charger says of itself may be older. */
  toldThenTenthsA: number;
  /** What its charger holds by a grant from before the start; counts until the first grant. */
  heldTenthsA: number;
  fallbacks: Fallbacks;
}

/** A grant that must not leave: a defect in the decision, never a charger's fault. */
export class LedgerError extends Error {}

export interface NewGrant {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** When the heartbeat it answers was received. */
  readonly heardAtMs: number;
  readonly budgetW: number;
  /** The 6 A floor of a lock: it leaves whatever the budget, but overloads no fuse (who gets how much, 4). */
  readonly isLockFloor?: boolean;
}

/** The ledger of one location's connectors. All times are of one monotonic clock, in ms. */
export class GrantLedger {
  readonly #entries = new Set<Entry>();
  readonly #timing: GrantTiming;
  #totalW = 0;
  #loadsTenthsA: number[] = [];
  #capacitiesTenthsA: readonly number[] = [];
  #reservesOwn = true;

  constructor(timing: GrantTiming) {
    this.#timing = timing;
  }

  /** Sum of all bounds, W. */
  get totalW(): number {
    return this.#totalW;
  }

  /** What each pole may have to carry, tenths of an ampere. */
  get loadsTenthsA(): readonly number[] {
    return this.#loadsTenthsA;
  }

  /** The same poles can carry more or less from here on; what is known loads them as before. */
  limitPoles(capacitiesTenthsA: readonly number[]): void {
    this.#capacitiesTenthsA = capacitiesTenthsA;
  }

  /** What each pole can carry from here on. What is known loads none of them until it is described again. */
  rewire(capacitiesTenthsA: readonly number[]): void {
    this.limitPoles(capacitiesTenthsA);
    this.#loadsTenthsA = capacitiesTenthsA.map(() => 0);
    for (const entry of this.#entries) entry.poles = [];
  }

  add(key: string, spec: HoldingSpec): Holding {
    const entry: Entry = {
      key,
      maxTenthsA: spec.maxTenthsA,
      milliwattsPerTenth: spec.milliwattsPerTenth,
      leastTenthsA: spec.leastTenthsA ?? MINIMUM_TENTHS_A,
      lease: spec.lease,
      ttlMs: spec.ttlMs ?? this.#timing.ttlMs,
      keepsThen: spec.keepsThen,
      poles: spec.poles ?? [],
      isWorstCase: false,
      loadTenthsA: 0,
      boundTenthsA: 0,
      entitledTenthsA: 0,
      boundW: 0,
      failsafeTenthsA: 0,
      lastSeq: 0,
      ackedSeq: 0,
      ownFailsafeTenthsA: 0,
      saidFailsafeTenthsA: spec.failsafeTenthsA,
      promises: new Promises(this.#timing.settleMs),
      toldThenTenthsA: 0,
      heldTenthsA: 0,
      isDescribed: false,
      fallbacks: new Fallbacks(spec.failsafeTenthsA),
    };
    this.#entries.add(entry);
    this.#rebound(entry);
    return entry;
  }

  /** What of the total remains when all that is on its way out has ended, and what was on disk at the start, W. */
  lastingW(): number {
    let sumW = 0;
    for (const entry of this.#entries)
      sumW += wattsOfTenths(this.#expectedTenthsA(entry), entry.milliwattsPerTenth);
    return sumW;
  }

  remove(holding: Holding): void {
    if (!this.#entries.delete(holding as Entry)) return;
    this.#totalW -= holding.boundW;
    this.#load(holding, -holding.loadTenthsA);
  }

  /** Another voltage, lease, maximum or fail-safe of its own, or other poles. */
  describe(holding: Holding, spec: Partial<HoldingSpec>): void {
    const entry = holding as Entry;
    if (spec.maxTenthsA !== undefined) entry.maxTenthsA = spec.maxTenthsA;
    if (spec.milliwattsPerTenth !== undefined) entry.milliwattsPerTenth = spec.milliwattsPerTenth;
    if (spec.poles !== undefined) {
      this.#load(entry, -entry.loadTenthsA);
      entry.poles = spec.poles;
      this.#load(entry, entry.loadTenthsA);
    }
    const isFirstWord = spec.keepsThen !== undefined && !entry.isDescribed;
    if (spec.lease !== undefined) this.#countBy(entry, spec.lease, isFirstWord);
    if (spec.ttlMs !== undefined) entry.ttlMs = spec.ttlMs;
    if (spec.keepsThen !== undefined) entry.keepsThen = spec.keepsThen;
    entry.isDescribed ||= spec.keepsThen !== undefined;
    if (spec.failsafeTenthsA !== undefined) {
      entry.saidFailsafeTenthsA = spec.failsafeTenthsA;
      // A charger that keeps what grants say may still have kept more than is known here.
      if (entry.keepsThen) entry.fallbacks.raise(spec.failsafeTenthsA);
    }
    this.#rebound(entry);
  }

  setWorstCase(holding: Holding, isWorstCase: boolean): void {
    const entry = holding as Entry;
    entry.isWorstCase = isWorstCase;
    this.#rebound(entry);
  }

  /**
   * Whether the budget reserves fail-safes of chargers that keep nothing over a restart; else only what they were told to
   * fall back to is, and after a restart what they are at until they take a grant. Fuses have room for them always.
   */
  reserveOwnFailsafes(isReserved: boolean): void {
    if (isReserved === this.#reservesOwn) return;
    this.#reservesOwn = isReserved;
    for (const entry of this.#entries) this.#rebound(entry);
  }

  /** The charger started anew: one that keeps nothing is at its own fail-safe until it takes a grant. */
  restarted(holding: Holding): void {
    const entry = holding as Entry;
    if (entry.keepsThen) return;
    entry.fallbacks.raise(entry.saidFailsafeTenthsA);
    this.#rebound(entry);
  }

  /** Numbers its grants on from `seq`. */
  continueAfter(holding: Holding, seq: number): void {
    const entry = holding as Entry;
    entry.lastSeq = seq;
    entry.ackedSeq = seq;
  }

  /**
   * What was on disk at the start: it may be in force from `nowMs` for settling and a lease, of `ttlMs` where it is known. Until
   * its charger speaks for itself, it is taken to keep over a restart what it kept for the owner before.
   */
  restore(holding: Holding, limitTenthsA: number, thenTenthsA: number, nowMs: number, ttlMs?: number): void {
    const entry = holding as Entry;
    this.#promise(entry, 0, limitTenthsA, nowMs, ttlMs);
    // It may hold that still, until it says otherwise: nothing is granted before it is heard of.
    entry.heldTenthsA = limitTenthsA;
    // Less than its own fail-safe was reserved only if its charger had said that it keeps to what it is told.
    const isLess = Math.max(limitTenthsA, thenTenthsA) < entry.saidFailsafeTenthsA;
    if (isLess && !entry.isDescribed) entry.keepsThen = true;
    entry.fallbacks = new Fallbacks(thenTenthsA);
    this.#rebound(entry);
  }

  /** The length of a lease, ms, that from `nowMs` on outlasts all it was promised, and all it can be promised now. */
  coveringTtlMs(holding: Holding, nowMs: number): number {
    const { promises, ttlMs } = holding as Entry;
    return Math.max(ttlMs, ttlMsOf(promises.latestEndMs - nowMs));
  }

  /** Its charger says that it holds so much by a grant from before the start; 0 where by none. */
  noteHeld(holding: Holding, tenthsA: number): void {
    (holding as Entry).heldTenthsA = tenthsA;
  }

  /**
   * The most that can be granted now: what its newest grant lasts at anyway, or what the others leave of the budget and
   * of every pole it may load.
   */
  grantableTenthsA(holding: Holding, budgetW: number): number {
    const roomW = budgetW - (this.#totalW - holding.boundW);
    const withinW = Math.floor((Math.max(0, roomW) * 1000) / holding.milliwattsPerTenth);
    const fitting = Math.min(withinW, this.carriableTenthsA(holding));
    return Math.min(Math.max(this.#lastingTenthsA(holding as Entry), fitting), holding.maxTenthsA);
  }

  /** What the others leave of every pole it may load; infinite where it loads none. */
  carriableTenthsA(holding: Holding): number {
    let leastTenthsA = Number.POSITIVE_INFINITY;
    for (const pole of holding.poles) {
      const othersTenthsA = (this.#loadsTenthsA[pole] ?? 0) - holding.loadTenthsA;
      leastTenthsA = Math.min(leastTenthsA, (this.#capacitiesTenthsA[pole] ?? 0) - othersTenthsA);
    }
    return Math.max(0, leastTenthsA);
  }

  /**
   * Records a grant before it leaves and gives its `seq`.
   * @throws LedgerError where the sum of all bounds would be above the budget or what a pole can carry, and the grant is no
   * renewal or decrease (rule 2).
   */
  grant(holding: Holding, { limitTenthsA, thenTenthsA, heardAtMs, budgetW, isLockFloor }: NewGrant): number {
    const entry = holding as Entry;
    const mostTenthsA = Math.max(limitTenthsA, thenTenthsA);
    if (mostTenthsA > this.#lastingTenthsA(entry)) {
      const sumW = this.#totalW - entry.boundW + wattsOfTenths(mostTenthsA, entry.milliwattsPerTenth);
      if (sumW > budgetW && isLockFloor !== true)
        throw new LedgerError(`${entry.key}: ${sumW} W would exceed ${budgetW} W`);
      // A floor that it has by what was on disk at the start loads nothing more than before.
      const isHeld = isLockFloor === true && mostTenthsA <= entry.boundTenthsA;
      const carriable = this.carriableTenthsA(entry);
      if (mostTenthsA > carriable && !isHeld)
        throw new LedgerError(`${entry.key}: ${mostTenthsA} is more than the ${carriable} its fuses carry`);
    }
    if (limitTenthsA < 0 || mostTenthsA > entry.maxTenthsA)
      throw new LedgerError(`${entry.key}: ${mostTenthsA} is outside 0 to ${entry.maxTenthsA} tenths of A`);
    const seq = ++entry.lastSeq;
    entry.toldThenTenthsA = thenTenthsA;
    this.#promise(entry, seq, limitTenthsA, heardAtMs);
    entry.fallbacks.add(seq, thenTenthsA);
    this.#rebound(entry);
    return seq;
  }

  /** The charger keeps to grant `seq`, as of `nowMs`. True where something larger is let go of by it. */
  acknowledge(holding: Holding, seq: number, nowMs: number): boolean {
    const entry = holding as Entry;
    if (seq <= entry.ackedSeq || seq > entry.lastSeq) return false;
    entry.ackedSeq = seq;
    const isReleased = entry.promises.acknowledge(seq, nowMs);
    // Without an anchor the lease began at the latest when its acknowledgement came.
    if (entry.lease === 'receipt') entry.promises.endBy(seq, nowMs + longestLeaseMsOf(entry));
    // What it was at until now takes the settling time to leave.
    const leftTenthsA = entry.fallbacks.acknowledge(seq);
    if (leftTenthsA > 0) entry.promises.leave(leftTenthsA, nowMs);
    const beforeW = entry.boundW;
    this.#rebound(entry);
    return isReleased || leftTenthsA > 0 || entry.boundW < beforeW;
  }

  /** Lets go of what can be in force no longer. True where a bound fell. */
  release(nowMs: number): boolean {
    let fell = false;
    for (const entry of this.#entries) {
      if (!entry.promises.release(nowMs)) continue;
      const beforeW = entry.boundW;
      this.#rebound(entry);
      fell ||= entry.boundW < beforeW;
    }
    return fell;
  }

  /** When `release` has something to do next for this connector; undefined where never by itself. */
  nextReleaseAtMs(holding: Holding): number | undefined {
    const { nextEndMs } = (holding as Entry).promises;
    return nextEndMs === Number.POSITIVE_INFINITY ? undefined : nextEndMs;
  }

  /** @param fromMs from when a charger that counts from its heartbeats counts at the latest */
  #promise(entry: Entry, seq: number, limitTenthsA: number, fromMs: number, ttlMs = entry.ttlMs): void {
    const anchoredEndsAtMs = fromMs + longestLeaseMsOf({ ttlMs });
    const endsAtMs = entry.lease === 'heartbeat' ? anchoredEndsAtMs : Number.POSITIVE_INFINITY;
    const releasedAtMs = Number.POSITIVE_INFINITY;
    entry.promises.add({ seq, limitTenthsA, endsAtMs, anchoredEndsAtMs, releasedAtMs });
  }

  /** What was promised to a charger thought to count from its heartbeats ends at no known time if it does not. */
  #countBy(entry: Entry, lease: LeaseKind, isFirstWord: boolean): void {
    if (entry.lease === 'heartbeat' && lease !== 'heartbeat') entry.promises.unanchor();
    // Until its charger spoke it was only taken to count otherwise.
    if (isFirstWord && lease === 'heartbeat') entry.promises.anchor();
    entry.lease = lease;
  }

  /**
   * What it stays entitled to when all that is on its way out has ended. What was larger before is no room for a grant:
   * where more is reserved than the budget allows, it would last a whole lease longer instead of ending.
   */
  #lastingTenthsA(entry: Entry): number {
    if (entry.isWorstCase) return entry.maxTenthsA;
    // Before it spoke for itself it may be one that keeps what it was told, which may be less than its own fail-safe.
    const ownTenthsA = entry.isDescribed ? entry.ownFailsafeTenthsA : 0;
    // Before the first grant only what was on disk is known, and that may have ended long ago.
    if (entry.lastSeq === 0) return Math.min(ownTenthsA, entry.maxTenthsA);
    return Math.max(ownTenthsA, entry.promises.newestTenthsA(entry.lastSeq), entry.toldThenTenthsA);
  }

  /**
   * The same, and before the first grant what its charger says it holds by one of an owner before. That it may be granted anew
   * where there is room says nothing of where there is none: the owner before may have been lowering it.
   */
  #expectedTenthsA(entry: Entry): number {
    const lastingTenthsA = this.#lastingTenthsA(entry);
    if (entry.lastSeq > 0) return lastingTenthsA;
    const heldTenthsA = Math.min(entry.heldTenthsA, entry.promises.mostTenthsA, entry.maxTenthsA);
    return Math.max(lastingTenthsA, heldTenthsA);
  }

  #rebound(entry: Entry): void {
    // What a charger says of itself is never held against a grant that may have told it otherwise since.
    entry.ownFailsafeTenthsA = entry.keepsThen || !this.#reservesOwn ? 0 : entry.saidFailsafeTenthsA;
    entry.failsafeTenthsA = Math.max(entry.ownFailsafeTenthsA, entry.fallbacks.mostTenthsA);
    const beforeTenthsA = entry.loadTenthsA;
    const entitledTenthsA = Math.max(entry.failsafeTenthsA, entry.promises.mostTenthsA);
    entry.entitledTenthsA = Math.min(entitledTenthsA, entry.maxTenthsA);
    entry.boundTenthsA = entry.isWorstCase ? entry.maxTenthsA : entry.entitledTenthsA;
    const beforeW = entry.boundW;
    entry.boundW = wattsOfTenths(entry.boundTenthsA, entry.milliwattsPerTenth);
    this.#totalW += entry.boundW - beforeW;
    const leastTenthsA = entry.keepsThen ? 0 : Math.min(entry.saidFailsafeTenthsA, entry.maxTenthsA);
    entry.loadTenthsA = Math.max(entry.boundTenthsA, leastTenthsA);
    this.#load(entry, entry.loadTenthsA - beforeTenthsA);
  }

  #load({ poles }: Holding, moreTenthsA: number): void {
    for (const pole of poles) this.#loadsTenthsA[pole] = (this.#loadsTenthsA[pole] ?? 0) + moreTenthsA;
  }
}
