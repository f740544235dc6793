// Outstanding grants of one charger and its possible fallbacks (power-safety.md, rules 1 and 4).
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

/** A recorded grant. `endsAtMs` is the certain end of its lease; the settling time is added to that. */
export interface OutstandingGrant {
  seq: number;
  readonly limitTenthsA: number;
  /** Number of the connector's phases, from the first on. */
  phases: PhaseCount;
  /** The certain part of the entitlement; conservative assumptions are excluded. */
  sure: OwnPhases;
  endsAtMs: number;
  /** The same for a charger that counts from its heartbeats. */
  anchoredEndsAtMs: number;
  /** The grant may outlast its lease. Only the acknowledgement of a newer grant ends it. */
  isEndOpen: boolean;
  /** A settling time after the acknowledgement of a newer grant. */
  releasedAtMs: number;
}

/** Fallback from grant `fromSeq` on. */
interface Fallback {
  readonly fromSeq: number;
  readonly currents: OwnPhases;
}

// Repeated decreases within one horizon would otherwise accumulate. The two oldest entries are merged into their worst
// case.
const PROMISES_KEPT = 16;
const FALLBACKS_KEPT = 3;
const NEVER = Number.POSITIVE_INFINITY;

type Ends = Pick<OutstandingGrant, 'endsAtMs' | 'anchoredEndsAtMs'>;

/**
 * However the charger counts its lease (rule R4). A first report that it counts from its heartbeats leaves only the
 * anchored end.
 */
function endsNoEarlier(newer: Ends, older: Ends): boolean {
  return newer.endsAtMs >= older.endsAtMs && newer.anchoredEndsAtMs >= older.anchoredEndsAtMs;
}

/** The newer grant with these `ends` covers all of the older one. */
function isRedundant(older: OutstandingGrant | undefined, newer: OutstandingGrant, ends: Ends): boolean {
  if (older === undefined || older.limitTenthsA > newer.limitTenthsA) return false;
  return older.phases <= newer.phases && endsNoEarlier(ends, older);
}

/** Grants possibly in force, oldest first. As a rule each one is smaller and lasts longer than the one before. */
export class OutstandingGrants {
  readonly #settleMs: number;
  /** The charger keeps leases. Otherwise no grant ends by itself. */
  #doLeasesEnd: boolean;
  #kept: OutstandingGrant[] = [];

  constructor(settleMs: number, doLeasesEnd: boolean) {
    this.#settleMs = settleMs;
    this.#doLeasesEnd = doLeasesEnd;
  }

  /** The highest current of any grant on each phase. */
  get most(): OwnPhases {
    return this.#mostOf(() => true);
  }

  /** The same for grant `fromSeq` and later ones. */
  mostSince(fromSeq: number): OwnPhases {
    return this.#mostOf(({ seq }) => seq >= fromSeq);
  }

  /**
   * The same for grants worth waiting for at `nowMs`. A grant without a known end counts for no longer than a lease.
   */
  mostAwaited(nowMs: number): OwnPhases {
    return this.#mostOf((outstandingGrant) => this.#awaitedUntilMs(outstandingGrant) > nowMs);
  }

