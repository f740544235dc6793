// A clock that moves only on request, for tests and simulations. Production code runs under it unchanged.
import { createClock } from '@sinonjs/fake-timers';
import type { EpochMs } from '../machines/values/time.js';
import type { Cancel, Clock } from '../src/ports/clock.js';
import { ByInstant } from './world/agenda.js';

/** Longer delays are cut to this: the longest delay of the library, less the 1 ms by which its clock lags at least. */
const LONGEST_TIMER_MS = 2 ** 31 - 2;

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
  readonly atMs: number;
  readonly callback: () => void;
  isWaiting: boolean;
  /** Set once the library holds the timer. */
  cancel: (() => void) | undefined;
}

/**
 * The library runs the timers. Its clock moves only at a firing timer and lags behind otherwise: moving it costs more
 * than most of a simulated instant. The library does not publish the instant of its next timer, so a heap of instants
 * duplicates them.
 */
class LaggingClock implements VirtualClock {
  readonly #library = createClock(0);
  readonly #instants = new ByInstant<Timer>();
  #waiting = 0;
  #isFiring = false;
  /**
   * Timers that the library cannot take yet. One kind is set by a callback for its own instant: the library would fire
   * it 1 ms late. The other kind lies too far ahead.
   */
  #postponed: Timer[] = [];
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
    const waitMs = Math.floor(Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS));
    const timer: Timer = { atMs: this.#monotonicMs + waitMs, callback, isWaiting: true, cancel: undefined };
    this.#instants.put(timer, timer.atMs);
    this.#waiting++;
    if (this.#isFiring && (timer.atMs <= this.#library.now || this.#isFar(timer)))
      this.#postponed.push(timer);
    else this.#set(timer);
    return () => {
      this.#end(timer);
      timer.cancel?.();
    };
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
    if (this.#waiting === 0) return false;
    if (this.#postponed.length > 0) this.#setPostponed();
    // A timer that fell due while the host stood still fires late.
    this.passTo(Math.max(dueMs, this.#monotonicMs));
    this.#isFiring = true;
    try {
      this.#library.next();
    } finally {
      this.#isFiring = false;
      if (this.#postponed.length > 0) this.#setPostponed();
    }
    return true;
  }

  nextTimerMs(): number {
    const instants = this.#instants;
    for (let { next } = instants; next !== undefined && !next.isWaiting; { next } = instants) instants.take();
    return instants.nextMs;
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

  #set(timer: Timer): void {
    const library = this.#library;
    // No timer falls due before this instant, but one may fall due at this instant.
    if (this.#isFar(timer)) library.tick(this.#monotonicMs - 1 - library.now);
    const id = library.setTimeout(() => {
      this.#end(timer);
      timer.callback();
    }, timer.atMs - library.now);
    timer.cancel = () => library.clearTimeout(id);
  }

  /** The library treats a longer delay as 1 ms. */
  #isFar({ atMs }: Timer): boolean {
    return atMs - this.#library.now > LONGEST_TIMER_MS + 1;
  }

  #setPostponed(): void {
    const isAnyOverdue = this.nextTimerMs() < this.#monotonicMs;
    let set = 0;
    for (const timer of this.#postponed) {
      // The library cannot move past an overdue timer.
      if (isAnyOverdue && timer.isWaiting && this.#isFar(timer)) break;
      if (timer.isWaiting) this.#set(timer);
      set++;
    }
    this.#postponed.splice(0, set);
  }
}

/** A virtual clock with the wall clock at `startAtMs` and the monotonic clock at 0. Its functions need no `this`. */
export function createVirtualClock(startAtMs: EpochMs): VirtualClock {
  const clock = new LaggingClock(startAtMs);
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
