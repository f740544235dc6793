// Checks credentials that are not known to be good, without locking out whoever has proved itself from there before.

import { createGuessLimit } from '../../guess-limit.js';
import type { Clock } from '../../ports/clock.js';
import { Refusal, retryAfter } from './refusal.js';

export interface FailedAttempts {
  /**
   * What `check` finds, by the way in `via`; undefined counts as a failed attempt.
   * @throws Refusal RATE_LIMITED, before any check, while the address is over its limit.
   */
  attempt<T>(via: 'http' | 'token', address: string, check: () => T | undefined): T | undefined;
}

export function createFailedAttempts(options: {
  readonly clock: Clock;
  readonly failuresPerMin: number;
  readonly onFailure: (via: 'http' | 'token') => void;
}): FailedAttempts {
  const guesses = createGuessLimit(options.clock, options.failuresPerMin);
  return {
    attempt(via, address, check) {
      const waitMs = guesses.waitMs(address);
      if (waitMs > 0) {
        throw new Refusal(
          'RATE_LIMITED',
          'Too many failed sign-in attempts from this address: try again later.',
          retryAfter(waitMs),
        );
      }
      const found = check();
      if (found === undefined) {
        guesses.count(address);
        options.onFailure(via);
      }
      return found;
    },
  };
}
