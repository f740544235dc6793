// A node among several on one database: it stands by until that is vacant, owns it for a term, and stands by again.
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { ClockDifferenceError, NotVacantError, type Ownership } from '../ports/ownership.js';
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
  readonly leaseMs: number;
  /** Starts what runs for a term. Rejects where that fails, and then nothing of it runs. */
  readonly begin: (ownerTerm: number, tenure: Pick<Tenure, 'isHeld'>, onLost: () => void) => Promise<Running>;
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

  /** This node may not own the database, because its clock and the database's differ. */
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
        // That another node was faster is how most claims end.
        if (error instanceof NotVacantError) continue;
        this.#rareLog(String(error), () =>
          log.error({ err: error }, 'this node could not become the active one; trying again'),
        );
        await this.#pause(signal);
      }
    }
  }

  /** One term, from the claim until it is lost or the node stops. */
  async #ownOnce(signal: AbortSignal): Promise<void> {
    const { clock, log, ownership, leaseMs, begin } = this.#options;
    const askedAtMs = clock.monotonicMs();
    const ownerTerm = await ownership.claim();
    this.#isClockOff = false;
    let isLost = false;
    const over = new AbortController();
    const lose = () => {
      isLost = true;
      over.abort();
    };
    const tenure = new Tenure({ clock, log, ownership, leaseMs, onLost: lose });
    tenure.begin(askedAtMs);
    try {
      const running = await begin(ownerTerm, tenure, lose);
      log.info({ ownerTerm }, 'this node is the active one');
      await aborted(AbortSignal.any([signal, over.signal]));
      await running.stop();
    } finally {
      await tenure.end();
      if (isLost) log.warn({ ownerTerm }, 'another node owns the database: this one stands by');
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
