// What each charger of a location may be entitled to draw at most, whatever was lost, late or doubled (power safety, rules 1-7).

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

/** A grant that must not leave: a defect in the decision, never a charger's fault. */
export class LedgerError extends Error {}

export interface NewGrant {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** When the heartbeat it answers was received. */
  readonly heardAtMs: number;
  /** How long its lease lasts by a clock that is right; never longer than where it is left out. */
  readonly ttlMs?: number | undefined;
  readonly budgetW: number;
  /** The 6 A floor of a lock: it leaves whatever the budget, but overloads no fuse (who gets how much, 4). */
  readonly isLockFloor?: boolean;
  /** It leaves only when `noteLeft` says so. */
  readonly isWaiting?: boolean;
}

/** The ledger of one location's connectors. Times of one monotonic clock, ms. */
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

  /** What each pole may have to carry, tenths of an ampere. */
  get loadsTenthsA(): readonly number[] {
    return this.#poles.loadsTenthsA;
  }

  /** The same poles can carry more or less from here on; what is known loads them as before. */
  limitPoles(capacitiesTenthsA: readonly number[]): void {
    this.#poles.limit(capacitiesTenthsA);
  }

  /** What each pole can carry from here on. What is known loads none of them until it is described again. */
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

  /** What of the total remains when all that is on its way out has ended, and what was on disk at the start, W. */
  lastingW(): number {
    let sumW = 0;
    for (const entry of this.#entries) sumW += expectedW(entry);
    return sumW;
  }

  /** What it may be entitled to from `atMs` on if it is granted nothing meanwhile, W: promises that end before do not count. */
  boundWFrom(holding: Holding, atMs: number): number {
    return boundWFrom(holding as Entry, atMs);
  }

  /** What it may load its poles with from `atMs` on if it is granted nothing meanwhile: promises that end before do not count. */
  loadsFrom(holding: Holding, atMs: number): OwnPhases {
    return loadsFrom(holding as Entry, atMs);
  }

  remove(holding: Holding): void {
    if (!this.#entries.delete(holding as Entry)) return;
    this.#totalW -= holding.boundW;
    this.#poles.move(holding, holding.loads, NO_CURRENT);
  }

  /** Another voltage, lease, maximum or fail-safe of its own, or other poles, as its charger says at `nowMs` where it is its word. */
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
      // A charger that keeps what grants say may still have kept more than is known here.
      if (entry.keepsThen) entry.fallbacks.raise(onFirst(spec.failsafeTenthsA, ALL_PHASES));
    }
    this.#rebound(entry);
  }

  /** Its charger has not said that it keeps what it is told, though it had time to: its own fail-safe is reserved. */
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
   * Whether the budget reserves fail-safes of chargers that keep nothing over a restart; else only what they were told to
   * fall back to is, and after a restart what they are at until they take a grant. Fuses have room for them always.
   */
  reserveOwnFailsafes(isReserved: boolean): void {
    if (isReserved === this.#reservesOwn) return;
    this.#reservesOwn = isReserved;
    for (const entry of this.#entries) this.#rebound(entry);
  }

  /** The charger started anew, and holds no grant: one that keeps nothing is at its own fail-safe until it takes one. */
  restarted(holding: Holding): void {
    const entry = holding as Entry;
    forgo(entry);
    if (entry.keepsThen) return;
    entry.fallbacks.raise(onFirst(entry.saidFailsafeTenthsA, ALL_PHASES));
    this.#rebound(entry);
  }

  /** Grants are for the first so many of its phases from here on; those before stay what they were. */
  useOn(holding: Holding, phases: PhaseCount): void {
    use(holding as Entry, phases);
  }

  /** Its charger does not keep grants to the phases they are for: whatever it may keep to still counts on all. */
  widen(holding: Holding): void {
    const entry = holding as Entry;
    widen(entry);
    this.#rebound(entry);
  }

  /** Numbers its grants on from `seq`. */
  continueAfter(holding: Holding, seq: number): void {
    Object.assign(holding as Entry, { lastSeq: seq, ackedSeq: seq });
  }

  /**
   * What was on disk at the start: it may be in force from `nowMs` for settling and a lease, of `ttlMs` where it is known, on
   * its first `phases`. Until its charger speaks for itself, it is taken to keep over a restart what it kept for the owner before.
   */
  restore(holding: Holding, restored: Restored, nowMs: number): void {
    const entry = holding as Entry;
    restore(entry, restored, nowMs);
    this.#rebound(entry);
  }

  /** The length of a lease, ms, that from `nowMs` on outlasts all it was promised, and all it can be promised now. */
  coveringTtlMs(holding: Holding, nowMs: number): number {
    const { promises, ttlMs } = holding as Entry;
    return Math.max(ttlMs, ttlMsOf(promises.latestEndMs - nowMs));
  }

  /**
   * Its charger says that it holds so much by a grant from before the start; 0 where by none. On disk may be more than was in force.
   * @param on where that may be for fewer phases than are on disk: so much of it as is sure
   */
  noteHeld(holding: Holding, tenthsA: number, on?: OwnPhases): void {
    const entry = holding as Entry;
    entry.heldTenthsA = tenthsA;
    entry.promises.doubt(tenthsA, on);
  }

  /** Its charger says what it is at while no grant of this start lasts, on the phases on which it surely is. */
  noteAt(holding: Holding, currents: OwnPhases): void {
    (holding as Entry).at = currents;
  }

  /** The most that can be granted now: what its newest grant lasts at anyway, or what fits. */
  grantableTenthsA(holding: Holding, budgetW: number): number {
    const lasting = lastingTenthsA(holding as Entry);
    return Math.min(Math.max(lasting, this.fittingTenthsA(holding, budgetW)), holding.maxTenthsA);
  }

  /** What all others leave of the budget and of every pole, whatever is promised to it already. */
  fittingTenthsA(holding: Holding, budgetW: number): number {
    const roomW = budgetW - (this.#totalW - holding.boundW);
    return Math.min(tenthsWithinRoom(holding as Entry, roomW), this.carriableTenthsA(holding));
  }

  /** What the others, but for `beyond`, leave of every pole that the phases it uses may load; infinite where there is none. */
  carriableTenthsA(holding: Holding, beyond?: BeyondGrants): number {
    return this.#poles.leftFor(holding, beyond);
  }

  /**
   * Records a grant before it leaves and gives its `seq`.
   * @throws LedgerError where the sum of all bounds would exceed the budget or a pole, and it is no renewal or decrease (rule 2).
   */
  grant(holding: Holding, grant: NewGrant): number {
    const { limitTenthsA, thenTenthsA, heardAtMs, ttlMs, budgetW, isLockFloor, isWaiting } = grant;
    const entry = holding as Entry;
    const phases = entry.usedPhases;
    const promised = { seq: entry.lastSeq + 1, limitTenthsA, phases, fromMs: heardAtMs, ttlMs, isWaiting };
    const mostTenthsA = Math.max(limitTenthsA, thenTenthsA);
    // What lasts is not judged again, and no bound moves.
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

  /** Grant `seq`, which was waiting, has left. */
  noteLeft(holding: Holding, seq: number): void {
    const entry = holding as Entry;
    if (entry.waiting?.seq !== seq) return;
    const { promise } = entry.waiting;
    if (promise !== undefined) promise.sure = onFirst(promise.limitTenthsA, promise.phases);
    entry.told = entry.waiting;
    entry.waiting = undefined;
  }

  /** The charger keeps to grant `seq`, as of `nowMs`. True where something larger is let go of by it. */
  acknowledge(holding: Holding, seq: number, nowMs: number): boolean {
    const entry = holding as Entry;
    if (seq <= entry.ackedSeq || seq > entry.lastSeq) return false;
    entry.ackedSeq = seq;
    const isReleased = entry.promises.acknowledge(seq, nowMs);
    // Without an anchor the lease began at the latest when its acknowledgement came; it ends by that once its charger keeps leases.
    if (entry.promises.isEndless) endBy(entry, seq, nowMs + longestLeaseMsOf(entry));
    // What it was at until now takes the settling time to leave.
    const left = entry.fallbacks.acknowledge(seq);
    // What is promised counts in full until its end comes, known or not: no bound moves yet.
    if (isWithin(left, NO_CURRENT)) return isReleased;
    entry.promises.leave(left, nowMs);
    this.#rebound(entry);
    return true;
  }

  /** What it was told so far may last longer than its leases: until something newer is acknowledged. */
  openEnd(holding: Holding): void {
    (holding as Entry).promises.openEnds();
  }

  /** Lets go of what can be in force no longer. True where a bound fell. */
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

  /** When `release` has something to do next for this connector; undefined where never by itself. */
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
