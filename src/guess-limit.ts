// Guessing is slowed per address, whatever the way in: after too many failures nothing more is checked for a while.
import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Clock } from './ports/clock.js';
import { createTokenBucket, type TokenBucket } from './token-bucket.js';

const BURST = 100;
const ADDRESSES = 10_000;

export interface GuessLimit {
  /** Milliseconds until credentials from this address are checked again; 0 where they are checked now. */
  waitMs(address: string): number;
  /** A credential from this address was wrong. */
  count(address: string): void;
}

/** A hundred failures at once, then `failuresPerMin`, for each IPv4 address and each IPv6 /64. */
export function createGuessLimit(clock: Clock, failuresPerMin: number): GuessLimit {
  const buckets = new LRUCache<string, TokenBucket>({ max: ADDRESSES });
  return {
    waitMs: (address) => buckets.get(addressBlock(address))?.waitMs(clock.monotonicMs()) ?? 0,
    count(address) {
      const block = addressBlock(address);
      const bucket = buckets.get(block) ?? createTokenBucket({ ratePerS: failuresPerMin / 60, burst: BURST });
      buckets.set(block, bucket);
      bucket.take(clock.monotonicMs());
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
