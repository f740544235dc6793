// Virtual time in whole ms and seeded random choices: the same seed gives the same run.
import FlatQueue from 'flatqueue';

export class Agenda {
  nowMs = 0;
  readonly #queue = new FlatQueue<() => void>();

  after(ms: number, act: () => void): void {
    this.#queue.push(act, this.nowMs + Math.max(0, Math.round(ms)));
  }

  /** Runs all tasks due up to `untilMs`, and `check` after each. */
  run(untilMs: number, check: () => void): void {
    for (;;) {
      const atMs = this.#queue.peekValue();
      if (atMs === undefined || atMs > untilMs) break;
      this.nowMs = atMs;
      this.#queue.pop()?.();
      check();
    }
    this.nowMs = untilMs;
  }
}

/** Mulberry32: small, and random enough to choose faults. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * limit);
  }

  isOneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  oneOf<T>(first: T, ...others: readonly T[]): T {
    return [first, ...others][this.below(others.length + 1)] ?? first;
  }
}
