// Due work of a world, on one heap beside the virtual clock; ties keep the order of their insertion.
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../../machines/values/time.js';
import type { Clock } from '../../src/ports/clock.js';

/** Due work as an object, which saves a closure for each. */
export interface Happening {
  happen(): void;
}

// Doubles hold integers up to 2^53: a world may run for days with a million entries at one millisecond.
const TIES = 2 ** 20;

/** Items by instant, a whole number of ms: the earliest comes first, ties keep the order of their insertion. */
export class ByInstant<T> {
  readonly #heap = new FlatQueue<T>();
  #made = 0;

  put(item: T, atMs: number): void {
    if (Number.isNaN(atMs)) throw new RangeError('nothing can happen at an instant that is no number');
    this.#made = (this.#made + 1) % TIES;
    this.#heap.push(item, atMs * TIES + this.#made);
  }

  /** Instant of the first item; infinite without items. */
  get nextMs(): number {
    const rank = this.#heap.peekValue();
    return rank === undefined ? Number.POSITIVE_INFINITY : Math.floor(rank / TIES);
  }

  /** Returns the first item, which stays. */
  get next(): T | undefined {
    return this.#heap.peek();
  }

  take(): T | undefined {
    return this.#heap.pop();
  }

  get length(): number {
    return this.#heap.length;
  }
}

/** The time of a world, and the work that is due in it. */
export class Agenda {
  readonly #waiting = new ByInstant<Happening | (() => void)>();
  readonly #clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;

  constructor(clock: Pick<Clock, 'nowMs' | 'monotonicMs'>) {
    this.#clock = clock;
  }

  nowMs(): EpochMs {
    return this.#clock.nowMs();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  /** Runs `work` at `atMs` of the monotonic clock, rounded up to whole ms, or at once if that has passed. */
  at(atMs: number, work: Happening | (() => void)): void {
    this.#waiting.put(work, Math.max(Math.ceil(atMs), this.#clock.monotonicMs()));
  }

  after(ms: number, work: Happening | (() => void)): void {
    this.at(this.#clock.monotonicMs() + ms, work);
  }

  /** Instant of the next work; infinite without work. */
  get nextMs(): number {
    return this.#waiting.nextMs;
  }

  /** Runs the next work, after the caller has moved the clock to its instant. */
  happen(): void {
    const work = this.#waiting.take();
    if (typeof work === 'function') work();
    else work?.happen();
  }

  get length(): number {
    return this.#waiting.length;
  }
}
