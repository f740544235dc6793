// What is to happen when in a world, on one heap beside the virtual clock; ties in the order they were made.
import FlatQueue from 'flatqueue';

/** Something that is to happen, as an object where a closure would be made for each. */
export interface Happening {
  happen(): void;
}

// Doubles hold 2^53: a world may run for days of ms with a million things at one of them.
const TIES = 2 ** 20;

export class Agenda {
  readonly #heap = new FlatQueue<Happening | (() => void)>();
  readonly #monotonicMs: () => number;
  #made = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Does it at `atMs` of the monotonic clock, or at once where that has passed. Whole ms. */
  at(atMs: number, work: Happening | (() => void)): void {
    if (Number.isNaN(atMs)) throw new RangeError('nothing can happen at an instant that is no number');
    const whenMs = Math.max(Math.ceil(atMs), this.#monotonicMs());
    this.#made = (this.#made + 1) % TIES;
    this.#heap.push(work, whenMs * TIES + this.#made);
  }

  /** When something happens next; infinite where nothing will. */
  get nextMs(): number {
    const rank = this.#heap.peekValue();
    return rank === undefined ? Number.POSITIVE_INFINITY : Math.floor(rank / TIES);
  }

  /** Does what is next, at the instant that has come. */
  happen(): void {
    const work = this.#heap.pop();
    if (typeof work === 'function') work();
    else work?.happen();
  }

  /** What waits. */
  get length(): number {
    return this.#heap.length;
  }
}
