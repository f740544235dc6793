// Keeps what this node owns for as long as it can prove that: once its lease has ended, nothing leaves, whoever thaws or returns.
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Held, Ownership } from '../ports/ownership.js';
import { createRareLog, type RareLog } from '../rare-log.js';

/** A lease is renewed so many times in its length. */
const RENEWALS = 4;
const AGAIN_AFTER_MS = 250;
/** A database that is slow for a moment is no reason to refuse requests: it fences what they write, and nobody owns it so soon. */
const ANSWERS_AFTER_MS = 2_000;

interface TenureOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly ownership: Pick<Ownership, 'renew'>;
  /** What is owned, as people are told. */
  readonly owned: string;
  /** How long a claim or renewal lasts. */
  readonly leaseMs: number;
  /** Another node owns it. Told once. */
  readonly onLost: () => void;
}

/** One term of this node as owner. */
export class Tenure implements Held {
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

  /** @param askedAtMs when the claim was sent: the database counts from when it took it, which is later. */
  begin(askedAtMs: number): void {
    this.#heldUntilMs = askedAtMs + this.#leaseMs;
    this.#renewAfter(this.#nextRenewalMs());
  }

  /** A process that was frozen finds out by its clock, before it is told. */
  isHeld(): boolean {
    return !this.#isOver && this.#clock.monotonicMs() < this.#heldUntilMs;
  }

  mayAnswer(): boolean {
    return !this.#isOver && this.#clock.monotonicMs() - ANSWERS_AFTER_MS < this.#heldUntilMs;
  }

  /** Renews no more; resolves when a renewal under way is over. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#cancel();
    await this.#renewing;
  }

  /** At instants that all tenures of a node share, so that their renewals can share a commit. */
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
