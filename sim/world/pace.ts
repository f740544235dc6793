// How time goes on in a world: from one event to the next, and only once the service has finished its work on the one before.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VirtualClock } from '../virtual-clock.js';
import { Agenda } from './agenda.js';
import type { Outstanding } from './outstanding.js';

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

  /** Does it before time goes on. */
  soon(task: () => Promise<void>): void {
    this.#tasks.push(task);
  }

  /** Waits for what the service does outside the thread, which takes no virtual time. */
  async untilIdle(): Promise<void> {
    await null;
    await null;
    while (!this.#isIdle()) {
      const next = this.#tasks.shift();
      if (next === undefined) await this.#outstanding.idle();
      else await next();
      if (this.#outstanding.isIdle) await nextTurn();
    }
  }

  /** Lets `ms` pass; everything that falls due happens at its own instant, timers of the service first. */
  async advance(ms: number): Promise<void> {
    const [clock, { agenda }] = [this.#clock, this];
    const untilMs = clock.monotonicMs() + ms;
    for (;;) {
      const timerMs = clock.nextTimerMs;
      const agendaMs = agenda.nextMs;
      if (Math.min(timerMs, agendaMs) > untilMs) break;
      if (timerMs <= agendaMs) {
        clock.step();
        // What a timer promised is done, so far as it needs nobody else; a call of `untilIdle` for each would cost more.
        await null;
        await null;
        await null;
      } else {
        // The service promises nothing when it hears of something: what it leaves for later, it leaves to a timer.
        clock.passTo(agendaMs);
        agenda.happen();
      }
      if (!this.#isIdle()) await this.untilIdle();
    }
    clock.passTo(untilMs);
  }

  #isIdle() {
    return this.#outstanding.isIdle && this.#tasks.length === 0;
  }
}
