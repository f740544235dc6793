// The host of one node in a world: it may be killed, freeze and thaw, be cut off from database or broker, and have a wrong clock.

import type { Clock } from '../../src/ports/clock.js';
import { StoreUnavailableError } from '../../src/ports/store.js';

/** Longer than any node waits for itself to end; what a dead one goes on asking for without end is a defect. */
const MOST_TIMERS_OF_THE_DEAD = 10_000;

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
}

export class NodeHost {
  isCutFromDatabase = false;
  isCutFromBroker = false;
  /** What it asks of other nodes does not arrive, or what they answer does not. */
  cutFromNodes: 'requests' | 'answers' | undefined;
  wasFrozen = false;
  /** By how much its wall clock is ahead, ms. */
  aheadMs = 0;
  /** The clocks and timers of what runs on it. */
  readonly clock: Clock;
  readonly #trueClock: Clock;
  #isLiving = true;
  #isFrozen = false;
  /** What came while it was frozen, in order. */
  #late: (() => void)[] = [];
  readonly #waiters = new Set<Waiter>();
  /** Told when it freezes or dies. */
  #whenStill: (() => void)[] = [];
  #timersOfTheDead = 0;

  constructor(trueClock: Clock) {
    this.#trueClock = trueClock;
    this.clock = {
      nowMs: () => trueClock.nowMs() + this.aheadMs,
      monotonicMs: () => trueClock.monotonicMs(),
      after: (delayMs, callback) => this.#after(delayMs, callback),
    };
  }

  get isLiving(): boolean {
    return this.#isLiving;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  /** It is gone: no timer that it set fires, and whatever it waits for fails. What is left is to close its sockets and files. */
  die(): void {
    this.#isLiving = false;
    this.#late = [];
    for (const { reject } of this.#waiters) reject(new StoreUnavailableError('the node is dead'));
    this.#waiters.clear();
    this.#tellStill();
  }

  /** Resolves when it freezes or dies. */
  still(): Promise<void> {
    return new Promise((resolve) => this.#whenStill.push(resolve));
  }

  /** Nothing of it moves; what comes meanwhile waits. */
  freeze(): void {
    this.wasFrozen = true;
    this.#isFrozen = true;
    this.#tellStill();
  }

  thaw(): void {
    if (!this.#isFrozen) return;
    this.#isFrozen = false;
    for (const work of this.#late.splice(0)) work();
  }

  /** Now, or once it thaws; never where it is dead. */
  whenItMoves(work: () => void): void {
    if (!this.#isLiving) return;
    if (this.#isFrozen) this.#late.push(work);
    else work();
  }

  /** Resolves once it moves. @throws StoreUnavailableError where it is dead. */
  moving(): Promise<void> {
    return this.#waitFor((done) => this.whenItMoves(done));
  }

  /** Resolves when so much time has passed for it. @throws StoreUnavailableError where it is dead. */
  pass(ms: number): Promise<void> {
    return this.#waitFor((done) => void this.clock.after(ms, done));
  }

  #tellStill(): void {
    for (const tell of this.#whenStill.splice(0)) tell();
  }

  #waitFor(begin: (done: () => void) => void): Promise<void> {
    if (!this.#isLiving) return Promise.reject(new StoreUnavailableError('the node is dead'));
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { resolve, reject };
      this.#waiters.add(waiter);
      begin(() => {
        if (this.#waiters.delete(waiter)) resolve();
      });
    });
  }

  #after(delayMs: number, callback: () => void): () => void {
    let isCancelled = false;
    const fire = () => {
      if (!isCancelled) callback();
    };
    // What closes the sockets and files of the dead waits for nothing: no time passes for it.
    if (!this.#isLiving) {
      if (++this.#timersOfTheDead > MOST_TIMERS_OF_THE_DEAD)
        throw new Error('a dead node does not come to rest');
      setImmediate(fire);
      return () => {
        isCancelled = true;
      };
    }
    const cancel = this.#trueClock.after(delayMs, () => this.whenItMoves(fire));
    return () => {
      isCancelled = true;
      cancel();
    };
  }
}
