// Limits the messages of one charger on its web socket, and the bytes that it leaves unread.
import type { Clock } from '../ports/clock.js';
import { createTokenBucket } from '../token-bucket.js';

/** Far more than any charger sends. */
const MESSAGES = { ratePerS: 20, burst: 400 };
const UNREAD_AT_MOST_BYTES = 1_048_576;
/** Begin of a call; answers and errors have other numbers (OCPP-J). */
const CALL = /^\s*\[\s*2\s*,/;

export class MessageLimit {
  readonly #clock: Clock;
  readonly #unreadBytes: () => number;
  readonly #bucket = createTokenBucket(MESSAGES);
  /** Calls to the charger that it may still answer. */
  #unanswered = 0;

  /** @param unreadBytes bytes sent to the charger that it has not taken from the connection */
  constructor(clock: Clock, unreadBytes: () => number) {
    this.#clock = clock;
    this.#unreadBytes = unreadBytes;
  }

  /** Counts a message to the charger. @returns false if too many bytes are unread */
  told(message: string): boolean {
    if (CALL.test(message)) this.#unanswered++;
    return this.#unreadBytes() <= UNREAD_AT_MOST_BYTES;
  }

  /** Counts a message of the charger. Answers to calls are free. @returns false above the rate */
  said(message: string): boolean {
    if (this.#unanswered > 0 && !CALL.test(message)) {
      this.#unanswered--;
      return true;
    }
    return this.#bucket.take(this.#clock.monotonicMs());
  }
}
