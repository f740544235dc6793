// The host of one node in a world. It can die, freeze and thaw, lose the database or the broker, and have a wrong
// clock.

import type { Clock } from '../../src/ports/clock.js';
import { StoreUnavailableError } from '../../src/ports/store.js';

/** More than any node needs to end; a dead node that sets timers without end has a defect. */
const MOST_TIMERS_OF_THE_DEAD = 10_000;

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
}

export class NodeHost {
  isCutFromDatabase = false;
  isCutFromBroker = false;
  /** Its requests to other nodes are lost, or their answers are. */
  cutFromNodes: 'requests' | 'answers' | undefined;
  wasFrozen = false;
  /** Lead of its wall clock, ms. */
  aheadMs = 0;
  /** Clock and timers of the software on this host. */
  readonly clock: Clock;
  readonly #trueClock: Clock;
  #isLiving = true;
  #isFrozen = false;
  /** Work that arrived while the host was frozen, in order. */
  #late: (() => void)[] = [];
  readonly #waiters = new Set<Waiter>();
  /** Called when the host freezes or dies. */
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

  /**
   * Kills the host: none of its timers fires, and all its waits fail. Only its sockets and files remain to be
   * closed.
   */
  die(): void {
    this.#isLiving = false;
    this.#late = [];
    for (const { reject } of this.#waiters) reject(new StoreUnavailableError('the node is dead'));
    this.#waiters.clear();
    this.#tellStill();
  }

  /** Resolves when the host freezes or dies. */
  still(): Promise<void> {
    return new Promise((resolve) => this.#whenStill.push(resolve));
  }

  /** Stops all work; work that arrives meanwhile waits. */
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

  /** Runs `work` now, or once the host thaws; never on a dead host. */
  whenItMoves(work: () => void): void {
    if (!this.#isLiving) return;
    if (this.#isFrozen) this.#late.push(work);
    else work();
  }

  /** Resolves once the host is not frozen. @throws StoreUnavailableError if the host is dead */
  moving(): Promise<void> {
    return this.#waitFor((done) => this.whenItMoves(done));
  }

  /** Resolves after `ms` of the host's time. @throws StoreUnavailableError if the host is dead */
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
    // Closing the sockets and files of a dead host takes no virtual time.
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
