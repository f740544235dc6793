// Counts and logs failed sign-ins over HTTP, and makes an address wait after too many.
import type { GuessLimit } from '../../guess-limit.js';
import type { Metrics } from '../../metrics.js';
import type { FailedSignIn, SignInLog } from '../../sign-in-log.js';
import { Refusal, retryAfter } from './refusal.js';

export class FailedSignIns {
  readonly #guesses: GuessLimit;
  readonly #metrics: Metrics;
  readonly #signInLog: SignInLog;

  constructor(parts: {
    readonly guesses: GuessLimit;
    readonly metrics: Metrics;
    readonly signInLog: SignInLog;
  }) {
    this.#guesses = parts.guesses;
    this.#metrics = parts.metrics;
    this.#signInLog = parts.signInLog;
  }

  /** Counts a failure against its address. @throws Refusal RATE_LIMITED if the address had failed too often already. */
  count(failure: FailedSignIn): void {
    const waitMs = this.#guesses.waitMs(failure.address);
    this.#guesses.count(failure.address);
    this.report(failure);
    if (waitMs > 0) throw tooManyFailures(waitMs);
  }

  report(failure: FailedSignIn): void {
    this.#metrics.authFailures.inc({ via: failure.via });
    this.#signInLog.add(failure);
  }
}

export function tooManyFailures(waitMs: number): Refusal {
  return new Refusal(
    'RATE_LIMITED',
    'Too many failed sign-in attempts from this address: try again later.',
    retryAfter(waitMs),
  );
}
