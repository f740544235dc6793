// Checks secrets that people choose (passwords, client secrets). The hash is slow by intent, so
// right ones are remembered and wrong ones limited.
import { createHmac, randomBytes } from 'node:crypto';
import { boundedCache } from './bounded-cache.js';
import { addressBlock, type GuessLimit } from './guess-limit.js';
import { isGenerated, isPassword } from './secrets.js';

/** A name and password of a sign-in. */
export interface PasswordAttempt {
  readonly address: string;
  readonly name: string;
  readonly password: string;
  /** The stored hash of that name (`hashPassword`); undefined for an unknown name. */
  readonly stored: string | undefined;
}

/** `later`: too many were wrong before, so this one is unchecked, or wrong. */
export type PasswordVerdict =
  | { readonly is: 'right' | 'wrong' }
  | { readonly is: 'later'; readonly waitMs: number };

const RIGHT: PasswordVerdict = { is: 'right' };
const WRONG: PasswordVerdict = { is: 'wrong' };
const REMEMBERED = 50_000;
// For wrong ones and for refused ones: strangers fill these caches.
const WRONG_REMEMBERED = 20_000;
// More than the broker's connections in its default settings.
const WAITING_AT_MOST = 25_000;
const BUSY_WAIT_MS = 5_000;
/** In place of the stored hash of an unknown name. */
const NOTHING = '';

/**
 * Runs `atOnce` pieces of work at a time: each address in order of arrival, addresses in rotation. So much work of one
 * address delays that address, and others by one piece each.
 */
class Turns {
  #free: number;
  #waiting = 0;
  /** By address; the next one in the rotation is first. */
  readonly #queues = new Map<string, (() => void)[]>();

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  get isFull(): boolean {
    return this.#waiting >= WAITING_AT_MOST;
  }

  async run<T>(address: string, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#enqueue(addressBlock(address), resolve));
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #enqueue(block: string, begin: () => void): void {
    this.#waiting++;
    const queue = this.#queues.get(block);
    if (queue === undefined) this.#queues.set(block, [begin]);
    else queue.push(begin);
  }

  #next(): void {
    const [first] = this.#queues;
    if (first === undefined) {
      this.#free++;
      return;
    }
    const [block, queue] = first;
    const begin = queue.shift();
    // Behind all others, if the address has more work.
    this.#queues.delete(block);
    if (queue.length > 0) this.#queues.set(block, queue);
    this.#waiting--;
    begin?.();
  }
}

export class PasswordCheck {
  readonly #guesses: GuessLimit;
  readonly #turns: Turns;
  readonly #key = randomBytes(32);
  /** Stored hash of right names and passwords, by their HMAC: neither can be read from here. */
  readonly #right = boundedCache<string>(REMEMBERED);
  /** Stored hash, or `NOTHING`, of wrong names and passwords; by the same HMAC. */
  readonly #wrong = boundedCache<string>(WRONG_REMEMBERED);
  /** Count of refusals without a check for a name and password; by the same HMAC. */
  readonly #refusals = boundedCache<number>(WRONG_REMEMBERED);
  readonly #underWay = new Map<string, Promise<PasswordVerdict>>();

  /** @param atOnce concurrent checks, each on one of the four threads that the database needs too */
  constructor(guesses: GuessLimit, atOnce: number) {
    this.#guesses = guesses;
    this.#turns = new Turns(atOnce);
  }

  /**
   * A password that was right before is accepted at once, and one that was wrong before is refused without work. A
   * repeated request keeps the place of the waiting check.
   */
  async check(attempt: PasswordAttempt): Promise<PasswordVerdict> {
    const { address, stored } = attempt;
    const key = this.#keyOf(attempt);
    if (stored !== undefined && this.#right.get(key) === stored) return RIGHT;
    const name = `${key} ${address} ${stored}`;
    const held = this.#underWay.get(name);
    if (held !== undefined) return held;
    const verdict = this.#judge(attempt, key).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, verdict);
    return verdict;
  }

  async #judge(attempt: PasswordAttempt, key: string): Promise<PasswordVerdict> {
    // Generated secrets cannot be guessed and are cheap to check, so failures of the same address do not delay them.
    if (isGenerated(attempt.password)) return this.#verify(attempt, key);
    if (this.#wrong.get(key) === (attempt.stored ?? NOTHING)) return this.#countWrong(attempt.address);
    const refusal = this.#turns.isFull ? later(BUSY_WAIT_MS) : this.#refusalOf(attempt, key);
    if (refusal !== undefined) return refusal;
    return this.#turns.run(attempt.address, async () => {
      // Checks before it in the queue may have failed since.
      const now = this.#refusalOf(attempt, key);
      if (now !== undefined) return now;
      const verdict = await this.#verify(attempt, key);
      if (verdict !== RIGHT) {
        this.#guesses.countWork();
        this.#wrong.set(key, attempt.stored ?? NOTHING);
      }
      return verdict;
    });
  }

  #refusalOf({ address, name, stored }: PasswordAttempt, key: string): PasswordVerdict | undefined {
    const refusals = this.#refusals.get(key) ?? 0;
    const waitMs = this.#guesses.passwordWaitMs(address, stored === undefined ? undefined : name, refusals);
    if (waitMs === 0) return undefined;
    this.#refusals.set(key, refusals + 1);
    return later(waitMs);
  }

  async #verify({ address, name, password, stored }: PasswordAttempt, key: string): Promise<PasswordVerdict> {
    const isRight = await isPassword(password, stored);
    if (isRight && stored !== undefined) {
      this.#right.set(key, stored);
      return RIGHT;
    }
    return this.#countWrong(address, stored === undefined ? undefined : name, this.#refusals.get(key));
  }

  #countWrong(address: string, name?: string, refusals?: number): PasswordVerdict {
    const waitMs = this.#guesses.waitMs(address);
    this.#guesses.count(address, name, refusals);
    return waitMs > 0 ? later(waitMs) : WRONG;
  }

  #keyOf({ name, password }: PasswordAttempt): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([name, password]))
      .digest('base64');
  }
}

function later(waitMs: number): PasswordVerdict {
  return { is: 'later', waitMs };
}
