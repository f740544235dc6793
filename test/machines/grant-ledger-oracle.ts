// What a connector may be entitled to, worked out the slow way: every grant and acknowledgement ever, looked through anew.
import type { GrantTiming, LeaseKind } from '../../machines/power/grant.js';

interface Given {
  readonly seq: number;
  readonly limitTenthsA: number;
  readonly thenTenthsA: number;
  readonly heardAtMs: number;
  readonly lease: LeaseKind;
}

/** One connector. Currents in tenths of A; times of one clock in ms. */
export class HoldingOracle {
  isWorstCase = false;
  /** Its charger said how it falls back; until then it may be one that keeps what it is told. */
  isDescribed = false;
  /** Whether the ledger, which keeps a bounded number of them, can still know each by itself. */
  isWithinMemory = true;
  readonly #timing: GrantTiming;
  readonly #maxTenthsA: number;
  readonly #ownTenthsA: number;
  readonly #keepsThen: boolean;
  #lease: LeaseKind;
  readonly #given: Given[] = [];
  readonly #acks: { readonly seq: number; readonly atMs: number }[] = [];
  #restored:
    | { readonly tenthsA: number; readonly thenTenthsA: number; readonly endsAtMs: number }
    | undefined;

  constructor(
    timing: GrantTiming,
    spec: { maxTenthsA: number; failsafeTenthsA: number; keepsThen: boolean; lease: LeaseKind },
  ) {
    this.#timing = timing;
    this.#maxTenthsA = spec.maxTenthsA;
    this.#ownTenthsA = spec.failsafeTenthsA;
    this.#keepsThen = spec.keepsThen;
    this.#lease = spec.lease;
  }

  get lastSeq(): number {
    return this.#given.at(-1)?.seq ?? 0;
  }

  /** It says so, or the disk does for it: less than its own fail-safe would not have been reserved otherwise. */
  get #keeps(): boolean {
    if (this.isDescribed || this.#restored === undefined) return this.#keepsThen;
    const { tenthsA, thenTenthsA } = this.#restored;
    return this.#keepsThen || Math.max(tenthsA, thenTenthsA) < this.#ownTenthsA;
  }

  get #ackedSeq(): number {
    return Math.max(0, ...this.#acks.map(({ seq }) => seq));
  }

  restore(tenthsA: number, thenTenthsA: number, nowMs: number): void {
    const endsAtMs =
      this.#lease === 'heartbeat' ? nowMs + 1.02 * this.#timing.ttlMs : Number.POSITIVE_INFINITY;
    this.#restored = { tenthsA, thenTenthsA, endsAtMs };
  }

  grant(limitTenthsA: number, thenTenthsA: number, heardAtMs: number, nowMs: number): number {
    const seq = this.lastSeq + 1;
    this.#given.push({ seq, limitTenthsA, thenTenthsA, heardAtMs, lease: this.#lease });
    const unsettled = this.#given.filter((each) => each.seq > this.#ackedSeq);
    this.isWithinMemory &&= this.#inForce(nowMs).length < 16 && unsettled.length < 4;
    return seq;
  }

  acknowledge(seq: number, atMs: number): void {
    if (seq > this.#ackedSeq && seq <= this.lastSeq) this.#acks.push({ seq, atMs });
  }

  /** The most that what it was granted, and what it may fall back to, entitles it to. */
  entitledTenthsA(nowMs: number): number {
    const limits = this.#inForce(nowMs).map(({ limitTenthsA }) => limitTenthsA);
    return Math.min(
      this.#maxTenthsA,
      Math.max(this.#fallbackTenthsA(nowMs - this.#timing.settleMs), this.#restoredTenthsA(nowMs), ...limits),
    );
  }

  boundTenthsA(nowMs: number): number {
    return this.isWorstCase ? this.#maxTenthsA : this.entitledTenthsA(nowMs);
  }

  /** What remains of it once everything but its newest grant has ended. */
  lastingTenthsA(nowMs: number): number {
    if (this.isWorstCase) return this.#maxTenthsA;
    const own = this.#keeps || !this.isDescribed ? 0 : this.#ownTenthsA;
    const newest = this.#given.at(-1);
    if (newest === undefined) return own;
    const limit = this.#inForce(nowMs).includes(newest) ? newest.limitTenthsA : 0;
    return Math.max(own, limit, newest.thenTenthsA);
  }

  fallbackTenthsA(): number {
    return this.#fallbackTenthsA(Number.POSITIVE_INFINITY);
  }

  /** By what was acknowledged until `ackedByMs`. */
  #fallbackTenthsA(ackedByMs: number): number {
    const told = [
      { seq: 0, thenTenthsA: this.#restored?.thenTenthsA ?? this.#ownTenthsA },
      ...this.#given.map(({ seq, thenTenthsA }) => ({ seq, thenTenthsA })),
    ];
    const acked = this.#acks.filter(({ atMs }) => atMs <= ackedByMs).map(({ seq }) => seq);
    const settled = told.findLastIndex(({ seq }) => seq <= Math.max(0, ...acked));
    const own = this.#keeps ? 0 : this.#ownTenthsA;
    return Math.max(own, ...told.slice(settled).map(({ thenTenthsA }) => thenTenthsA));
  }

  #restoredTenthsA(nowMs: number): number {
    if (this.#restored === undefined) return 0;
    const { tenthsA, endsAtMs } = this.#restored;
    return this.#isOver(0, endsAtMs, nowMs) ? 0 : tenthsA;
  }

  #inForce(nowMs: number): Given[] {
    return this.#given.filter((each) => !this.#isOver(each.seq, this.#endOf(each), nowMs));
  }

  #isOver(seq: number, endsAtMs: number, nowMs: number): boolean {
    const { settleMs } = this.#timing;
    const isSuperseded = this.#acks.some((ack) => ack.seq > seq && nowMs >= ack.atMs + settleMs);
    return isSuperseded || nowMs >= endsAtMs + settleMs;
  }

  #endOf({ seq, heardAtMs, lease }: Given): number {
    const lastsMs = 1.02 * this.#timing.ttlMs;
    if (lease === 'heartbeat') return heardAtMs + lastsMs;
    const ack = lease === 'receipt' ? this.#acks.find((each) => each.seq === seq) : undefined;
    return ack === undefined ? Number.POSITIVE_INFINITY : ack.atMs + lastsMs;
  }
}
