// How a service heard that a charger counts leases, and what of that it forgets where it dies.
import type { LeaseKind } from '../../machines/power/grant.js';

/** What it heard is on disk by then. */
const STORED_WITHIN_MS = 1_000;

export class LeaseHeard {
  #kind: LeaseKind = 'heartbeat';
  #noneAtMs = Number.NEGATIVE_INFINITY;
  #before: { readonly kind: LeaseKind; readonly endedAtMs: number } | undefined;

  get kind(): LeaseKind {
    return this.#kind;
  }

  /** When it was last heard to keep none, or to keep one again. */
  get noneAtMs(): number {
    return this.#noneAtMs;
  }

  hear(kind: LeaseKind, nowMs: number): void {
    if (kind === 'none' || this.#kind === 'none') this.#noneAtMs = nowMs;
    if (kind !== this.#kind) this.#before = { kind: this.#kind, endedAtMs: nowMs };
    this.#kind = kind;
  }

  /**
   * The service died. True where it had heard a moment ago that there is no lease: that may be on no disk, and the next service takes
   * the charger for what it was before, until it says so again.
   */
  lose(nowMs: number): boolean {
    const before = this.#before;
    if (this.#kind !== 'none' || before === undefined) return false;
    if (nowMs - before.endedAtMs > STORED_WITHIN_MS) return false;
    this.#kind = before.kind;
    return true;
  }
}
