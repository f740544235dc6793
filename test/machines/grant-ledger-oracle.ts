// Works out a connector's entitlement the slow way: it searches every grant and acknowledgement anew.
import type { GrantTiming, LeaseKind } from '../../machines/ledger/grant.js';

interface Given {
  readonly seq: number;
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  /** End of the lease if the charger counts it from its heartbeats, on the slowest clock. */
  readonly heartbeatUntilMs: number;
  /** The charger counted leases like this at the time of the grant. */
  readonly lease: LeaseKind;
  /** Number of events before the grant. */
  readonly afterEvents: number;
  /** Applies to this number of the connector's phases, from the first one on. */
  readonly phases: number;
}

/** Reports of the charger that change the end of earlier grants. */
type Event =
  | { readonly kind: 'ack'; readonly seq: number; readonly atMs: number }
  | { readonly kind: 'lease'; readonly lease: LeaseKind; readonly isFirst: boolean; readonly atMs: number }
  | { readonly kind: 'openEnd'; readonly atMs: number };

/** One connector. Currents in tenths of A, times of one clock in ms. */
export class HoldingOracle {
  isWorstCase = false;
  /** The charger has reported its fallback. Until then, it may be one that keeps `thenA`. */
  isDescribed = false;
  /**
   * False once the connector has more grants than the ledger can keep apart, because the ledger's memory is bounded.
   */
  isWithinMemory = true;
  /** False once the ledger may keep a renewal and the grant that it renews as one, with the open end of the earlier. */
  areEndsKnown = true;
  readonly phases: number;
  readonly #timing: GrantTiming;
  readonly #maxTenthsA: number;
  readonly #ownTenthsA: number;
  readonly #keepsThen: boolean;
  #lease: LeaseKind;
  readonly #given: Given[] = [];
  readonly #acks: { readonly seq: number; readonly atMs: number }[] = [];
  readonly #events: Event[] = [];
  /** Grants pending persistence, or withdrawn from it. They may be in force, but not for certain. */
  readonly #unsent = new Set<number>();
  #isEndOpen = false;
  #restored: Given | undefined;
  /** On each phase, the part of the stored limit that the charger surely holds. */
  #sureTenthsA = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  /** Grants up to this one count on all phases. */
  #widenedAfterSeq = -1;
  /** The charger has lost all grants up to this one. */
  #restartedAfterSeq = -1;
  /** The charger has also lost `thenA` of all grants up to this one. */
  #forgotAfterSeq = -1;

  constructor(
    timing: GrantTiming,
    spec: { maxTenthsA: number; failsafeTenthsA: number; keepsThen: boolean; lease: LeaseKind },
    phases: number,
  ) {
    this.#timing = timing;
    this.phases = phases;
    this.#maxTenthsA = spec.maxTenthsA;
    this.#ownTenthsA = spec.failsafeTenthsA;
    this.#keepsThen = spec.keepsThen;
    this.#lease = spec.lease;
  }

  get lastSeq(): number {
    return this.#given.at(-1)?.seq ?? 0;
  }

  /** The charger reports this, or the stored row implies it: otherwise at least its own fail-safe would be stored. */
  get #keeps(): boolean {
    if (this.isDescribed || this.#restored === undefined) return this.#keepsThen;
    const { limitTenthsA, thenTenthsA, phases } = this.#restored;
    const leastTenthsA = phases < this.phases ? 0 : Math.max(limitTenthsA, thenTenthsA);
    return this.#keepsThen || leastTenthsA < this.#ownTenthsA;
  }

  get #ackedSeq(): number {
    return Math.max(0, ...this.#acks.map(({ seq }) => seq));
  }

  restore(limitTenthsA: number, thenTenthsA: number, phases: number, nowMs: number): void {
    const heartbeatUntilMs = nowMs + 1.02 * this.#timing.ttlMs;
    const restored = { seq: 0, limitTenthsA, thenTenthsA, phases, heartbeatUntilMs };
    this.#restored = { ...restored, lease: this.#lease, afterEvents: this.#events.length };
  }

