// What each charger of a location may be entitled to draw at most, whatever was lost, late or doubled (power safety, rules 1-7).
import type { LeaseKind } from './grant.js';
import { wattsOfTenths } from './units.js';

/** Clocks of chargers may run this much slow (rule: drift 2 %). */
export const DRIFT = 1.02;

/** Of the grant protocol, in whole ms. */
export interface GrantTiming {
  readonly heartbeatMs: number;
  /** How long a charger may keep to a grant, by its own clock. */
  readonly ttlMs: number;
  /** How long charger and car may take to follow a limit. */
  readonly settleMs: number;
}

/** The longest a grant that leaves now can be in force: lease, drift and settle. */
export function horizonMsOf({ ttlMs, settleMs }: GrantTiming): number {
  return Math.ceil(ttlMs * DRIFT) + settleMs;
}

/** What a connector is and falls back to. Currents in tenths of an ampere per phase. */
export interface HoldingSpec {
  readonly maxTenthsA: number;
  /** What the charger does by itself, as far as is known. */
  readonly failsafeTenthsA: number;
  readonly milliwattsPerTenth: number;
  readonly lease: LeaseKind;
  /** It falls back to what the newest grant it took says, over a restart too; otherwise to `failsafeTenthsA` as well. */
  readonly keepsThen: boolean;
}

/** One connector's place in a ledger: read it, but only the ledger writes it. Currents in tenths of A, powers in W. */
export interface Holding {
  readonly key: string;
  readonly maxTenthsA: number;
  readonly milliwattsPerTenth: number;
  readonly lease: LeaseKind;
  readonly keepsThen: boolean;
  /** Its maximum is reserved, whatever it was granted: it did not comply, or keeps to no lease. */
  readonly isWorstCase: boolean;
  /** The most it may be entitled to. */
  readonly boundTenthsA: number;
  /** The most that what it was granted entitles it to, worst case left aside: what it must not exceed. */
  readonly entitledTenthsA: number;
  readonly boundW: number;
  /** The largest of what it may fall back to. */
  readonly failsafeTenthsA: number;
  /** Its charger said how it falls back. */
  readonly isDescribed: boolean;
  /** What is reserved because it falls back to that by itself: it keeps nothing over a restart. */
  readonly ownFailsafeTenthsA: number;
  /** Of the newest grant; 0 before the first. */
  readonly lastSeq: number;
  readonly ackedSeq: number;
}

/** A grant as the ledger keeps it. `endsAtMs` is when its lease has surely ended, settle left aside. */
interface Promised {
  readonly seq: number;
  readonly limitTenthsA: number;
  endsAtMs: number;
  /** The same for a charger that counts from its heartbeats. */
  readonly anchoredEndsAtMs: number;
  /** Settled after a newer one was acknowledged. */
  releasedAtMs: number;
}

/** What it falls back to since the grant `fromSeq`. */
interface Fallback {
  readonly fromSeq: number;
  readonly tenthsA: number;
}

interface Entry extends Holding {
  maxTenthsA: number;
  milliwattsPerTenth: number;
  lease: LeaseKind;
  keepsThen: boolean;
  isWorstCase: boolean;
  boundTenthsA: number;
  entitledTenthsA: number;
  boundW: number;
  failsafeTenthsA: number;
  lastSeq: number;
  ackedSeq: number;
  /** What it does by itself after a restart, where it keeps nothing. */
  ownFailsafeTenthsA: number;
  /** What it says it does by itself. */
  saidFailsafeTenthsA: number;
  /** Those that may be in force, oldest first: as a rule each is smaller and lasts longer than the one before. */
  promises: Promised[];
  /** Of the newest grant. What its charger says of itself may be older. */
  toldThenTenthsA: number;
  /** Its charger said how it falls back. */
  isDescribed: boolean;
  /** What the newest acknowledged grant says, then what unacknowledged newer ones say; never empty. */
  fallbacks: Fallback[];
}

