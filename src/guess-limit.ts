// Slows down guesses per address, over REST and MQTT alike: an address that failed too often waits, and no other does.
import { isIPv6 } from 'node:net';
import type { LRUCache } from 'lru-cache';
import { boundedCache } from './bounded-cache.js';
import type { Clock } from './ports/clock.js';
import { createTokenBucket, type TokenBucket } from './token-bucket.js';

const BURST = 100;
const ADDRESSES = 10_000;
// At an address that failed too often, a name may still fail this often at once. After
// that it is this many times slower than an address.
const NAME_BURST = 10;
const NAMES = 20_000;
const NAME_SLOWER = 10;
// Failures of all addresses together, after which each name is limited from every address.
const OVERALL_BURST = 1_000;
const OVERALL_FASTER = 10;

/** A hundred failures at once, then `failuresPerMin`, for each IPv4 address and each IPv6 /64. */
export class GuessLimit {
  readonly #clock: Clock;
  readonly #failuresPerMin: number;
  readonly #addresses = boundedCache<TokenBucket>(ADDRESSES);
  /** Keys: the name alone, and the name with the address, each with the doublings of earlier refusals. */
  readonly #names = boundedCache<TokenBucket>(NAMES);
  readonly #overall: TokenBucket;

  constructor(clock: Clock, failuresPerMin: number) {
    this.#clock = clock;
    this.#failuresPerMin = failuresPerMin;
    this.#overall = this.#createBucket(OVERALL_FASTER, OVERALL_BURST);
  }

  /** Milliseconds until the address may fail again; 0 below the limit. */
  waitMs(address: string): number {
    return this.#addresses.get(addressBlock(address))?.waitMs(this.#clock.monotonicMs()) ?? 0;
  }

  /**
   * Milliseconds until a password of `name` (undefined for an unknown name) is checked for the address. If the address,
   * or all together, failed too often, a name that did not is still checked: it may share the address with a guesser.
   * Passwords that were refused unchecked `refusals` times have a count of their own for each doubling. A guesser uses
   * up the count of new passwords; a charger always sends the same one.
   */
  passwordWaitMs(address: string, name: string | undefined, refusals = 0): number {
    const nowMs = this.#clock.monotonicMs();
    const overallMs = this.#overall.waitMs(nowMs);
    const waitMs = Math.max(this.waitMs(address), overallMs);
    if (waitMs === 0 || name === undefined) return waitMs;
    const who = overallMs > 0 ? name : nameAt(address, name);
    return this.#names.get(afterRefusals(who, refusals))?.waitMs(nowMs) ?? 0;
  }

  /** A credential from this address was wrong; `name` is the claimed owner of a checked password. */
  count(address: string, name?: string, refusals = 0): void {
    this.#take(this.#addresses, addressBlock(address), 1, BURST);
    if (name === undefined) return;
    for (const who of [name, nameAt(address, name)])
      this.#take(this.#names, afterRefusals(who, refusals), 1 / NAME_SLOWER, NAME_BURST);
  }

  /** A password took the work of a check and was wrong. */
  countWork(): void {
    this.#overall.take(this.#clock.monotonicMs());
  }

  #take(buckets: LRUCache<string, TokenBucket>, key: string, faster: number, burst: number): void {
    const bucket = buckets.get(key) ?? this.#createBucket(faster, burst);
    buckets.set(key, bucket);
    bucket.take(this.#clock.monotonicMs());
  }

  #createBucket(faster: number, burst: number): TokenBucket {
    return createTokenBucket({ ratePerS: (faster * this.#failuresPerMin) / 60, burst });
  }
}

function nameAt(address: string, name: string): string {
  return `${addressBlock(address)} ${name}`;
}

function afterRefusals(who: string, refusals: number): string {
  return `${Math.floor(Math.log2(1 + refusals))} ${who}`;
}

/** The addresses of one subscriber: an IPv4 address, or the /64 from which an IPv6 subscriber can choose freely. */
export function addressBlock(address: string): string {
  if (!isIPv6(address)) return address;
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1);
  const [head = '', tail] = address.split('::');
  const before = head.split(':');
  const after = tail === undefined ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