  /**
   * The charger reports `tenthsA` as its part of the stored limit. If that may be for several phases, this is sure only
   * on the first `phases` phases.
   */
  hold(tenthsA: number, phases: number): void {
    const isForOne = this.#restored !== undefined && this.#phasesOf(this.#restored) === 1;
    this.#sureTenthsA = this.#sureTenthsA.map((sureTenthsA, own) =>
      Math.min(sureTenthsA, isForOne || own < phases ? tenthsA : 0),
    );
  }

  grant(
    limitTenthsA: number,
    thenTenthsA: number,
    phases: number,
    { receivedAtMs, ttlMs, isWaiting }: { receivedAtMs: number; ttlMs: number; isWaiting: boolean },
    nowMs: number,
  ): number {
    const seq = this.lastSeq + 1;
    const heartbeatUntilMs = receivedAtMs + 1.02 * ttlMs;
    const given = { seq, limitTenthsA, thenTenthsA, heartbeatUntilMs, phases };
    this.#given.push({ ...given, lease: this.#lease, afterEvents: this.#events.length });
    if (isWaiting) this.#unsent.add(seq);
    const unsettled = this.#given.filter((each) => each.seq > this.#ackedSeq);
    this.isWithinMemory &&= this.#inForce(nowMs).length < 16 && unsettled.length < 4;
    return seq;
  }

  /** The newest grant was stored and has left, unless its charger has lost it meanwhile. */
  leave(): void {
    const { lastSeq } = this;
    if (lastSeq > this.#widenedAfterSeq && lastSeq > this.#forgotAfterSeq) this.#unsent.delete(lastSeq);
  }

  /** The charger reports how it counts leases, with or without its fallback. */
  report(lease: LeaseKind, isDescribing: boolean, atMs: number): void {
    this.#events.push({ kind: 'lease', lease, isFirst: isDescribing && !this.isDescribed, atMs });
    this.isDescribed ||= isDescribing;
    this.#lease = lease;
    this.#checkEnds();
  }

  /** All grants until now may outlast their leases. */
  openEnd(atMs: number): void {
    this.#events.push({ kind: 'openEnd', atMs });
    this.#isEndOpen = true;
    this.#checkEnds();
  }

  #checkEnds(): void {
    this.areEndsKnown &&= !this.#isEndOpen || this.#lease === 'heartbeat';
    this.isWithinMemory &&= this.areEndsKnown;
  }

  /** Counts all grants until now on all phases. */
  widen(): void {
    this.#widenedAfterSeq = this.lastSeq;
  }

  /** The charger restarted. Earlier grants may still be in force, but they count as ended for `lastingTenthsA`. */
  restart(): void {
    this.#restartedAfterSeq = this.lastSeq;
    if (!this.#keeps) this.#forgotAfterSeq = this.lastSeq;
  }

  acknowledge(seq: number, atMs: number): void {
    if (seq <= this.#ackedSeq || seq > this.lastSeq) return;
    this.#acks.push({ seq, atMs });
    this.#events.push({ kind: 'ack', seq, atMs });
  }

  /** Highest current on the connector's phase number `own` by all grants and fallbacks. */
  entitledTenthsA(nowMs: number, own = 0): number {
    const limits = this.#inForce(nowMs).map((each) => (this.#isFor(each, own) ? each.limitTenthsA : 0));
    const fallback = this.#fallbackTenthsA(nowMs - this.#timing.settleMs, own);
    return Math.min(this.#maxTenthsA, Math.max(fallback, this.#restoredTenthsA(nowMs, own), ...limits));
  }

  boundTenthsA(nowMs: number, own = 0): number {
    return this.isWorstCase ? this.#maxTenthsA : this.entitledTenthsA(nowMs, own);
  }

  /** Remaining entitlement on phase number `own` after the end of everything except the newest grant. */
  lastingTenthsA(nowMs: number, own: number): number {
    if (this.isWorstCase) return this.#maxTenthsA;
    const ownTenthsA = this.#keeps || !this.isDescribed ? 0 : this.#ownTenthsA;
    const newest = this.#given.findLast(({ seq }) => !this.#unsent.has(seq));
    if (newest === undefined || own >= this.#phasesOf(newest)) return ownTenthsA;
    // A grant that counts on additional phases does not entitle the connector to its current there.
    if (newest.seq <= this.#widenedAfterSeq) return ownTenthsA;
    const isHeld = newest.seq > this.#restartedAfterSeq;
    const limit = isHeld && this.#inForce(nowMs).includes(newest) ? newest.limitTenthsA : 0;
    const then = newest.seq > this.#forgotAfterSeq ? newest.thenTenthsA : 0;
    return Math.max(ownTenthsA, limit, then);
  }

  /** The part of the entitlement on phase number `own` that is surely in force. */
  coveredTenthsA(nowMs: number, own: number): number {
    const isGivenFor = ({ phases }: { readonly phases: number }) => own < this.#phasesOf({ phases });
    const limits = this.#inForce(nowMs).map((each) =>
      isGivenFor(each) && !this.#unsent.has(each.seq) ? each.limitTenthsA : 0,
    );
    const isRestoredFor = this.#restored !== undefined && isGivenFor(this.#restored);
    const sureTenthsA = this.#sureTenthsA[own] ?? 0;
    const restored = isRestoredFor ? Math.min(this.#restoredTenthsA(nowMs, own), sureTenthsA) : 0;
    const mostTenthsA = Math.max(this.lastingTenthsA(nowMs, own), restored, ...limits);
    return Math.min(this.boundTenthsA(nowMs, own), mostTenthsA);
  }

  /** The unconditional reserve (R24). */
  get ownFailsafeTenthsA(): number {
    return this.#keeps ? 0 : this.#ownTenthsA;
  }

  fallbackTenthsA(own = 0): number {
    return this.#fallbackTenthsA(Number.POSITIVE_INFINITY, own);
  }

  #phasesOf({ phases }: { readonly phases: number }): number {
    return phases >= this.phases ? Number.POSITIVE_INFINITY : phases;
  }

  #isFor(given: { readonly seq: number; readonly phases: number }, own: number): boolean {
    return own < this.#phasesOf(given) || given.seq <= this.#widenedAfterSeq;
  }

  /** Fallback by the acknowledgements until `ackedByMs`. */
  #fallbackTenthsA(ackedByMs: number, own: number): number {
    const before = this.#restored ?? { thenTenthsA: this.#ownTenthsA, phases: this.phases };
    const sent = [{ ...before, seq: 0 }, ...this.#given];
    const acked = this.#acks.filter(({ atMs }) => atMs <= ackedByMs).map(({ seq }) => seq);
    const settled = sent.findLastIndex(({ seq }) => seq <= Math.max(0, ...acked));
    const then = sent.slice(settled).map((each) => (this.#isFor(each, own) ? each.thenTenthsA : 0));
    return Math.max(this.ownFailsafeTenthsA, ...then);
  }

  #restoredTenthsA(nowMs: number, own: number): number {
    if (this.#restored === undefined || !this.#isFor({ ...this.#restored, seq: 0 }, own)) return 0;
    return this.#isOver(this.#restored, nowMs) ? 0 : this.#restored.limitTenthsA;
  }

  #inForce(nowMs: number): Given[] {
    return this.#given.filter((each) => !this.#isOver(each, nowMs));
  }

  #isOver(given: Given, nowMs: number): boolean {
    const { settleMs } = this.#timing;
    const isSuperseded = this.#acks.some((ack) => ack.seq > given.seq && nowMs >= ack.atMs + settleMs);
    return isSuperseded || nowMs >= this.#endOf(given) + settleMs;
  }

  /** End of the lease, by all events since the grant in their order. */
  #endOf({ seq, heartbeatUntilMs, lease: first, afterEvents }: Given): number {
    let lease = first;
    let endMs = lease === 'heartbeat' ? heartbeatUntilMs : Number.POSITIVE_INFINITY;
    for (const event of this.#events.slice(afterEvents)) {
      if (lease !== 'none' && event.atMs >= endMs + this.#timing.settleMs) return endMs;
      if (event.kind === 'openEnd') return Number.POSITIVE_INFINITY;
      if (event.kind === 'ack') {
        if (event.seq === seq) endMs = Math.min(endMs, event.atMs + 1.02 * this.#timing.ttlMs);
        continue;
      }
      if (event.lease === 'receipt' && lease !== 'receipt') endMs = Number.POSITIVE_INFINITY;
      if (event.isFirst && event.lease === 'heartbeat' && lease !== 'none') endMs = heartbeatUntilMs;
      // It may have held the grant until now.
      if (lease === 'none' && event.lease !== 'none') endMs = Math.max(endMs, event.atMs);
      lease = event.lease;
    }
    return lease === 'none' ? Number.POSITIVE_INFINITY : endMs;
  }
}