// Limits that fall again and again within a horizon would otherwise pile up; the oldest two are merged to their worst.
const PROMISES_KEPT = 16;
const FALLBACKS_KEPT = 4;

/** A grant that must not leave: a defect of whoever decided it, never a charger's fault. */
export class LedgerError extends Error {}

export interface NewGrant {
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** When the heartbeat it answers was received. */
  readonly heardAtMs: number;
  readonly budgetW: number;
  /** The 6 A floor of a lock: it leaves whatever the budget (who gets how much, 4). */
  readonly isLockFloor?: boolean;
}

/** All times are of one monotonic clock, in ms. */
export interface GrantLedger {
  /** Sum of all bounds, W. */
  readonly totalW: number;
  /** What of it remains when all that is on its way out has ended, and what was on disk at the start, W. */
  lastingW(): number;
  add(key: string, spec: HoldingSpec): Holding;
  remove(holding: Holding): void;
  /** Another voltage, lease, maximum or fail-safe of its own. */
  describe(holding: Holding, spec: Partial<HoldingSpec>): void;
  setWorstCase(holding: Holding, isWorstCase: boolean): void;
  /**
   * Whether fail-safes are reserved of chargers that keep nothing over a restart; else only what they were told to fall
   * back to is, and after a restart what they are at until they take a grant.
   */
  reserveOwnFailsafes(isReserved: boolean): void;
  /** The charger started anew: one that keeps nothing is at its own fail-safe until it takes a grant. */
  restarted(holding: Holding): void;
  /** Numbers its grants on from `seq`. */
  continueAfter(holding: Holding, seq: number): void;
  /** What was on disk at the start: it may be in force until a horizon from `nowMs`. */
  restore(holding: Holding, limitTenthsA: number, thenTenthsA: number, nowMs: number): void;
  /** The most that can be granted now: what its newest grant lasts at anyway, or what the others leave of the budget. */
  grantableTenthsA(holding: Holding, budgetW: number): number;
  /**
   * Records a grant before it leaves and gives its `seq`.
   * @throws LedgerError where the sum of all bounds would be above the budget, and the grant is no renewal or decrease (rule 2).
   */
  grant(holding: Holding, grant: NewGrant): number;
  /** The charger keeps to grant `seq`, as of `nowMs`. True where something larger is let go of by it. */
  acknowledge(holding: Holding, seq: number, nowMs: number): boolean;
  /** Lets go of what can be in force no longer. True where a bound fell. */
  release(nowMs: number): boolean;
  /** When `release` has something to do next for this connector; undefined where never by itself. */
  nextReleaseAtMs(holding: Holding): number | undefined;
}

class Ledger implements GrantLedger {
  totalW = 0;
  readonly #timing: GrantTiming;
  readonly #entries = new Set<Entry>();
  #reservesOwn = true;

  constructor(timing: GrantTiming) {
    this.#timing = timing;
  }

  add(key: string, spec: HoldingSpec): Holding {
    const entry: Entry = {
      key,
      maxTenthsA: spec.maxTenthsA,
      milliwattsPerTenth: spec.milliwattsPerTenth,
      lease: spec.lease,
      keepsThen: spec.keepsThen,
      isWorstCase: false,
      boundTenthsA: 0,
      entitledTenthsA: 0,
      boundW: 0,
      failsafeTenthsA: 0,
      lastSeq: 0,
      ackedSeq: 0,
      ownFailsafeTenthsA: 0,
      saidFailsafeTenthsA: spec.failsafeTenthsA,
      promises: [],
      toldThenTenthsA: 0,
      isDescribed: false,
      fallbacks: [{ fromSeq: 0, tenthsA: spec.failsafeTenthsA }],
    };
    this.#entries.add(entry);
    this.#rebound(entry);
    return entry;
  }

