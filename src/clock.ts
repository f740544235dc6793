// The host's clocks behind the Clock port: no other file may read them.
import type { Cancel, Clock } from './ports/clock.js';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Timers do not keep the process alive. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS));
    letExit(timer);
    return () => clearTimeout(timer);
  },
};

/** A timer of a browser is a number, and keeps nothing alive. */
function letExit(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref();
}

/** Calls `callback` in `delayMs`, and keeps the process alive until then. */
export function keepAliveUntil(delayMs: number, callback: () => void): Cancel {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
}
