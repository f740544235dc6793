// Waits for a result instead of for a fixed time. The wait has a patience, which lasts longer on a busy machine.
import { cpus } from 'node:os';
import { setTimeout as pass } from 'node:timers/promises';

/** Time to the next look: at first this, and later a tenth of the wait so far. Looks cost work, above all in pages. */
const LOOK_EVERY_MS = 20;
const LOOK_AT_LEAST_EVERY_MS = 100;
/** Far longer than any successful wait. */
const USUAL_PATIENCE_MS = 20_000;

/** Limit of the slowdown: a busy machine counts as at most so many times as slow as an idle one. */
const SLOWEST = 10;

/**
 * Patience for an event, counted in time in which the event could occur. Little of it passes while all processors or
 * the disk are busy, because the awaited process may need them. None passes while this process itself does not run. So
 * a wait without progress ends soon, and a busy machine waits up to ten times as long.
 */
export class Patience {
  #leftMs: number;
  #idleMs: number;
  /** The intended wait, ms, without delays of this process. */
  #waitedMs = 0;
  readonly #readIdleMs: () => number;

  /** `readIdleMs` returns the idle time of all processors together; 0 if the system does not count it. */
  constructor(patienceMs: number = USUAL_PATIENCE_MS, readIdleMs = systemIdleMs) {
    this.#leftMs = patienceMs;
    this.#readIdleMs = readIdleMs;
    this.#idleMs = readIdleMs();
  }

  /** Waits for one look. False once the patience has ended. */
  async lasts(): Promise<boolean> {
    const waitMs = Math.min(Math.max(LOOK_EVERY_MS, this.#waitedMs / 10), LOOK_AT_LEAST_EVERY_MS);
    await pass(waitMs);
    this.#waitedMs += waitMs;
    const nowIdleMs = this.#readIdleMs();
    const idledMs = nowIdleMs === 0 ? waitMs : nowIdleMs - this.#idleMs;
    this.#idleMs = nowIdleMs;
    this.#leftMs -= Math.min(Math.max(idledMs, waitMs / SLOWEST), waitMs);
    return this.#leftMs > 0;
  }
}

/** Resolves with the result of `check` once it no longer throws; rejects with its last error when patience ends. */
export async function eventually<T>(check: () => T, patienceMs?: number): Promise<Awaited<T>> {
  const patience = new Patience(patienceMs);
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (!(await patience.lasts())) throw error;
    }
  }
}

/** Settles as `promised` does; rejects with `late()` when patience ends before that. */
export async function inPatience<T>(
  promised: Promise<T>,
  late: () => Error,
  patienceMs?: number,
): Promise<T> {
  const patience = new Patience(patienceMs);
  let isSettled = false;
  const settled = promised.finally(() => {
    isSettled = true;
  });
  async function giveUp(): Promise<never> {
    while (!isSettled && (await patience.lasts()));
    if (!isSettled) throw late();
    return new Promise(() => {});
  }
  return Promise.race([settled, giveUp()]);
}

function systemIdleMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0);
}
