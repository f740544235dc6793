// Waits until a shard is vacant, owns it for an ownership term, and waits again.
import { pause } from '../pause.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { ClockDifferenceError, type Held, NotVacantError, type Ownership } from '../ports/ownership.js';
import { createRareLog, type RareLog } from '../rare-log.js';

// The ownership lease of this node. After its end no limit leaves the node, even if a
// frozen process goes on or a connection comes back.

/** Renewals in the length of a lease. */
const RENEWALS = 4;
const RENEWAL_AGAIN_AFTER_MS = 250;
/**
 * A database that is slow for a moment is no reason to refuse requests: it fences
 * their writes, and no other node owns it so soon.
 */
const ANSWERS_AFTER_MS = 2_000;

interface OwnershipLeaseOptions {
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
class OwnershipLease implements Held {
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

  constructor(options: OwnershipLeaseOptions) {
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
    this.#renewAfter(isOurs === true ? this.#nextRenewalMs() : RENEWAL_AGAIN_AFTER_MS);
  }
}

/** The work of an ownership term. */
export interface Running {
  /** Releases everything. Accepted requests are finished, and new ones wait for the next owner. */
  stop(): Promise<void>;
}

interface StandbyOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly ownership: Pick<Ownership, 'claim' | 'announce' | 'renew' | 'release'>;
  /** The owned thing in log lines. */
  readonly owned: string;
  /** Resolves once this node may claim it. Rejects with the signal's reason when that is aborted. */
  readonly awaitVacancy: (signal: AbortSignal) => Promise<void>;
  /** Resolves once another node has to own it, after which this node hands over. Rejects when the signal is aborted. */
  readonly awaitMove: (signal: AbortSignal) => Promise<void>;
  /** Called when the clock is wrong. */
  readonly onClockOff: () => void;
  readonly leaseMs: number;
  /** Starts the work of a term. If it rejects, nothing of it runs. */
  readonly begin: (ownerTerm: number, ownershipLease: Held, onLost: () => void) => Promise<Running>;
}

const CLAIM_AGAIN_AFTER_MS = 1_000;

export class Standby {
  readonly #options: StandbyOptions;
  readonly #rareLog: RareLog;
  readonly #stopping = new AbortController();
  #isClockOff = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: StandbyOptions) {
    this.#options = options;
    this.#rareLog = createRareLog(options.clock);
  }

  /** This node may not own it, because its clock and the database's differ. */
  get isClockOff(): boolean {
    return this.#isClockOff;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Ends a term under way, so that another node may begin the next at once. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#running;
  }

  async #run(): Promise<void> {
    const { awaitVacancy, log, onClockOff } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await awaitVacancy(signal);
        await this.#ownOnce(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#isClockOff = error instanceof ClockDifferenceError;
        if (this.#isClockOff) onClockOff();
        // Most claims end because another node was faster.
        if (error instanceof NotVacantError) continue;
        this.#rareLog(String(error), () =>
          log.error({ err: error }, `this node could not own ${this.#options.owned}; trying again`),
        );
        await pause(this.#options.clock, CLAIM_AGAIN_AFTER_MS, signal);
      }
    }
  }

  /** One term, from the claim until it is lost or the node stops. */
  async #ownOnce(signal: AbortSignal): Promise<void> {
    const { clock, log, ownership, owned, leaseMs, begin, awaitMove } = this.#options;
    const askedAtMs = clock.monotonicMs();
    const ownerTerm = await ownership.claim();
    this.#isClockOff = false;
    let isLost = false;
    const over = new AbortController();
    const lose = () => {
      isLost = true;
      over.abort();
    };
    const ownershipLease = new OwnershipLease({ clock, log, ownership, owned, leaseMs, onLost: lose });
    ownershipLease.begin(askedAtMs);
    try {
      const running = await begin(ownerTerm, ownershipLease, lose);
      await ownership
        .announce()
        .catch((error) =>
          log.warn({ err: error }, `the node of ${owned} could not be announced; the next renewal does that`),
        );
      log.info({ ownerTerm }, `this node owns ${owned}`);
      const ended = AbortSignal.any([signal, over.signal]);
      await awaitMove(ended).catch(() => {});
      await running.stop();
    } finally {
      await ownershipLease.end();
      if (isLost) log.warn({ ownerTerm }, `another node owns ${owned}: this one stands by`);
      else await ownership.release().catch((error) => log.warn({ err: error }, 'the lease ends by itself'));
    }
  }
}
