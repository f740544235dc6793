// A clock that moves only on request, for tests and simulations. Production code runs under it unchanged.
import type { EpochMs } from '../machines/values/time.js';
import type { Cancel, Clock } from '../src/ports/clock.js';
import { ByInstant } from './world/agenda.js';

/** Longer delays are cut to this, as by the host's clock. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Both clocks count whole milliseconds. Callbacks run inside the call that moves the clock. */
export interface VirtualClock extends Clock {
  /** Lets `ms` pass; every timer fires at its own instant, in order. */
  advance(ms: number): void;
  /** Moves the wall clock forward to `instant`, which must not lie in the past. */
  advanceTo(instant: EpochMs): void;
  /** The host stands still for `ms`: timers that fell due meanwhile fire afterwards, each once. */
  stall(ms: number): void;
  /** Sets the wall clock `byMs` forward or, below 0, back. The monotonic clock and the timers do not change. */
  jump(byMs: number): void;
  /** Moves to the next timer and fires it; false if no timer is set. */
  step(): boolean;
  /** Instant of the next timer on the monotonic clock; infinite if no timer is set. */
  nextTimerMs(): number;
  /** Moves to an instant of the monotonic clock that is not after `nextTimerMs`; no timer fires. */
  passTo(monotonicMs: number): void;
  /** Number of timers that have not fired yet. */
  pendingTimers(): number;
}

interface Timer {
  readonly callback: () => void;
  isWaiting: boolean;
}

class HeapClock implements VirtualClock {
  /** A cancelled timer stays until its instant: its removal would need a search. */
  readonly #timers = new ByInstant<Timer>();
  #waiting = 0;
  #monotonicMs = 0;
  /** Lead of the wall clock over the monotonic one, ms. */
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
    const timer: Timer = { callback, isWaiting: true };
    const waitMs = Math.floor(Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS));
    this.#timers.put(timer, this.#monotonicMs + waitMs);
    this.#waiting++;
    return () => this.#end(timer);
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
    // A timer that fell due while the host stood still fires late.
    this.passTo(Math.max(dueMs, this.#monotonicMs));
    this.#end(timer);
    timer.callback();
    return true;
  }

  nextTimerMs(): number {
    const timers = this.#timers;
    for (let { next } = timers; next !== undefined && !next.isWaiting; { next } = timers) timers.take();
    return timers.nextMs;
  }

  passTo(monotonicMs: number): void {
    // The heap holds its ranks as doubles; an instant as a small integer needs no memory of its own anywhere.
    this.#monotonicMs = Math.floor(monotonicMs);
  }

  pendingTimers(): number {
    return this.#waiting;
  }

  #end(timer: Timer): void {
    if (timer.isWaiting) this.#waiting--;
    timer.isWaiting = false;
  }
}

/** A virtual clock with the wall clock at `startAtMs` and the monotonic clock at 0. Its functions need no `this`. */
export function createVirtualClock(startAtMs: EpochMs): VirtualClock {
  const clock = new HeapClock(startAtMs);
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