  lastingW(): number {
    let sumW = 0;
    for (const entry of this.#entries) {
      sumW += wattsOfTenths(this.#lastingTenthsA(entry), entry.milliwattsPerTenth);
    }
    return sumW;
  }

  remove(holding: Holding): void {
    if (this.#entries.delete(holding as Entry)) this.totalW -= holding.boundW;
  }

  describe(holding: Holding, spec: Partial<HoldingSpec>): void {
    const entry = holding as Entry;
    if (spec.maxTenthsA !== undefined) entry.maxTenthsA = spec.maxTenthsA;
    if (spec.milliwattsPerTenth !== undefined) entry.milliwattsPerTenth = spec.milliwattsPerTenth;
    const isFirstWord = spec.keepsThen !== undefined && !entry.isDescribed;
    if (spec.lease !== undefined) this.#countBy(entry, spec.lease, isFirstWord);
    if (spec.keepsThen !== undefined) entry.keepsThen = spec.keepsThen;
    entry.isDescribed ||= spec.keepsThen !== undefined;
    if (spec.failsafeTenthsA !== undefined) this.#believeFailsafe(entry, spec.failsafeTenthsA);
    this.#rebound(entry);
  }

  setWorstCase(holding: Holding, isWorstCase: boolean): void {
    const entry = holding as Entry;
    entry.isWorstCase = isWorstCase;
    this.#rebound(entry);
  }

  reserveOwnFailsafes(isReserved: boolean): void {
    if (isReserved === this.#reservesOwn) return;
    this.#reservesOwn = isReserved;
    for (const entry of this.#entries) this.#rebound(entry);
  }

  restarted(holding: Holding): void {
    const entry = holding as Entry;
    const [settled] = entry.fallbacks;
    if (entry.keepsThen || settled === undefined || settled.tenthsA >= entry.saidFailsafeTenthsA) return;
    entry.fallbacks[0] = { ...settled, tenthsA: entry.saidFailsafeTenthsA };
    this.#rebound(entry);
  }

  continueAfter(holding: Holding, seq: number): void {
    const entry = holding as Entry;
    entry.lastSeq = seq;
    entry.ackedSeq = seq;
  }

  restore(holding: Holding, limitTenthsA: number, thenTenthsA: number, nowMs: number): void {
    const entry = holding as Entry;
    const endsAtMs = nowMs + Math.ceil(this.#timing.ttlMs * DRIFT);
    entry.promises.push({
      seq: 0,
      limitTenthsA,
      endsAtMs: entry.lease === 'heartbeat' ? endsAtMs : Number.POSITIVE_INFINITY,
      anchoredEndsAtMs: endsAtMs,
      releasedAtMs: Number.POSITIVE_INFINITY,
    });
    entry.fallbacks = [{ fromSeq: 0, tenthsA: thenTenthsA }];
    this.#rebound(entry);
  }

  grantableTenthsA(holding: Holding, budgetW: number): number {
    const roomW = budgetW - (this.totalW - holding.boundW);
    const fitting = Math.floor((Math.max(0, roomW) * 1000) / holding.milliwattsPerTenth);
    return Math.min(Math.max(this.#lastingTenthsA(holding as Entry), fitting), holding.maxTenthsA);
  }

  grant(holding: Holding, { limitTenthsA, thenTenthsA, heardAtMs, budgetW, isLockFloor }: NewGrant): number {
    const entry = holding as Entry;
    const mostTenthsA = Math.max(limitTenthsA, thenTenthsA);
    if (mostTenthsA > this.#lastingTenthsA(entry) && isLockFloor !== true) {
      const sumW = this.totalW - entry.boundW + wattsOfTenths(mostTenthsA, entry.milliwattsPerTenth);
      if (sumW > budgetW) throw new LedgerError(`${entry.key}: ${sumW} W would exceed ${budgetW} W`);
    }
    if (limitTenthsA < 0 || mostTenthsA > entry.maxTenthsA) {
      throw new LedgerError(
        `${entry.key}: ${mostTenthsA} is outside 0 to ${entry.maxTenthsA} tenths of an ampere`,
      );
    }
    const seq = ++entry.lastSeq;
    entry.toldThenTenthsA = thenTenthsA;
    const anchoredEndsAtMs = heardAtMs + Math.ceil(this.#timing.ttlMs * DRIFT);
    const endsAtMs = entry.lease === 'heartbeat' ? anchoredEndsAtMs : Number.POSITIVE_INFINITY;
    const releasedAtMs = Number.POSITIVE_INFINITY;
    this.#promise(entry, { seq, limitTenthsA, endsAtMs, anchoredEndsAtMs, releasedAtMs });
    this.#fallBackTo(entry, { fromSeq: seq, tenthsA: thenTenthsA });
    this.#rebound(entry);
    return seq;
  }

  acknowledge(holding: Holding, seq: number, nowMs: number): boolean {
    const entry = holding as Entry;
    if (seq <= entry.ackedSeq || seq > entry.lastSeq) return false;
    entry.ackedSeq = seq;
    const isReleased = this.#settle(entry, seq, nowMs);
    const isLeft = this.#settleFallback(entry, seq, nowMs);
    const beforeW = entry.boundW;
    this.#rebound(entry);
    return isReleased || isLeft || entry.boundW < beforeW;
  }

  release(nowMs: number): boolean {
    let fell = false;
    for (const entry of this.#entries) {
      const { promises } = entry;
      let ended = 0;
      for (const promise of promises) if (this.#endOf(promise) <= nowMs) ended++;
      if (ended === 0) continue;
      entry.promises = promises.filter((promise) => this.#endOf(promise) > nowMs);
      const beforeW = entry.boundW;
      this.#rebound(entry);
      fell ||= entry.boundW < beforeW;
    }
    return fell;
  }

  nextReleaseAtMs(holding: Holding): number | undefined {
    let next = Number.POSITIVE_INFINITY;
    for (const promise of (holding as Entry).promises) next = Math.min(next, this.#endOf(promise));
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }

  #endOf({ endsAtMs, releasedAtMs }: Promised): number {
    return Math.min(endsAtMs + this.#timing.settleMs, releasedAtMs);
  }

  /** Dates the end of what came before `seq`; true where there was something. */
  #settle(entry: Entry, seq: number, nowMs: number): boolean {
    let isReleased = false;
    for (const promise of entry.promises) {
      if (promise.seq < seq) {
        promise.releasedAtMs = Math.min(promise.releasedAtMs, nowMs + this.#timing.settleMs);
        isReleased = true;
      } else if (
        promise.seq === seq &&
        entry.lease === 'receipt' &&
        promise.endsAtMs === Number.POSITIVE_INFINITY
      ) {
        // Without an anchor the lease began at the latest when its acknowledgement came.
        promise.endsAtMs = nowMs + Math.ceil(this.#timing.ttlMs * DRIFT);
      }
    }
    return isReleased;
  }

  /** The fallback of the acknowledged grant is what it keeps from here on; one it was at until now takes settle to leave. */
  #settleFallback(entry: Entry, seq: number, nowMs: number): boolean {
    const { fallbacks } = entry;
    let leftTenthsA = 0;
    while (fallbacks.length > 1 && (fallbacks[1]?.fromSeq ?? 0) <= seq) {
      leftTenthsA = Math.max(leftTenthsA, fallbacks.shift()?.tenthsA ?? 0);
    }
    if (leftTenthsA <= (fallbacks[0]?.tenthsA ?? 0)) return false;
    const releasedAtMs = nowMs + this.#timing.settleMs;
    const ends = { endsAtMs: nowMs, anchoredEndsAtMs: nowMs, releasedAtMs };
    entry.promises.unshift({ seq: 0, limitTenthsA: leftTenthsA, ...ends });
    forgetOldest(entry.promises);
    return true;
  }

  /** Adds the newest; those it outbids and outlasts tell nothing more. */
  #promise(entry: Entry, promise: Promised): void {
    const kept = entry.promises;
    let last = kept.at(-1);
    while (
      last !== undefined &&
      last.limitTenthsA <= promise.limitTenthsA &&
      last.endsAtMs <= promise.endsAtMs
    ) {
      kept.pop();
      last = kept.at(-1);
    }
    kept.push(promise);
    forgetOldest(kept);
  }

  /** What was promised to a charger thought to count from its heartbeats ends at no known time if it does not. */
  #countBy(entry: Entry, lease: LeaseKind, isFirstWord: boolean): void {
    for (const promise of entry.promises) {
      if (entry.lease === 'heartbeat' && lease !== 'heartbeat') promise.endsAtMs = Number.POSITIVE_INFINITY;
      // Until its charger spoke it was only taken to count otherwise.
      if (isFirstWord && lease === 'heartbeat') promise.endsAtMs = promise.anchoredEndsAtMs;
    }
    entry.lease = lease;
  }

  /** A charger that keeps what grants say may still have kept more than is known here. */
  #believeFailsafe(entry: Entry, tenthsA: number): void {
    entry.saidFailsafeTenthsA = tenthsA;
    const [settled] = entry.fallbacks;
    if (entry.keepsThen && settled !== undefined && tenthsA > settled.tenthsA) {
      entry.fallbacks[0] = { ...settled, tenthsA };
    }
  }

  #fallBackTo(entry: Entry, fallback: Fallback): void {
    const { fallbacks } = entry;
    if (fallbacks.at(-1)?.tenthsA === fallback.tenthsA) return;
    fallbacks.push(fallback);
    const [settled, next] = fallbacks;
    if (fallbacks.length <= FALLBACKS_KEPT || settled === undefined || next === undefined) return;
    fallbacks.splice(0, 2, { fromSeq: settled.fromSeq, tenthsA: Math.max(settled.tenthsA, next.tenthsA) });
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
    const promise = entry.promises.at(-1);
    const limitTenthsA = promise?.seq === entry.lastSeq ? promise.limitTenthsA : 0;
    return Math.max(ownTenthsA, limitTenthsA, entry.toldThenTenthsA);
  }

  #rebound(entry: Entry): void {
    // What a charger says of itself is never held against a grant that may have told it otherwise since.
    entry.ownFailsafeTenthsA = entry.keepsThen || !this.#reservesOwn ? 0 : entry.saidFailsafeTenthsA;
    let fallback = entry.ownFailsafeTenthsA;
    for (const { tenthsA } of entry.fallbacks) fallback = Math.max(fallback, tenthsA);
    let entitled = fallback;
    for (const { limitTenthsA } of entry.promises) entitled = Math.max(entitled, limitTenthsA);
    entry.failsafeTenthsA = fallback;
    entry.entitledTenthsA = Math.min(entitled, entry.maxTenthsA);
    entry.boundTenthsA = entry.isWorstCase ? entry.maxTenthsA : entry.entitledTenthsA;
    const beforeW = entry.boundW;
    entry.boundW = wattsOfTenths(entry.boundTenthsA, entry.milliwattsPerTenth);
    this.totalW += entry.boundW - beforeW;
  }
}

/** Merges the oldest two into the worst of both where too many are kept. */
function forgetOldest(kept: Promised[]): void {
  const [oldest, next] = kept;
  if (kept.length <= PROMISES_KEPT || oldest === undefined || next === undefined) return;
  kept.splice(0, 2, {
    seq: next.seq,
    limitTenthsA: Math.max(oldest.limitTenthsA, next.limitTenthsA),
    endsAtMs: Math.max(oldest.endsAtMs, next.endsAtMs),
    anchoredEndsAtMs: Math.max(oldest.anchoredEndsAtMs, next.anchoredEndsAtMs),
    releasedAtMs: Math.max(oldest.releasedAtMs, next.releasedAtMs),
  });
}

/** The ledger of one location's connectors. */
export function createGrantLedger(timing: GrantTiming): GrantLedger {
  return new Ledger(timing);
}