  /** The same for grants without a known end that have outlasted a lease. */
  mostUnending(nowMs: number): OwnPhases {
    return this.#mostOf(
      (outstandingGrant) =>
        this.#endOf(outstandingGrant) === NEVER && this.#awaitedUntilMs(outstandingGrant) <= nowMs,
    );
  }

  /** The same for grants that have not ended at `atMs`. */
  mostFrom(atMs: number): OwnPhases {
    return this.#mostOf((outstandingGrant) => this.#endOf(outstandingGrant) > atMs);
  }

  /** The highest certain current of any grant on each phase. */
  get sure(): OwnPhases {
    let most = NO_CURRENT;
    for (const { sure } of this.#kept) if (!isWithin(sure, most)) most = largerOf(most, sure);
    return most;
  }

  /** Next end of a grant; infinite if none ends by itself. */
  get nextEndMs(): number {
    return this.#kept.reduce(
      (nextMs, outstandingGrant) => Math.min(nextMs, this.#endOf(outstandingGrant)),
      NEVER,
    );
  }

  /**
   * A grant may never end. Its charger keeps no lease, or has not taken it and was not known to count from its
   * heartbeats.
   */
  get isEndless(): boolean {
    return this.#kept.some((outstandingGrant) => this.#endOf(outstandingGrant) === NEVER);
  }

  /** Next time after `nowMs` at which a grant stops being worth waiting for; infinite without one. */
  nextAwaitedMs(nowMs: number): number {
    let nextMs = NEVER;
    for (const outstandingGrant of this.#kept) {
      const atMs = this.#awaitedUntilMs(outstandingGrant);
      if (atMs > nowMs && atMs < nextMs) nextMs = atMs;
    }
    return nextMs;
  }

  /**
   * Latest end for a charger that counts from its heartbeats, without settling time; minus infinity without a grant.
   */
  get latestEndMs(): number {
    let latestMs = Number.NEGATIVE_INFINITY;
    for (const { anchoredEndsAtMs } of this.#kept) latestMs = Math.max(latestMs, anchoredEndsAtMs);
    return latestMs;
  }

  /** Adds the newest grant. Earlier ones that it exceeds and outlasts are redundant. */
  add(outstandingGrant: OutstandingGrant): void {
    while (isRedundant(this.#kept.at(-1), outstandingGrant, outstandingGrant)) this.#kept.pop();
    this.#kept.push(outstandingGrant);
    this.#forgetOldest();
  }

  /**
   * Extends `outstandingGrant`, the newest grant, under the number `seq`. False, without any change, if it is not the newest or
   * would make others redundant.
   */
  renew(
    outstandingGrant: OutstandingGrant,
    seq: number,
    endsAtMs: number,
    anchoredEndsAtMs: number,
  ): boolean {
    const newest = this.#kept.length - 1;
    const ends = { endsAtMs, anchoredEndsAtMs };
    if (this.#kept[newest] !== outstandingGrant || !endsNoEarlier(ends, outstandingGrant)) return false;
    if (isRedundant(this.#kept[newest - 1], outstandingGrant, ends)) return false;
    outstandingGrant.seq = seq;
    outstandingGrant.endsAtMs = endsAtMs;
    outstandingGrant.anchoredEndsAtMs = anchoredEndsAtMs;
    outstandingGrant.releasedAtMs = NEVER;
    return true;
  }

  /** Keeps earlier currents for the settling time after `nowMs`. */
  leave(currents: OwnPhases, nowMs: number): void {
    const releasedAtMs = nowMs + this.#settleMs;
    const ends = { endsAtMs: nowMs, anchoredEndsAtMs: nowMs, isEndOpen: false, releasedAtMs };
    for (const [i, limitTenthsA] of currents.entries()) {
      if (limitTenthsA === (currents[i + 1] ?? 0)) continue;
      this.#kept.unshift({ seq: 0, limitTenthsA, phases: (i + 1) as PhaseCount, sure: NO_CURRENT, ...ends });
      this.#forgetOldest();
    }
  }

  /** The phase counts of the grants are no longer reliable. */
  widen(): void {
    for (const outstandingGrant of this.#kept) outstandingGrant.phases = ALL_PHASES;
  }

  /**
   * The certain part of a grant from disk is at most the limit that the charger holds. For several phases it is at most
   * `on`.
   */
  doubt(heldTenthsA: number, on = onFirst(heldTenthsA, ALL_PHASES)): void {
    const held = onFirst(heldTenthsA, ALL_PHASES);
    for (const outstandingGrant of this.#kept)
      if (outstandingGrant.seq === 0)
        outstandingGrant.sure = smallerOf(outstandingGrant.sure, outstandingGrant.phases > 1 ? on : held);
  }

  /** Dates the end of the grants before `seq`, which was acknowledged; true if there were any. */
  acknowledge(seq: number, nowMs: number): boolean {
    let isReleased = false;
    for (const outstandingGrant of this.#kept) {
      if (outstandingGrant.seq >= seq) continue;
      outstandingGrant.releasedAtMs = Math.min(outstandingGrant.releasedAtMs, nowMs + this.#settleMs);
      isReleased = true;
    }
    return isReleased;
  }

  /** The lease of `seq` began at an unknown time and ends by `endsAtMs`. */
  endBy(seq: number, endsAtMs: number): void {
    for (const outstandingGrant of this.#kept)
      if (outstandingGrant.seq === seq && !outstandingGrant.isEndOpen)
        outstandingGrant.endsAtMs = Math.min(outstandingGrant.endsAtMs, endsAtMs);
  }

  /** The charger counts from its heartbeats, and did so for all earlier grants. */
  anchor(): void {
    for (const outstandingGrant of this.#kept)
      if (!outstandingGrant.isEndOpen) outstandingGrant.endsAtMs = outstandingGrant.anchoredEndsAtMs;
  }

  /** The charger does not count from its heartbeats, so the ends are unknown. */
  unanchor(): void {
    for (const outstandingGrant of this.#kept) outstandingGrant.endsAtMs = NEVER;
  }

  /** The grants may outlast their leases, also after later reports about leases. */
  openEnds(): void {
    this.unanchor();
    for (const outstandingGrant of this.#kept) outstandingGrant.isEndOpen = true;
  }

  /**
   * Records whether the charger keeps leases at `nowMs`. If it keeps them again, it may have held expired grants until
   * now. It takes the settling time to leave them.
   */
  letLeasesEnd(doLeasesEnd: boolean, nowMs: number): void {
    if (doLeasesEnd && !this.#doLeasesEnd)
      for (const outstandingGrant of this.#kept)
        outstandingGrant.endsAtMs = Math.max(outstandingGrant.endsAtMs, nowMs);
    this.#doLeasesEnd = doLeasesEnd;
  }

  /** Removes ended grants; true if there were any. */
  release(nowMs: number): boolean {
    if (this.nextEndMs > nowMs) return false;
    this.#kept = this.#kept.filter((outstandingGrant) => this.#endOf(outstandingGrant) > nowMs);
    return true;
  }

  /** The grant can no longer be in force. */
  isOver(outstandingGrant: OutstandingGrant, nowMs: number): boolean {
    return this.#endOf(outstandingGrant) <= nowMs;
  }

  #endOf({ endsAtMs, releasedAtMs }: OutstandingGrant): number {
    if (!this.#doLeasesEnd) return releasedAtMs;
    return Math.min(endsAtMs + this.#settleMs, releasedAtMs);
  }

  #awaitedUntilMs(outstandingGrant: OutstandingGrant): number {
    return Math.min(this.#endOf(outstandingGrant), outstandingGrant.anchoredEndsAtMs + this.#settleMs);
  }

  #mostOf(isMeant: (outstandingGrant: OutstandingGrant) => boolean): OwnPhases {
    let [first, second, third] = NO_CURRENT;
    for (const outstandingGrant of this.#kept) {
      if (!isMeant(outstandingGrant)) continue;
      const { limitTenthsA, phases } = outstandingGrant;
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

/** Fallback of the newest acknowledged grant, and fallbacks of newer unacknowledged ones. */
export class Fallbacks {
  #acknowledged: OwnPhases;
  #unacknowledged: Fallback[] = [];

  constructor(currents: OwnPhases) {
    this.#acknowledged = currents;
  }

  /** The highest of them on each phase. */
  get most(): OwnPhases {
    let most = this.#acknowledged;
    for (const { currents } of this.#unacknowledged) most = largerOf(most, currents);
    return most;
  }

  /** Adds the fallback of the newest grant `seq`. */
  add(seq: number, tenthsA: number, phases: PhaseCount): void {
    const newest = this.#unacknowledged.at(-1)?.currents ?? this.#acknowledged;
    if (isOnFirst(newest, tenthsA, phases)) return;
    this.#unacknowledged.push({ fromSeq: seq, currents: onFirst(tenthsA, phases) });
    if (this.#unacknowledged.length > FALLBACKS_KEPT)
      this.raise(this.#unacknowledged.shift()?.currents ?? NO_CURRENT);
  }

  /** Acknowledges grant `seq`. Returns the fallback that ends by that; no current if the new one covers it. */
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

  /** The charger may be at these currents, regardless of acknowledgements. */
  raise(currents: OwnPhases): void {
    this.#acknowledged = largerOf(this.#acknowledged, currents);
  }

  /** The phase counts of the fallbacks are no longer reliable. */
  widen(): void {
    this.#acknowledged = onFirst(this.#acknowledged[0], ALL_PHASES);
    this.#unacknowledged = this.#unacknowledged.map(({ fromSeq, currents }) => ({
      fromSeq,
      currents: onFirst(currents[0], ALL_PHASES),
    }));
  }
}
