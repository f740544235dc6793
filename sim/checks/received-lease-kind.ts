// Lease kind that the service received for a charger, and the part that a dying service forgets.
import type { LeaseKind } from '../../machines/power/grant.js';

export class ReceivedLeaseKind {
  #kind: LeaseKind = 'heartbeat';
  #noneAtMs = Number.NEGATIVE_INFINITY;
  #before: { readonly kind: LeaseKind; readonly endedAtMs: number } | undefined;

  get kind(): LeaseKind {
    return this.#kind;
  }

  /** Last report of no lease, or first report of a lease after that. */
  get noneAtMs(): number {
    return this.#noneAtMs;
  }

  receive(kind: LeaseKind, nowMs: number): void {
    if (kind === 'none' || this.#kind === 'none') this.#noneAtMs = nowMs;
    if (kind !== this.#kind) this.#before = { kind: this.#kind, endedAtMs: nowMs };
    this.#kind = kind;
  }

  /**
   * The service died. True if it had received a report of no lease that may not be on disk. The next service then
   * uses the earlier kind until another report.
   */
  lose(storedUntilMs: number): boolean {
    const before = this.#before;
    if (this.#kind !== 'none' || before === undefined) return false;
    if (before.endedAtMs < storedUntilMs) return false;
    this.#kind = before.kind;
    return true;
  }
}
