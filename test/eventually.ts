// Waiting for what is expected instead of for a time; what gives up is patience, which a busy machine has more of.
import { cpus } from 'node:os';
import { setTimeout as pass } from 'node:timers/promises';

/** How long to the next look: at first this, and later a tenth of the wait so far. Looks are work, for pages above all. */
const LOOK_EVERY_MS = 20;
const LOOK_AT_LEAST_EVERY_MS = 100;
/** Far more than anything takes that comes at all. */
const USUAL_PATIENCE_MS = 20_000;

/** A machine that is busy all the time is taken to be so many times as slow as an idle one. */
const SLOWEST = 10;

/**
 * How long to wait for something, in time in which it could have come: little of it is spent while every processor or the
 * disk is busy (whoever should act may be waiting for one), and none while this process gets no turn itself. So where
 * nothing happens any more it ends soon, and a busy machine waits up to ten times as long.
 */
export class Patience {
  #leftMs: number;
  #idleMs: number;
  /** As far as it was meant to. */
  #waitedMs = 0;
  readonly #readIdleMs: () => number;

  /** `readIdleMs` says what all processors together have idled so far; 0 where nobody counts that. */
  constructor(patienceMs: number = USUAL_PATIENCE_MS, readIdleMs = systemIdleMs) {
    this.#leftMs = patienceMs;
    this.#readIdleMs = readIdleMs;
    this.#idleMs = readIdleMs();
  }

  /** Waits for one look, and says whether there is patience for another one. */
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

/** Resolves with what `check` gives once it no longer throws; rejects with what it last threw when patience is at its end. */
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

/** Resolves with what `promised` resolves with; rejects with `late()` when patience ends before that. */
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
