// What is to happen when in a world, on one heap beside the virtual clock; ties in the order they were made.
import FlatQueue from 'flatqueue';

/** Something that is to happen, as an object where a closure would be made for each. */
export interface Happening {
  happen(): void;
}

// Doubles hold 2^53: a world may run for days of ms with a million things at one of them.
const TIES = 2 ** 20;

/** What waits for its instant, a whole number of ms: the earliest first, ties in the order they were put there. */
export class ByInstant<T> {
  readonly #heap = new FlatQueue<T>();
  #made = 0;

  put(item: T, atMs: number): void {
    if (Number.isNaN(atMs)) throw new RangeError('nothing can happen at an instant that is no number');
    this.#made = (this.#made + 1) % TIES;
    this.#heap.push(item, atMs * TIES + this.#made);
  }

  /** Of the first; infinite where nothing waits. */
  get nextMs(): number {
    const rank = this.#heap.peekValue();
    return rank === undefined ? Number.POSITIVE_INFINITY : Math.floor(rank / TIES);
  }

  /** The first, which stays. */
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

export class Agenda {
  readonly #waiting = new ByInstant<Happening | (() => void)>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Does it at `atMs` of the monotonic clock, or at once where that has passed. Whole ms. */
  at(atMs: number, work: Happening | (() => void)): void {
    this.#waiting.put(work, Math.max(Math.ceil(atMs), this.#monotonicMs()));
  }

  /** When something happens next; infinite where nothing will. */
  get nextMs(): number {
    return this.#waiting.nextMs;
  }

  /** Does what is next, at the instant that has come. */
  happen(): void {
    const work = this.#waiting.take();
    if (typeof work === 'function') work();
    else work?.happen();
  }

  /** What waits. */
  get length(): number {
    return this.#waiting.length;
  }
}
