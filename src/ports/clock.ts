// The only source of time and of timers.
import type { EpochMs } from '../../machines/values/time.js';

/** A second call is harmless. */
export type Cancel = () => void;

/** Production uses the host's clocks; tests and the simulator pass a virtual one. */
export interface Clock {
  /** Wall-clock instant, integer milliseconds. It may jump, forward or back. */
  nowMs(): EpochMs;
  /** Milliseconds from an arbitrary origin that never jump and never go back. */
  monotonicMs(): number;
  /** Calls `callback` once, about `delayMs` from now (0 to 2^31-1). It does not keep the process alive. */
  after(delayMs: number, callback: () => void): Cancel;
}
