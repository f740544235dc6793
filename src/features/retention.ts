// Deletes recorded answers once their keys may be used again, and old events of the log.
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';
import { ANSWERS_KEPT_MS } from './answers/rows.js';
import { EVENTS_KEPT_MS } from './events/rows.js';

const FORGET_EVERY_MS = 3_600_000;

interface RetentionParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'forgetAnswersBefore' | 'forgetEventsBefore'>;
}

export class Retention {
  readonly #parts: RetentionParts;
  #cancel: Cancel = () => {};

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  start(): void {
    const { clock, log, store } = this.#parts;
    const now = clock.nowMs();
    store.forgetAnswersBefore(now - ANSWERS_KEPT_MS).catch((error: unknown) => {
      log.warn({ err: error }, 'old answers could not be removed; trying again in an hour');
    });
    store.forgetEventsBefore(now - EVENTS_KEPT_MS).catch((error: unknown) => {
      log.warn({ err: error }, 'old events could not be removed; trying again in an hour');
    });
    this.#cancel = clock.after(FORGET_EVERY_MS, () => this.start());
  }

  stop(): void {
    this.#cancel();
  }
}
