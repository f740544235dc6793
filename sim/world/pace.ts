// How time goes on in a world: from one thing that happens to the next, and only once the service has finished with it.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { VirtualClock } from '../virtual-clock.js';
import { type Agenda, createAgenda } from './agenda.js';
import type { Outstanding } from './outstanding.js';

export interface Pace {
  readonly agenda: Agenda;
  /** Does it before time goes on. */
  soon(task: () => Promise<void>): void;
  /** Waits for what the service does outside the thread, which takes no virtual time. */
  settle(): Promise<void>;
  /** Lets `ms` pass; everything that falls due happens at its own instant. */
  advance(ms: number): Promise<void>;
}

export function createPace(clock: VirtualClock, outstanding: Outstanding): Pace {
  const tasks: (() => Promise<void>)[] = [];
  const agenda = createAgenda(clock, () => tasks.length > 0);

  const isSettled = () => outstanding.isIdle && tasks.length === 0;

  async function settle(): Promise<void> {
    await null;
    await null;
    while (!isSettled()) {
      const next = tasks.shift();
      if (next === undefined) await outstanding.idle();
      else await next();
      if (outstanding.isIdle) await nextTurn();
    }
  }

  return {
    agenda,
    soon: (task) => void tasks.push(task),
    settle,
    async advance(ms) {
      let isThere = false;
      agenda.at(clock.monotonicMs() + ms, () => {
        isThere = true;
      });
      while (!isThere && clock.step()) {
        // What was promised is done, so far as it needs nobody else; a call of `settle` for each step would cost more.
        await null;
        await null;
        await null;
        if (!isSettled()) await settle();
        agenda.resume();
      }
    },
  };
}
