// Turns of a service: one thing reaches it, and until all that follows from it is done its clocks stand still.
import type { Clock } from '../../src/ports/clock.js';
import type { Input } from './recording-line.js';

/** What both clocks of the service say. */
export interface Instant {
  readonly at: number;
  readonly mono: number;
}

/** What reaches the service, before it is said when. */
export type Untimed<I extends Instant = Input> = I extends unknown ? Omit<I, 'at' | 'mono'> : never;

/** Does `work` as a turn. It must be the first in its callback of the host. */
export type Turn = <T>(input: Untimed, work: () => T) => T;
/** Does `work` as a turn in a callback of its own. */
export type TurnLater = (input: Untimed, work: () => void) => void;

export interface Turns {
  /** Within a turn the instant of its beginning, and between turns that of the host. */
  readonly clock: Clock;
  readonly turn: Turn;
  readonly turnLater: TurnLater;
}

/** Microseconds are enough, and short to write. */
const STEPS_PER_MS = 1_000;

/**
 * A decision must not depend on how fast the host is: the clock says the same for the whole of a turn.
 * The host runs all that a callback leaves behind before its next callback, so that turns never overlap.
 * @param record is given each turn, before its work.
 */
export function createTurns(host: Clock, record: (input: Input) => void): Turns {
  let standing: Instant | undefined;
  let isThawDue = false;

  function instant(): Instant {
    return { at: host.nowMs(), mono: Math.floor(host.monotonicMs() * STEPS_PER_MS) / STEPS_PER_MS };
  }

  function thaw(): void {
    standing = undefined;
    isThawDue = false;
  }

  const turn: Turn = (input, work) => {
    standing = instant();
    if (!isThawDue) setImmediate(thaw);
    isThawDue = true;
    record(timed(input, standing));
    return work();
  };

  return {
    clock: {
      nowMs: () => standing?.at ?? host.nowMs(),
      monotonicMs: () => standing?.mono ?? host.monotonicMs(),
      after: (delayMs, callback) => host.after(delayMs, callback),
    },
    turn,
    turnLater: (input, work) => void setImmediate(() => turn(input, work)),
  };
}

/** The kind comes first: a line is easier to read so. */
function timed({ kind, ...rest }: Untimed, { at, mono }: Instant): Input {
  // Only the instant was missing.
  return { kind, at, mono, ...rest } as Input;
}
