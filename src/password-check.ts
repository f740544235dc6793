// Checks what people choose (passwords, client secrets): slow by intent, so remembered once right, and bounded when wrong.
import { createHmac, randomBytes } from 'node:crypto';
import { boundedCache } from './bounded-cache.js';
import { addressBlock, type GuessLimit } from './guess-limit.js';
import { isGenerated, isPassword } from './secrets.js';

/** A name and password that somebody sent. */
export interface PasswordAttempt {
  readonly address: string;
  readonly name: string;
  readonly password: string;
  /** What is stored for that name (`hashPassword`); undefined where nobody has it. */
  readonly stored: string | undefined;
}

/** `later`: not checked, or wrong, where too many were wrong before. */
export type PasswordVerdict =
  | { readonly is: 'right' | 'wrong' }
  | { readonly is: 'later'; readonly waitMs: number };

const RIGHT: PasswordVerdict = { is: 'right' };
const WRONG: PasswordVerdict = { is: 'wrong' };
const REMEMBERED = 50_000;
// Of wrong ones, and of those that were refused: strangers fill these.
const WRONG_REMEMBERED = 20_000;
// As many chargers as the broker takes in its default settings, and more.
const WAITING_AT_MOST = 25_000;
const BUSY_WAIT_MS = 5_000;
/** In the place of what is stored, for a name that nobody has. */
const NOTHING = '';

/**
 * Runs so many pieces of work at a time: of each address in the order they came, the addresses by turns. So who sends much
 * makes its own wait, and those of other addresses by one piece each.
 */
class Turns {
  #free: number;
  #waiting = 0;
  /** By address; the one whose turn is next is first. */
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
    // Behind all others, if there is more of it.
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
  /** What was stored when a name and password were right, by their HMAC: neither can be read from here. */
  readonly #right = boundedCache<string>(REMEMBERED);
  /** What was stored, or nothing, when a name and password were wrong; by the same HMAC. */
  readonly #wrong = boundedCache<string>(WRONG_REMEMBERED);
  /** How often a name and password were refused unchecked; by the same HMAC. */
  readonly #refusals = boundedCache<number>(WRONG_REMEMBERED);
  readonly #underWay = new Map<string, Promise<PasswordVerdict>>();

  /** @param atOnce checks that may run at the same time, each on one of the four threads that the database needs too. */
  constructor(guesses: GuessLimit, atOnce: number) {
    this.#guesses = guesses;
    this.#turns = new Turns(atOnce);
  }

  /**
   * What was right before is accepted at once, and what was wrong before is refused without work. Asking again while a check
   * waits keeps its place.
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
      // Those before it in the queue may have failed since.
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
