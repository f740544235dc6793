// Deletes the recorded answers of requests with an `Idempotency-Key` once their keys may be used again.
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/store.js';
import { ANSWERS_KEPT_MS } from './rows.js';

const FORGET_EVERY_MS = 3_600_000;

interface RetentionParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'forgetAnswersBefore'>;
}

export class AnswerRetention {
  readonly #parts: RetentionParts;
  #cancel: Cancel = () => {};

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  start(): void {
    const { clock, log, store } = this.#parts;
    store.forgetAnswersBefore(clock.nowMs() - ANSWERS_KEPT_MS).catch((error: unknown) => {
      log.warn({ err: error }, 'old answers could not be removed; trying again in an hour');
    });
    this.#cancel = clock.after(FORGET_EVERY_MS, () => this.start());
  }

  stop(): void {
    this.#cancel();
  }
}
