// Waits with a time limit.
import type { Cancel, Clock } from '../ports/clock.js';

/** Resolves when `work` is over, or the time is. */
export async function within(clock: Clock, timeMs: number, work: Promise<void>): Promise<void> {
  let cancel: Cancel = () => {};
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(timeMs, resolve);
  });
  await Promise.race([work, over]);
  cancel();
}

export function pause(clock: Clock, timeMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(timeMs, resolve);
  });
}
