// How time goes on in a world: from one thing that happens to the next, and only once the service has finished with it.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VirtualClock } from '../virtual-clock.js';
import { type Agenda, createAgenda } from './agenda.js';
import type { Outstanding } from './outstanding.js';

export class Pace {
  readonly #clock: VirtualClock;
  readonly #outstanding: Outstanding;
  readonly #tasks: (() => Promise<void>)[] = [];
  readonly agenda: Agenda;

  constructor(clock: VirtualClock, outstanding: Outstanding) {
    this.#clock = clock;
    this.#outstanding = outstanding;
    this.agenda = createAgenda(this.#clock, () => this.#tasks.length > 0);
  }

  /** Does it before time goes on. */
  soon(task: () => Promise<void>): void {
    this.#tasks.push(task);
  }

  /** Waits for what the service does outside the thread, which takes no virtual time. */
  async settle(): Promise<void> {
    await null;
    await null;
    while (!this.#isSettled()) {
      const next = this.#tasks.shift();
      if (next === undefined) await this.#outstanding.idle();
      else await next();
      if (this.#outstanding.isIdle) await nextTurn();
    }
  }

  /** Lets `ms` pass; everything that falls due happens at its own instant. */
  async advance(ms: number): Promise<void> {
    let isThere = false;
    this.agenda.at(this.#clock.monotonicMs() + ms, () => {
      isThere = true;
    });
    while (!isThere && this.#clock.step()) {
      // What was promised is done, so far as it needs nobody else; a call of `settle` for each step would cost more.
      await null;
      await null;
      await null;
      if (!this.#isSettled()) await this.settle();
      this.agenda.resume();
    }
  }

  #isSettled() {
    return this.#outstanding.isIdle && this.#tasks.length === 0;
  }
}
