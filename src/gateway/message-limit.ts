// What one charger may do on its web socket: how much it may say, and how much of what it is told it may leave unread.
import type { Clock } from '../ports/clock.js';
import { createTokenBucket } from '../token-bucket.js';

/** More than any charger says by itself, by far. */
const MESSAGES = { ratePerS: 20, burst: 400 };
const UNREAD_AT_MOST_BYTES = 1_048_576;
/** How a call begins; answers and errors have other numbers. */
const CALL = /^\s*\[\s*2\s*,/;

export class MessageLimit {
  readonly #clock: Clock;
  readonly #unreadBytes: () => number;
  readonly #bucket = createTokenBucket(MESSAGES);
  /** Calls to it that it may still answer. */
  #unanswered = 0;

  /** @param unreadBytes of what it was told, that it has not taken from the connection */
  constructor(clock: Clock, unreadBytes: () => number) {
    this.#clock = clock;
    this.#unreadBytes = unreadBytes;
  }

  /** A message to the charger. @returns false where it has left too much unread */
  told(message: string): boolean {
    if (CALL.test(message)) this.#unanswered++;
    return this.#unreadBytes() <= UNREAD_AT_MOST_BYTES;
  }

  /** A message of the charger. What it is asked costs it nothing to answer. @returns false where it says too much */
  said(message: string): boolean {
    if (this.#unanswered > 0 && !CALL.test(message)) {
      this.#unanswered--;
      return true;
    }
    return this.#bucket.take(this.#clock.monotonicMs());
  }
}
