// What one charger was promised and may keep to still, and what it may fall back to (power safety, rules 1 and 4).
import {
  ALL_PHASES,
  isOnFirst,
  isWithin,
  largerOf,
  NO_CURRENT,
  type OwnPhases,
  onFirst,
  type PhaseCount,
  smallerOf,
} from './own-phases.js';

/** A grant as it is kept. `endsAtMs` is when its lease has surely ended; the settling time comes on top. */
export interface Promised {
  seq: number;
  readonly limitTenthsA: number;
  /** On how many of the connector's phases, from its first on. */
  phases: PhaseCount;
  /** As much of that as is surely in force: what is only taken to be, to be on the safe side, is none of it. */
  sure: OwnPhases;
  endsAtMs: number;
  /** The same for a charger that counts from its heartbeats. */
  anchoredEndsAtMs: number;
  /** It may last longer than its lease: nothing ends it but that something newer is acknowledged. */
  isEndOpen: boolean;
  /** A settling time after a newer one was acknowledged. */
  releasedAtMs: number;
}

/** What it falls back to since the grant `fromSeq`. */
interface Fallback {
  readonly fromSeq: number;
  readonly currents: OwnPhases;
}

// Limits that fall again and again within a horizon would otherwise pile up; the oldest two are merged to their worst.
const PROMISES_KEPT = 16;
const FALLBACKS_KEPT = 3;
const NEVER = Number.POSITIVE_INFINITY;

/** Those promises that may be in force, oldest first: as a rule each is smaller and lasts longer than the one before. */
export class Promises {
  readonly #settleMs: number;
  /** Its charger keeps leases: else none of them ends by itself. */
  #doLeasesEnd: boolean;
  #kept: Promised[] = [];

  constructor(settleMs: number, doLeasesEnd: boolean) {
    this.#settleMs = settleMs;
    this.#doLeasesEnd = doLeasesEnd;
  }

  /** The most that any of them allows on each phase. */
  get most(): OwnPhases {
    return this.#mostOf(() => true);
  }

  /** The same of grant `fromSeq` and those after it. */
  mostSince(fromSeq: number): OwnPhases {
    return this.#mostOf(({ seq }) => seq >= fromSeq);
  }

  /** The same of all that are worth waiting for at `nowMs`: for one that ends at no known time no longer than for a lease. */
  mostAwaited(nowMs: number): OwnPhases {
    return this.#mostOf((promise) => this.#awaitedUntilMs(promise) > nowMs);
  }

