// A clock that moves only when told to, for tests and simulations: the production code under it cannot tell.
import { createClock } from '@sinonjs/fake-timers';
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../machines/values/time.js';
import type { Cancel, Clock } from '../src/ports/clock.js';

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
  readonly nextTimerMs: number;
  /** Lets time pass to an instant of the monotonic clock that is not after `nextTimerMs`: nothing fires. */
  passTo(monotonicMs: number): void;
  /** Timers that wait to fire. */
  pendingTimers(): number;
}

/** A timer of the library's, seen from outside. */
interface Timer {
  readonly firesAtMs: number;
  isWaiting: boolean;
}

/**
 * The library's clock lags behind where nothing fires: to move it costs more than most of what a simulation does at an
 * instant. It is moved on before anything is asked of it.
 */
class LaggingClock implements VirtualClock {
  readonly #library;
  readonly #timers = new FlatQueue<Timer>();
  #waiting = 0;
  #isFiring = false;
  /** Set while another fired, for that very instant: the library would fire them a millisecond later. */
  #atOnce: (() => void)[] = [];
  #nowMs: EpochMs;
  #monotonicMs = 0;

  constructor(startAtMs: EpochMs) {
    this.#library = createClock(startAtMs);
    this.#nowMs = startAtMs;
  }

  nowMs(): EpochMs {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  after(delayMs: number, callback: () => void): Cancel {
    this.#catchUp();
    const waitMs = Math.floor(Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS));
    const timer: Timer = { firesAtMs: this.#monotonicMs + waitMs, isWaiting: true };
    this.#timers.push(timer, timer.firesAtMs);
    this.#waiting++;
    let cancel: Cancel = () => {};
    const set = () => {
      const id = this.#library.setTimeout(() => {
        this.#forget(timer);
        this.#read();
        callback();
      }, waitMs);
      cancel = () => this.#library.clearTimeout(id);
    };
    if (this.#isFiring && waitMs === 0) this.#atOnce.push(() => timer.isWaiting && set());
    else set();
    return () => {
      this.#forget(timer);
      cancel();
    };
  }

  advance(ms: number): void {
    if (ms < 0) throw new RangeError('time does not go back');
    const untilMs = this.#monotonicMs + Math.floor(ms);
    while (this.nextTimerMs <= untilMs) this.step();
    this.passTo(untilMs);
  }

  advanceTo(instant: EpochMs): void {
    this.advance(instant - this.#nowMs);
  }

  stall(ms: number): void {
    this.#move(() => this.#library.jump(ms));
  }

  jump(byMs: number): void {
    this.#catchUp();
    this.#library.setSystemTime(this.#library.now + byMs);
    this.#read();
  }

  step(): boolean {
    if (this.#waiting === 0) return false;
    this.#move(() => this.#library.next());
    return true;
  }

  get nextTimerMs(): number {
    for (;;) {
      const timer = this.#timers.peek();
      if (timer === undefined) return Number.POSITIVE_INFINITY;
      if (timer.isWaiting) return timer.firesAtMs;
      this.#timers.pop();
    }
  }

  passTo(monotonicMs: number): void {
    this.#nowMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }

  pendingTimers(): number {
    return this.#waiting;
  }

  #forget(timer: Timer): void {
    if (!timer.isWaiting) return;
    timer.isWaiting = false;
    this.#waiting--;
  }

  #move(how: () => unknown): void {
    this.#catchUp();
    this.#isFiring = true;
    try {
      how();
    } finally {
      this.#isFiring = false;
      this.#read();
      for (const set of this.#atOnce.splice(0)) set();
    }
  }

  /** Nothing is due on the way. */
  #catchUp(): void {
    const behindMs = this.#nowMs - this.#library.now;
    if (behindMs > 0) this.#library.tick(behindMs);
  }

  #read(): void {
    this.#nowMs = this.#library.now;
    this.#monotonicMs = this.#library.performance.now();
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
    get nextTimerMs() {
      return clock.nextTimerMs;
    },
    passTo: (monotonicMs) => clock.passTo(monotonicMs),
    pendingTimers: () => clock.pendingTimers(),
  };
}
