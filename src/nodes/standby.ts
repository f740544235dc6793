// A node among several: it stands by until the database, or a shard, is vacant, owns it for a term, and stands by again.
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { ClockDifferenceError, type Held, NotVacantError, type Ownership } from '../ports/ownership.js';
import { createRareLog, type RareLog } from '../rare-log.js';
import { Tenure } from './tenure.js';

/** What runs for a term. */
export interface Running {
  /** Lets go of everything; what was accepted is finished, and what comes meanwhile is kept for the next owner. */
  stop(): Promise<void>;
}

interface StandbyOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly ownership: Ownership;
  /** What is to be owned, as people are told. */
  readonly owned: string;
  /** Resolves once another node is to own it: this one hands over then. Rejects when the signal is aborted. */
  readonly awaitMove?: (signal: AbortSignal) => Promise<void>;
  /** The clock was found to be off. */
  readonly onClockOff?: () => void;
  readonly leaseMs: number;
  /** Starts what runs for a term. Rejects where that fails, and then nothing of it runs. */
  readonly begin: (ownerTerm: number, tenure: Held, onLost: () => void) => Promise<Running>;
}

const AGAIN_AFTER_MS = 1_000;

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
    const { ownership, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await ownership.awaitVacancy(signal);
        await this.#ownOnce(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#isClockOff = error instanceof ClockDifferenceError;
        if (this.#isClockOff) this.#options.onClockOff?.();
        // That another node was faster is how most claims end.
        if (error instanceof NotVacantError) continue;
        this.#rareLog(String(error), () =>
          log.error({ err: error }, `this node could not own ${this.#options.owned}; trying again`),
        );
        await this.#pause(signal);
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
    const tenure = new Tenure({ clock, log, ownership, owned, leaseMs, onLost: lose });
    tenure.begin(askedAtMs);
    try {
      const running = await begin(ownerTerm, tenure, lose);
      await ownership
        .announce()
        .catch((error) => log.warn({ err: error }, `the next renewal says that ${owned} runs here`));
      log.info({ ownerTerm }, `this node owns ${owned}`);
      const ended = AbortSignal.any([signal, over.signal]);
      await (awaitMove?.(ended).catch(() => {}) ?? aborted(ended));
      await running.stop();
    } finally {
      await tenure.end();
      if (isLost) log.warn({ ownerTerm }, `another node owns ${owned}: this one stands by`);
      else await ownership.release().catch((error) => log.warn({ err: error }, 'the lease ends by itself'));
    }
  }

  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        // It lives as long as the node: what listens to it for good would be one more each second.
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#options.clock.after(AGAIN_AFTER_MS, done);
      signal.addEventListener('abort', done);
    });
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