  /** The same of those that end at no known time, and were waited for for a lease. */
  mostUnending(nowMs: number): OwnPhases {
    return this.#mostOf(
      (promise) => this.#endOf(promise) === NEVER && this.#awaitedUntilMs(promise) <= nowMs,
    );
  }

  /** The same of those that have not ended at `atMs`. */
  mostFrom(atMs: number): OwnPhases {
    return this.#mostOf((promise) => this.#endOf(promise) > atMs);
  }

  /** The most that is surely in force on each phase by any of them. */
  get sure(): OwnPhases {
    let most = NO_CURRENT;
    for (const { sure } of this.#kept) if (!isWithin(sure, most)) most = largerOf(most, sure);
    return most;
  }

  /** When the next of them ends; infinite where none does by itself. */
  get nextEndMs(): number {
    return this.#kept.reduce((nextMs, promise) => Math.min(nextMs, this.#endOf(promise)), NEVER);
  }

  /** One of them may be in force for ever: its charger keeps no lease, or was not known to count from its heartbeats and has not taken it. */
  get isEndless(): boolean {
    return this.#kept.some((promise) => this.#endOf(promise) === NEVER);
  }

  /** When the next of them is worth waiting for no longer, after `nowMs`; infinite where none is. */
  nextAwaitedMs(nowMs: number): number {
    let nextMs = NEVER;
    for (const promise of this.#kept) {
      const atMs = this.#awaitedUntilMs(promise);
      if (atMs > nowMs && atMs < nextMs) nextMs = atMs;
    }
    return nextMs;
  }

  /** By when each has ended for a charger that counts from its heartbeats, settle left aside; infinitely long ago where none is kept. */
  get latestEndMs(): number {
    let latestMs = Number.NEGATIVE_INFINITY;
    for (const { anchoredEndsAtMs } of this.#kept) latestMs = Math.max(latestMs, anchoredEndsAtMs);
    return latestMs;
  }

  /** Adds the newest; those it outbids and outlasts tell nothing more. */
  add(promise: Promised): void {
    let last = this.#kept.at(-1);
    while (
      last !== undefined &&
      last.limitTenthsA <= promise.limitTenthsA &&
      last.phases <= promise.phases &&
      last.endsAtMs <= promise.endsAtMs
    ) {
      this.#kept.pop();
      last = this.#kept.at(-1);
    }
    this.#kept.push(promise);
    this.#forgetOldest();
  }

  /**
   * Makes `promise`, the newest, that of `seq`, for longer. False, and nothing changed, where it is not the newest, or where
   * it would outbid others too.
   */
  renew(promise: Promised, seq: number, endsAtMs: number, anchoredEndsAtMs: number): boolean {
    const newest = this.#kept.length - 1;
    if (this.#kept[newest] !== promise || promise.endsAtMs > endsAtMs) return false;
    const before = this.#kept[newest - 1];
    const isOutbid =
      before !== undefined &&
      before.limitTenthsA <= promise.limitTenthsA &&
      before.phases <= promise.phases &&
      before.endsAtMs <= endsAtMs;
    if (isOutbid) return false;
    promise.seq = seq;
    promise.endsAtMs = endsAtMs;
    promise.anchoredEndsAtMs = anchoredEndsAtMs;
    promise.releasedAtMs = NEVER;
    return true;
  }

  /** It was at these currents until `nowMs`, and takes the settling time to leave them. */
  leave(currents: OwnPhases, nowMs: number): void {
    const releasedAtMs = nowMs + this.#settleMs;
    const ends = { endsAtMs: nowMs, anchoredEndsAtMs: nowMs, isEndOpen: false, releasedAtMs };
    for (const [i, limitTenthsA] of currents.entries()) {
      if (limitTenthsA === (currents[i + 1] ?? 0)) continue;
      this.#kept.unshift({ seq: 0, limitTenthsA, phases: (i + 1) as PhaseCount, sure: NO_CURRENT, ...ends });
      this.#forgetOldest();
    }
  }

  /** Nobody can rely any more on which phases they are for. */
  widen(): void {
    for (const promise of this.#kept) promise.phases = ALL_PHASES;
  }

  /** Of what was on disk at the start no more is sure than its charger holds, and where that is for several phases no more than `on`. */
  doubt(heldTenthsA: number, on = onFirst(heldTenthsA, ALL_PHASES)): void {
    const held = onFirst(heldTenthsA, ALL_PHASES);
    for (const promise of this.#kept)
      if (promise.seq === 0) promise.sure = smallerOf(promise.sure, promise.phases > 1 ? on : held);
  }

  /** Dates the end of what came before `seq`, which was acknowledged; true where there was something. */
  acknowledge(seq: number, nowMs: number): boolean {
    let isReleased = false;
    for (const promise of this.#kept) {
      if (promise.seq >= seq) continue;
      promise.releasedAtMs = Math.min(promise.releasedAtMs, nowMs + this.#settleMs);
      isReleased = true;
    }
    return isReleased;
  }

  /** The lease of `seq` began at no known time, and ends at the latest at `endsAtMs`. */
  endBy(seq: number, endsAtMs: number): void {
    for (const promise of this.#kept)
      if (promise.seq === seq && !promise.isEndOpen) promise.endsAtMs = Math.min(promise.endsAtMs, endsAtMs);
  }

  /** Its charger counts from its heartbeats, and has all along. */
  anchor(): void {
    for (const promise of this.#kept) if (!promise.isEndOpen) promise.endsAtMs = promise.anchoredEndsAtMs;
  }

  /** Its charger does not count from its heartbeats: they end at no known time. */
  unanchor(): void {
    for (const promise of this.#kept) promise.endsAtMs = NEVER;
  }

  /** They may last longer than their leases, whatever is said of those later. */
  openEnds(): void {
    this.unanchor();
    for (const promise of this.#kept) promise.isEndOpen = true;
  }

  /**
   * Its charger says at `nowMs` whether it keeps leases. Where it does again, it may have held until then what should have ended
   * meanwhile, and takes the settling time to leave it.
   */
  letLeasesEnd(doLeasesEnd: boolean, nowMs: number): void {
    if (doLeasesEnd && !this.#doLeasesEnd)
      for (const promise of this.#kept) promise.endsAtMs = Math.max(promise.endsAtMs, nowMs);
    this.#doLeasesEnd = doLeasesEnd;
  }

  /** Lets go of what has ended; true where there was something. */
  release(nowMs: number): boolean {
    if (this.nextEndMs > nowMs) return false;
    this.#kept = this.#kept.filter((promise) => this.#endOf(promise) > nowMs);
    return true;
  }

  /** Whether it can be in force no longer. */
  isOver(promise: Promised, nowMs: number): boolean {
    return this.#endOf(promise) <= nowMs;
  }

  #endOf({ endsAtMs, releasedAtMs }: Promised): number {
    if (!this.#doLeasesEnd) return releasedAtMs;
    return Math.min(endsAtMs + this.#settleMs, releasedAtMs);
  }

  #awaitedUntilMs(promise: Promised): number {
    return Math.min(this.#endOf(promise), promise.anchoredEndsAtMs + this.#settleMs);
  }

  #mostOf(isMeant: (promise: Promised) => boolean): OwnPhases {
    let [first, second, third] = NO_CURRENT;
    for (const promise of this.#kept) {
      if (!isMeant(promise)) continue;
      const { limitTenthsA, phases } = promise;
      if (limitTenthsA > first) first = limitTenthsA;
      if (phases > 1 && limitTenthsA > second) second = limitTenthsA;
      if (phases > 2 && limitTenthsA > third) third = limitTenthsA;
    }
    return [first, second, third];
  }

  #forgetOldest(): void {
    const [oldest, next] = this.#kept;
    if (this.#kept.length <= PROMISES_KEPT || oldest === undefined || next === undefined) return;
    this.#kept.splice(0, 2, {
      seq: next.seq,
      limitTenthsA: Math.max(oldest.limitTenthsA, next.limitTenthsA),
      phases: oldest.phases > next.phases ? oldest.phases : next.phases,
      sure: NO_CURRENT,
      endsAtMs: Math.max(oldest.endsAtMs, next.endsAtMs),
      anchoredEndsAtMs: Math.max(oldest.anchoredEndsAtMs, next.anchoredEndsAtMs),
      isEndOpen: oldest.isEndOpen || next.isEndOpen,
      releasedAtMs: Math.max(oldest.releasedAtMs, next.releasedAtMs),
    });
  }
}

/** What the newest acknowledged grant lets it fall back to, then what unacknowledged newer ones do. */
export class Fallbacks {
  #acknowledged: OwnPhases;
  #unacknowledged: Fallback[] = [];

  constructor(currents: OwnPhases) {
    this.#acknowledged = currents;
  }

  /** The most of them on each phase. */
  get most(): OwnPhases {
    let most = this.#acknowledged;
    for (const { currents } of this.#unacknowledged) most = largerOf(most, currents);
    return most;
  }

  /** Grant `seq` says so, which is newer than any before. */
  add(seq: number, tenthsA: number, phases: PhaseCount): void {
    const newest = this.#unacknowledged.at(-1)?.currents ?? this.#acknowledged;
    if (isOnFirst(newest, tenthsA, phases)) return;
    this.#unacknowledged.push({ fromSeq: seq, currents: onFirst(tenthsA, phases) });
    if (this.#unacknowledged.length > FALLBACKS_KEPT)
      this.raise(this.#unacknowledged.shift()?.currents ?? NO_CURRENT);
  }

  /** Grant `seq` was acknowledged. Gives what it leaves by that; nothing where that is within what it has now. */
  acknowledge(seq: number): OwnPhases {
    let left = NO_CURRENT;
    for (
      let [next] = this.#unacknowledged;
      next !== undefined && next.fromSeq <= seq;
      [next] = this.#unacknowledged
    ) {
      left = largerOf(left, this.#acknowledged);
      this.#acknowledged = next.currents;
      this.#unacknowledged.shift();
    }
    return isWithin(left, this.#acknowledged) ? NO_CURRENT : left;
  }

  /** It may be at these, whatever was acknowledged. */
  raise(currents: OwnPhases): void {
    this.#acknowledged = largerOf(this.#acknowledged, currents);
  }

  /** Nobody can rely any more on which phases they are for. */
  widen(): void {
    this.#acknowledged = onFirst(this.#acknowledged[0], ALL_PHASES);
    this.#unacknowledged = this.#unacknowledged.map(({ fromSeq, currents }) => ({
      fromSeq,
      currents: onFirst(currents[0], ALL_PHASES),
    }));
  }
}
