// Guessing passwords is slowed per address: after too many wrong ones nothing more is checked for a while.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../ports.js';
import { createTokenBucket, type TokenBucket } from '../../token-bucket.js';

const BURST = 100;
const ADDRESSES = 10_000;

export interface FailedLogins {
  isOverLimit(address: string): boolean;
  count(address: string): void;
}

export function createFailedLogins(clock: Clock, failuresPerMin: number): FailedLogins {
  const buckets = new LRUCache<string, TokenBucket>({ max: ADDRESSES });
  return {
    isOverLimit: (address) => (buckets.get(address)?.waitMs(clock.monotonicMs()) ?? 0) > 0,
    count(address) {
      const bucket =
        buckets.get(address) ?? createTokenBucket({ ratePerS: failuresPerMin / 60, burst: BURST });
      buckets.set(address, bucket);
      bucket.take(clock.monotonicMs());
    },
  };
}
