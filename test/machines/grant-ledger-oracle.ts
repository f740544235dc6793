// Works out a connector's entitlement the slow way: it searches every grant and acknowledgement anew.
import type { GrantTiming, LeaseKind } from '../../machines/power/grant.js';

interface Given {
  readonly seq: number;
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  readonly receivedAtMs: number;
  readonly lease: LeaseKind;
  /** Applies to this number of the connector's phases, from the first one on. */
  readonly phases: number;
}

/** One connector. Currents in tenths of A, times of one clock in ms. */
export class HoldingOracle {
  isWorstCase = false;
  /** The charger has reported its fallback. Until then, it may be one that keeps `thenA`. */
  isDescribed = false;
  /**
   * False once the connector has more grants than the ledger can keep apart, because the ledger's memory is bounded.
   */
  isWithinMemory = true;
  readonly phases: number;
  readonly #timing: GrantTiming;
  readonly #maxTenthsA: number;
  readonly #ownTenthsA: number;
  readonly #keepsThen: boolean;
  #lease: LeaseKind;
  readonly #given: Given[] = [];
  readonly #acks: { readonly seq: number; readonly atMs: number }[] = [];
  #restored:
    | (Pick<Given, 'limitTenthsA' | 'thenTenthsA' | 'phases'> & { readonly endsAtMs: number })
    | undefined;
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
    const endsAtMs =
      this.#lease === 'heartbeat' ? nowMs + 1.02 * this.#timing.ttlMs : Number.POSITIVE_INFINITY;
    this.#restored = { limitTenthsA, thenTenthsA, phases, endsAtMs };
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
    receivedAtMs: number,
    nowMs: number,
  ): number {
    const seq = this.lastSeq + 1;
    this.#given.push({ seq, limitTenthsA, thenTenthsA, receivedAtMs, phases, lease: this.#lease });
    const unsettled = this.#given.filter((each) => each.seq > this.#ackedSeq);
    this.isWithinMemory &&= this.#inForce(nowMs).length < 16 && unsettled.length < 4;
    return seq;
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
    if (seq > this.#ackedSeq && seq <= this.lastSeq) this.#acks.push({ seq, atMs });
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
    const newest = this.#given.at(-1);
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
    const limits = this.#inForce(nowMs).map((each) => (isGivenFor(each) ? each.limitTenthsA : 0));
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
    const { limitTenthsA, endsAtMs } = this.#restored;
    return this.#isOver(0, endsAtMs, nowMs) ? 0 : limitTenthsA;
  }

  #inForce(nowMs: number): Given[] {
    return this.#given.filter((each) => !this.#isOver(each.seq, this.#endOf(each), nowMs));
  }

  #isOver(seq: number, endsAtMs: number, nowMs: number): boolean {
    const { settleMs } = this.#timing;
    const isSuperseded = this.#acks.some((ack) => ack.seq > seq && nowMs >= ack.atMs + settleMs);
    return isSuperseded || nowMs >= endsAtMs + settleMs;
  }

  #endOf({ seq, receivedAtMs, lease }: Given): number {
    const lastsMs = 1.02 * this.#timing.ttlMs;
    if (lease === 'heartbeat') return receivedAtMs + lastsMs;
    const ack = lease === 'receipt' ? this.#acks.find((each) => each.seq === seq) : undefined;
    return ack === undefined ? Number.POSITIVE_INFINITY : ack.atMs + lastsMs;
  }
}
