// A clock that moves only when told to, for tests and simulations: the production code under it cannot tell.
import { createClock } from '@sinonjs/fake-timers';
import type { EpochMs } from '../machines/values/time.js';
import type { Cancel, Clock } from '../src/ports/clock.js';
import { ByInstant } from './world/agenda.js';

/** A longer delay is cut to this: the library's longest, less the millisecond by which its clock lags at least. */
const LONGEST_TIMER_MS = 2 ** 31 - 2;

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

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
  isWaiting: boolean;
  /** Once the library knows it. */
  cancel: (() => void) | undefined;
}

/**
 * The timers are those of the library, whose clock moves only when one fires and lags behind otherwise: to move it costs more
 * than most of a simulated instant. It does not publish when its next timer fires, so a heap of instants is kept beside it.
 */
class LaggingClock implements VirtualClock {
  readonly #library = createClock(0);
  readonly #instants = new ByInstant<Timer>();
  #waiting = 0;
  #isFiring = false;
  /** Timers that a callback set for its own instant, which the library would fire 1 ms later, or for one that is too far. */
  #postponed: Timer[] = [];
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
    // What fell due while the host stood still is late.
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
    // The heap holds its ranks as doubles. As a small integer an instant needs no memory of its own wherever it is kept.
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
    // Nothing is due on the way, but perhaps at this very instant.
    if (this.#isFar(timer)) library.tick(this.#monotonicMs - 1 - library.now);
    const id = library.setTimeout(() => {
      this.#end(timer);
      timer.callback();
    }, timer.atMs - library.now);
    timer.cancel = () => library.clearTimeout(id);
  }

  /** The library takes a longer delay for one of 1 ms. */
  #isFar({ atMs }: Timer): boolean {
    return atMs - this.#library.now > LONGEST_TIMER_MS + 1;
  }

  #setPostponed(): void {
    const isAnyOverdue = this.nextTimerMs() < this.#monotonicMs;
    let set = 0;
    for (const timer of this.#postponed) {
      // The library cannot be moved on past what is overdue.
      if (isAnyOverdue && timer.isWaiting && this.#isFar(timer)) break;
      if (timer.isWaiting) this.#set(timer);
      set++;
    }
    this.#postponed.splice(0, set);
  }
}

/** A virtual clock whose wall clock says `startAtMs` and whose monotonic clock says 0. Its functions need no `this`. */
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
