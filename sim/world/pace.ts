// Moves the time of a world to the next event, once the service has finished with the last one.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VirtualClock } from '../virtual-clock.js';
import { Agenda } from './agenda.js';
import type { Outstanding } from './outstanding.js';

/** One promise for all awaits: `await null` would create a new promise each time. */
const SETTLED = Promise.resolve();

export class Pace {
  readonly #clock: VirtualClock;
  readonly #outstanding: Outstanding;
  readonly #tasks: (() => Promise<void>)[] = [];
  readonly agenda: Agenda;

  constructor(clock: VirtualClock, outstanding: Outstanding) {
    this.#clock = clock;
    this.#outstanding = outstanding;
    this.agenda = new Agenda(() => clock.monotonicMs());
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
      if (why === 'timer') {
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
