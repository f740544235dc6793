// How a service heard that a charger counts leases, and what of that it forgets where it dies.
import type { LeaseKind } from '../../machines/power/grant.js';

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
   * The service died. True where it had heard that there is no lease, and no earlier than what is surely on disk: the next service
   * takes the charger for what it was before, until it says so again.
   */
  lose(storedUntilMs: number): boolean {
    const before = this.#before;
    if (this.#kind !== 'none' || before === undefined) return false;
    if (before.endedAtMs < storedUntilMs) return false;
    this.#kind = before.kind;
    return true;
  }
}
