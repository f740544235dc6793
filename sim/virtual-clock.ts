// A clock that moves only when told to, for tests and simulations: the production code under it cannot tell. It is asked
// the time and given timers dozens of times for each message of a simulation, which is why it is so little.
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../machines/time.js';
import type { Clock } from '../src/ports/clock.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1;
// Doubles hold 2^53: timers at one instant fire in the order they were made, unless a million others were made between.
const TIES = 2 ** 20;

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

/** Without a callback once it was fired or cancelled. */
interface Timer {
  callback: (() => void) | undefined;
}

/** A virtual clock whose wall clock says `startAtMs` and whose monotonic clock says 0. */
export function createVirtualClock(startAtMs: EpochMs): VirtualClock {
  const timers = new FlatQueue<Timer>();
  let passedMs = 0;
  let wallAheadMs = startAtMs;
  let made = 0;
  let pending = 0;
  let isFiring = false;

  /** Ranks below it are of timers that are due by `instantMs` of the monotonic clock. */
  const rankAfter = (instantMs: number) => (instantMs + 1) * TIES;

  function after(delayMs: number, callback: () => void): () => void {
    const wholeMs = Math.floor(Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS));
    // As on a host: what a timer sets has its turn after it, or nothing else would ever come.
    const dueMs = passedMs + (isFiring ? Math.max(1, wholeMs) : wholeMs);
    const timer: Timer = { callback };
    made = (made + 1) % TIES;
    timers.push(timer, dueMs * TIES + made);
    pending++;
    return () => {
      if (timer.callback === undefined) return;
      timer.callback = undefined;
      pending--;
    };
  }

  /** Fires the next timer that is due below `rank`; false where none is. */
  function fireNext(rank: number): boolean {
    for (let next = timers.peekValue(); next !== undefined && next < rank; next = timers.peekValue()) {
      const timer = timers.pop();
      const callback = timer?.callback;
      if (timer === undefined || callback === undefined) continue;
      passedMs = Math.max(passedMs, Math.floor(next / TIES));
      timer.callback = undefined;
      pending--;
      isFiring = true;
      try {
        callback();
      } finally {
        isFiring = false;
      }
      return true;
    }
    return false;
  }

  function passTo(instantMs: number): void {
    if (instantMs < passedMs) throw new RangeError('time does not go back');
    while (fireNext(rankAfter(instantMs)));
    passedMs = instantMs;
  }

  return {
    nowMs: () => passedMs + wallAheadMs,
    monotonicMs: () => passedMs,
    after,
    advance: (ms) => passTo(passedMs + ms),
    advanceTo: (instant) => passTo(instant - wallAheadMs),
    stall(ms) {
      passedMs += ms;
      passTo(passedMs);
    },
    jump(byMs) {
      wallAheadMs += byMs;
    },
    step: () => fireNext(Number.POSITIVE_INFINITY),
    pendingTimers: () => pending,
  };
}
