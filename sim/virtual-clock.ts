// A clock that moves only when told to, for tests and simulations: the production code under it cannot tell.
import { createClock } from '@sinonjs/fake-timers';
import type { EpochMs } from '../machines/values/time.js';
import type { Clock } from '../src/ports/clock.js';

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
  /** Timers that wait to fire. */
  pendingTimers(): number;
}

/** A virtual clock whose wall clock says `startAtMs` and whose monotonic clock says 0. */
export function createVirtualClock(startAtMs: EpochMs): VirtualClock {
  const clock = createClock(startAtMs);
  return {
    nowMs: () => clock.now,
    monotonicMs: () => clock.performance.now(),
    after(delayMs, callback) {
      const timer = clock.setTimeout(callback, Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS));
      return () => clock.clearTimeout(timer);
    },
    advance: (ms) => void clock.tick(ms),
    advanceTo: (instant) => void clock.tick(instant - clock.now),
    stall: (ms) => void clock.jump(ms),
    jump: (byMs) => clock.setSystemTime(clock.now + byMs),
    step() {
      if (clock.countTimers() === 0) return false;
      clock.next();
      return true;
    },
    pendingTimers: () => clock.countTimers(),
  };
}
