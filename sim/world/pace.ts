// Moves the time of a world to the next event, once the service has finished with the last one.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../src/ports/clock.js';
import type { VirtualClock } from '../virtual-clock.js';
import { Agenda } from './agenda.js';

/**
 * Counts work of the service outside the thread. Such work takes no virtual time: the world sleeps until it is done.
 */
export class Outstanding {
  #count = 0;
  #idle: Promise<void> | undefined;
  #wake = () => {};

  get isIdle(): boolean {
    return this.#count === 0;
  }

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
    if (this.#count > 0) return;
    this.#idle = undefined;
    this.#wake();
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.begin();
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  /** Resolves when no work is under way any more. Polling instead would keep a core busy. */
  async idle(): Promise<void> {
    if (this.isIdle) return;
    this.#idle ??= new Promise((resolve) => {
      this.#wake = resolve;
    });
    await this.#idle;
  }
}

/** One promise for all awaits: `await null` would create a new promise each time. */
const SETTLED = Promise.resolve();

export class Pace {
  readonly #clock: VirtualClock;
  readonly #outstanding: Outstanding;
  readonly #areTimersLong: boolean;
  readonly #tasks: (() => Promise<void>)[] = [];
  readonly agenda: Agenda;

  /** @param areTimersLong a timer's work outside the thread may begin after some promises, as that of several nodes */
  constructor(clock: VirtualClock, outstanding: Outstanding, areTimersLong: boolean) {
    this.#clock = clock;
    this.#outstanding = outstanding;
    this.#areTimersLong = areTimersLong;
    this.agenda = new Agenda(clock);
  }

  /** Runs `task` before time goes on. */
  soon(task: () => Promise<void>): void {
    this.#tasks.push(task);
  }

  /** Waits for the service's work outside the thread, which takes no virtual time. */
  async untilIdle(): Promise<void> {
    await SETTLED;
    await SETTLED;
    while (!this.#isIdle()) {
      const next = this.#tasks.shift();
      if (next === undefined) await this.#outstanding.idle();
      else await next();
      if (this.#outstanding.isIdle) await nextTurn();
    }
  }

  /** Lets `ms` pass; each due event happens at its own instant, timers of the service first. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + ms;
    for (let why = this.#goOn(untilMs); why !== 'end'; why = this.#goOn(untilMs)) {
      if (why === 'timer' && this.#areTimersLong) await nextTurn();
      else if (why === 'timer') {
        // Promises that need no work outside the thread are settled by now; calling `untilIdle` for each timer would
        // cost more.
        await SETTLED;
        await SETTLED;
        await SETTLED;
      }
      if (!this.#isIdle()) await this.untilIdle();
    }
    this.#clock.passTo(untilMs);
  }

  /**
   * Runs due work up to `untilMs`, until the caller has to wait: a timer of the service fired, or there is work
   * outside the thread. A synchronous function is faster than one that may wait.
   */
  #goOn(untilMs: number): 'timer' | 'work' | 'end' {
    const [clock, { agenda }] = [this.#clock, this];
    for (;;) {
      const timerMs = clock.nextTimerMs();
      const agendaMs = agenda.nextMs;
      if (Math.min(timerMs, agendaMs) > untilMs) return 'end';
      if (timerMs <= agendaMs) {
        clock.step();
        return 'timer';
      }
      // The service creates no promise for an incoming message: it leaves later work to a timer.
      clock.passTo(agendaMs);
      agenda.happen();
      if (!this.#isIdle()) return 'work';
    }
  }

  #isIdle() {
    return this.#outstanding.isIdle && this.#tasks.length === 0;
  }
}

/** `clock` without the timers that fire after `life`. */
export function mortal(clock: Clock, life: { readonly isLiving: boolean }): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, callback) =>
      clock.after(delayMs, () => {
        if (life.isLiving) callback();
      }),
  };
}
