// The ownership lease of this node. After its end no limit leaves the node, even if a
// frozen process goes on or a connection comes back.
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Held, Ownership } from '../ports/ownership.js';
import { createRareLog, type RareLog } from '../rare-log.js';

/** Renewals in the length of a lease. */
const RENEWALS = 4;
const AGAIN_AFTER_MS = 250;
/**
 * A database that is slow for a moment is no reason to refuse requests: it fences
 * their writes, and no other node owns it so soon.
 */
const ANSWERS_AFTER_MS = 2_000;

interface TenureOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly ownership: Pick<Ownership, 'renew'>;
  /** The owned thing in log lines. */
  readonly owned: string;
  /** Length of a claim or renewal. */
  readonly leaseMs: number;
  /** Another node owns it. Called once. */
  readonly onLost: () => void;
}

/** One ownership term of this node. */
export class OwnershipLease implements Held {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #rareLog: RareLog;
  readonly #ownership: Pick<Ownership, 'renew'>;
  readonly #leaseMs: number;
  readonly #onLost: () => void;
  readonly #owned: string;
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  #isOver = false;
  #cancel: Cancel = () => {};
  #renewing: Promise<void> = Promise.resolve();

  constructor(options: TenureOptions) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#rareLog = createRareLog(options.clock);
    this.#ownership = options.ownership;
    this.#leaseMs = options.leaseMs;
    this.#onLost = options.onLost;
    this.#owned = options.owned;
  }

  /** @param askedAtMs time at which the claim was sent; the database counts from its receipt, which is later */
  begin(askedAtMs: number): void {
    this.#heldUntilMs = askedAtMs + this.#leaseMs;
    this.#renewAfter(this.#nextRenewalMs());
  }

  /** By the clock: a process that was frozen must not wait for an answer of the database. */
  isHeld(): boolean {
    return !this.#isOver && this.#clock.monotonicMs() < this.#heldUntilMs;
  }

  mayAnswer(): boolean {
    return !this.#isOver && this.#clock.monotonicMs() - ANSWERS_AFTER_MS < this.#heldUntilMs;
  }

  /** Ends the renewals. Resolves after a renewal under way. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#cancel();
    await this.#renewing;
  }

  /** At instants that all ownership leases of a node share, so that their renewals can share a commit. */
  #nextRenewalMs(): number {
    const everyMs = this.#leaseMs / RENEWALS;
    return everyMs - (this.#clock.monotonicMs() % everyMs);
  }

  #renewAfter(delayMs: number): void {
    if (this.#isOver) return;
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#renewing = this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const askedAtMs = this.#clock.monotonicMs();
    let isOurs: boolean | undefined;
    try {
      isOurs = await this.#ownership.renew();
    } catch (error) {
      this.#rareLog('renewal', () =>
        this.#log.warn({ err: error }, `the ownership of ${this.#owned} could not be renewed; trying again`),
      );
    }
    if (this.#isOver) return;
    if (isOurs === false) {
      this.#isOver = true;
      this.#onLost();
      return;
    }
    if (isOurs === true) this.#heldUntilMs = askedAtMs + this.#leaseMs;
    this.#renewAfter(isOurs === true ? this.#nextRenewalMs() : AGAIN_AFTER_MS);
  }
}
