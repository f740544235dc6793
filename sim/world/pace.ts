// How time goes on in a world: from one event to the next, and only once the service has finished its work on the one before.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VirtualClock } from '../virtual-clock.js';
import { Agenda } from './agenda.js';
import type { Outstanding } from './outstanding.js';

/** One and the same for all, as what is awaited: `null` would be made a promise each time. */
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

  /** Does it before time goes on. */
  soon(task: () => Promise<void>): void {
    this.#tasks.push(task);
  }

  /** Waits for what the service does outside the thread, which takes no virtual time. */
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

  /** Lets `ms` pass; everything that falls due happens at its own instant, timers of the service first. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + ms;
    for (let why = this.#goOn(untilMs); why !== 'end'; why = this.#goOn(untilMs)) {
      if (why === 'timer') {
        // What it promised is done, so far as it needs nobody else; a call of `untilIdle` for each would cost more.
        await SETTLED;
        await SETTLED;
        await SETTLED;
      }
      if (!this.#isIdle()) await this.untilIdle();
    }
    this.#clock.passTo(untilMs);
  }

  /**
   * Does what falls due up to `untilMs`, until something has to be waited for: a timer of the service went off, or there is
   * work outside the thread. No function that may wait runs as fast as one that may not.
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
      // The service promises nothing when it hears of something: what it leaves for later, it leaves to a timer.
      clock.passTo(agendaMs);
      agenda.happen();
      if (!this.#isIdle()) return 'work';
    }
  }

  #isIdle() {
    return this.#outstanding.isIdle && this.#tasks.length === 0;
  }
}
