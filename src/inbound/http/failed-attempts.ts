// Guessing is slowed per address, without locking out whoever has proved itself there before.
import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../ports.js';
import { createTokenBucket, type TokenBucket } from '../../token-bucket.js';
import { Refusal, retryAfter } from './refusal.js';

const BURST = 100;
const ADDRESSES = 10_000;

/** Checks credentials that are not known to be good, a limited number of times per address. */
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
  const { clock, failuresPerMin, onFailure } = options;
  const buckets = new LRUCache<string, TokenBucket>({ max: ADDRESSES });

  return {
    attempt(via, address, check) {
      const block = addressBlock(address);
      const waitMs = buckets.get(block)?.waitMs(clock.monotonicMs()) ?? 0;
      if (waitMs > 0) {
        throw new Refusal(
          'RATE_LIMITED',
          'Too many failed sign-in attempts from this address: try again later.',
          retryAfter(waitMs),
        );
      }
      const found = check();
      if (found === undefined) {
        const bucket =
          buckets.get(block) ?? createTokenBucket({ ratePerS: failuresPerMin / 60, burst: BURST });
        buckets.set(block, bucket);
        bucket.take(clock.monotonicMs());
        onFailure(via);
      }
      return found;
    },
  };
}

/** One subscriber's worth of addresses: an IPv4 address, or the /64 an IPv6 subscriber can pick from freely. */
function addressBlock(address: string): string {
  if (!isIPv6(address)) return address;
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1);
  const [head = '', tail] = address.split('::');
  const before = head.split(':');
  const after = tail === undefined ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
