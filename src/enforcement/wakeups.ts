// When each location looks at itself again, on one heap over one host timer of the monotonic clock.
import FlatQueue from 'flatqueue';
import type { Cancel, Clock } from '../ports/clock.js';

/** Something that wants to be woken. */
export interface Sleeper {
  /** On the monotonic clock; undefined while it sleeps for good. The wakeups alone write it. */
  wakeAtMs: number | undefined;
}

// So that others get their turn in between when thousands wake at once.
const BATCH = 200;
const LONGEST_MS = 3_600_000;

export class Wakeups<S extends Sleeper> {
  readonly #clock: Clock;
  readonly #onWake: (sleeper: S, nowMs: number) => void;
  // An entry counts only while its sleeper still wants that time.
  readonly #heap = new FlatQueue<S>();
  #cancelTimer: Cancel | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #isRunning = false;

  /** @param onWake told of each in the order of their times; must not throw. */
  constructor(clock: Clock, onWake: (sleeper: S, nowMs: number) => void) {
    this.#clock = clock;
    this.#onWake = onWake;
  }

  /** Wakes it at `atMs`, or earlier where that was asked for before. */
  wakeBy(sleeper: S, atMs: number): void {
    if (sleeper.wakeAtMs !== undefined && sleeper.wakeAtMs <= atMs) return;
    sleeper.wakeAtMs = atMs;
    this.#heap.push(sleeper, atMs);
    this.#setTimer();
  }

  /** The same, so long from now. */
  wakeIn(sleeper: S, delayMs: number): void {
    this.wakeBy(sleeper, this.#clock.monotonicMs() + delayMs);
  }

  start(): void {
    this.#isRunning = true;
    this.#setTimer();
  }

  stop(): void {
    this.#isRunning = false;
    this.#cancelTimer?.();
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }

  #nextAtMs(): number | undefined {
    for (;;) {
      const atMs = this.#heap.peekValue();
      if (atMs === undefined || this.#heap.peek()?.wakeAtMs === atMs) return atMs;
      this.#heap.pop();
    }
  }

  #wake(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonicMs();
    for (let woken = 0; woken < BATCH; woken++) {
      const atMs = this.#nextAtMs();
      if (atMs === undefined || atMs > nowMs) break;
      const sleeper = this.#heap.pop();
      if (sleeper === undefined) break;
      sleeper.wakeAtMs = undefined;
      this.#onWake(sleeper, nowMs);
    }
    this.#setTimer();
  }

  #setTimer(): void {
    const atMs = this.#nextAtMs();
    if (!this.#isRunning || atMs === undefined || atMs >= this.#timerAtMs) return;
    this.#cancelTimer?.();
    this.#timerAtMs = atMs;
    const delayMs = Math.max(Math.ceil(atMs - this.#clock.monotonicMs()), 0);
    this.#cancelTimer = this.#clock.after(Math.min(delayMs, LONGEST_MS), () => this.#wake());
  }
}
