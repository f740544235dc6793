// Turns of a service: the clocks stand still from an input until all work that follows from it is done.
import type { Clock } from '../../src/ports/clock.js';
import type { Input } from './recording-line.js';

/** Wall clock and monotonic clock of the service, ms. */
export interface Instant {
  readonly at: number;
  readonly mono: number;
}

/** An input without its instant. */
export type Untimed<I extends Instant = Input> = I extends unknown ? Omit<I, 'at' | 'mono'> : never;

/** Does `work` as a turn. The call must come first in its callback of the event loop. */
export type Turn = <T>(input: Untimed, work: () => T) => T;
/** Does `work` as a turn in a callback of its own. */
export type TurnLater = (input: Untimed, work: () => void) => void;

export interface Turns {
  /** During a turn, the instant at which the turn began; between turns, the host's clock. */
  readonly clock: Clock;
  readonly turn: Turn;
  readonly turnLater: TurnLater;
}

/** A resolution of a microsecond is fine enough and needs few characters. */
const STEPS_PER_MS = 1_000;

/**
 * A decision must not depend on the speed of the host, so both clocks stand still during a turn. The event loop
 * finishes all microtasks of a callback before its next callback, so turns never overlap.
 * @param record receives each turn before its work.
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

/** The kind comes first, because this makes a line easier to read. */
function timed({ kind, ...rest }: Untimed, { at, mono }: Instant): Input {
  // `Untimed` lacks only the instant.
  return { kind, at, mono, ...rest } as Input;
}
