// A clock that moves only when told to, for tests and simulations: the production code under it cannot tell.
import type { EpochMs } from '../machines/values/time.js';
import type { Cancel, Clock } from '../src/ports/clock.js';
import { ByInstant } from './world/agenda.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Both of its clocks are integers of milliseconds. Callbacks run inside the call that moves it. */
export interface VirtualClock extends Clock {
  /** Lets `ms` pass; every timer fires at its own instant, in order. */
  advance(ms: number): void;
  /** Lets time pass until the wall clock says `instant`, which must not lie in the past. */
  advanceTo(instant: EpochMs): void;
  /** The host stands still for `ms`: what fell due meanwhile fires once it is over, each timer once. */
  stall(ms: number): void;
  /** Someone sets the wall clock `byMs` forward or, below 0, back. The monotonic clock and timers know nothing of it. */
  jump(byMs: number): void;
  /** Lets time pass to the next timer, and fires it; false where none waits. */
  step(): boolean;
  /** When the next timer fires, on the monotonic clock; infinite where none waits. */
  nextTimerMs(): number;
  /** Lets time pass to an instant of the monotonic clock that is not after `nextTimerMs`: nothing fires. */
  passTo(monotonicMs: number): void;
  /** Timers that wait to fire. */
  pendingTimers(): number;
}

/** Without its callback once it was cancelled or has fired. */
interface Timer {
  callback: (() => void) | undefined;
}

class SteppedClock implements VirtualClock {
  readonly #timers = new ByInstant<Timer>();
  #waiting = 0;
  #monotonicMs = 0;
  /** What the wall clock says more than the monotonic one. */
  #aheadMs: number;

  constructor(startAtMs: EpochMs) {
    this.#aheadMs = startAtMs;
  }

  nowMs(): EpochMs {
    return this.#monotonicMs + this.#aheadMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  after(delayMs: number, callback: () => void): Cancel {
    const timer: Timer = { callback };
    const waitMs = Math.floor(Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS));
    this.#timers.put(timer, this.#monotonicMs + waitMs);
    this.#waiting++;
    return () => void this.#end(timer);
  }

  advance(ms: number): void {
    if (ms < 0) throw new RangeError('time does not go back');
    const untilMs = this.#monotonicMs + Math.floor(ms);
    while (this.nextTimerMs() <= untilMs) this.step();
    this.passTo(untilMs);
  }

  advanceTo(instant: EpochMs): void {
    this.advance(instant - this.nowMs());
  }

  stall(ms: number): void {
    this.passTo(this.#monotonicMs + ms);
    this.advance(0);
  }

  jump(byMs: number): void {
    this.#aheadMs += byMs;
  }

  step(): boolean {
    const dueMs = this.nextTimerMs();
    const timer = this.#timers.take();
    if (timer === undefined) return false;
    // What fell due while the host stood still is late.
    this.passTo(Math.max(dueMs, this.#monotonicMs));
    this.#end(timer)?.();
    return true;
  }

  nextTimerMs(): number {
    const timers = this.#timers;
    for (let { next } = timers; next !== undefined && next.callback === undefined; { next } = timers)
      timers.take();
    return timers.nextMs;
  }

  passTo(monotonicMs: number): void {
    // The heap holds its ranks as doubles. As a small integer an instant needs no memory of its own wherever it is kept.
    this.#monotonicMs = Math.floor(monotonicMs);
  }

  pendingTimers(): number {
    return this.#waiting;
  }

  /** It waits no longer. @returns what it was to do, where it waited still */
  #end(timer: Timer): (() => void) | undefined {
    const { callback } = timer;
    if (callback !== undefined) this.#waiting--;
    timer.callback = undefined;
    return callback;
  }
}

/** A virtual clock whose wall clock says `startAtMs` and whose monotonic clock says 0. Its functions need no `this`. */
export function createVirtualClock(startAtMs: EpochMs): VirtualClock {
  const clock = new SteppedClock(startAtMs);
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, callback) => clock.after(delayMs, callback),
    advance: (ms) => clock.advance(ms),
    advanceTo: (instant) => clock.advanceTo(instant),
    stall: (ms) => clock.stall(ms),
    jump: (byMs) => clock.jump(byMs),
    step: () => clock.step(),
    nextTimerMs: () => clock.nextTimerMs(),
    passTo: (monotonicMs) => clock.passTo(monotonicMs),
    pendingTimers: () => clock.pendingTimers(),
  };
}
