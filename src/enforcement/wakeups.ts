// Wakes each location for its next decision, with one heap and one host timer of the monotonic clock.
import FlatQueue from 'flatqueue';
import type { Cancel, Clock } from '../ports/clock.js';

export interface Sleeper {
  /** On the monotonic clock; undefined without a wake-up. Only `Wakeups` writes it. */
  wakeAtMs: number | undefined;
}

// So that other work runs in between if thousands wake at once.
const BATCH = 200;
const LONGEST_MS = 3_600_000;

export class Wakeups<S extends Sleeper> {
  readonly #clock: Clock;
  readonly #onWake: (sleeper: S, nowMs: number) => void;
  // An entry counts only while its sleeper still has that time.
  readonly #heap = new FlatQueue<S>();
  #cancelTimer: Cancel | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #isRunning = false;

  /** @param onWake called for each in order of time; must not throw. */
  constructor(clock: Clock, onWake: (sleeper: S, nowMs: number) => void) {
    this.#clock = clock;
    this.#onWake = onWake;
  }

  /** Wakes at `atMs`, or earlier if an earlier wake-up is set. */
  wakeBy(sleeper: S, atMs: number): void {
    if (sleeper.wakeAtMs !== undefined && sleeper.wakeAtMs <= atMs) return;
    sleeper.wakeAtMs = atMs;
    this.#heap.push(sleeper, atMs);
    this.#setTimer();
  }

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
