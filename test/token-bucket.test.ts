// The token bucket: its capacity and its refill rate.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTokenBucket } from '../src/token-bucket.js';

describe('a token bucket', () => {
  it('gives its burst at once and then one at a time, as it fills', () => {
    const bucket = createTokenBucket({ ratePerS: 5, burst: 20 });
    for (let i = 0; i < 20; i++) expect(bucket.take(1_000)).toBe(true);
    expect(bucket.take(1_000)).toBe(false);
    expect(bucket.waitMs(1_000)).toBe(200);
    expect(bucket.take(1_199)).toBe(false);
    expect(bucket.take(1_200)).toBe(true);
    expect(bucket.take(1_200)).toBe(false);
  });

  it('reports its whole tokens, and the time until it has one more', () => {
    const bucket = createTokenBucket({ ratePerS: 4, burst: 2 });
    expect(bucket.look(0)).toEqual({ left: 2, moreInMs: 0 });
    bucket.take(0);
    bucket.take(0);
    expect(bucket.look(0)).toEqual({ left: 0, moreInMs: 250 });
    expect(bucket.look(350)).toEqual({ left: 1, moreInMs: expect.closeTo(150) });
    expect(bucket.look(500)).toEqual({ left: 2, moreInMs: 0 });
  });

  it('never gives more than its burst and its rate allow', () => {
    const limits = fc.record({
      ratePerS: fc.integer({ min: 1, max: 50 }),
      burst: fc.integer({ min: 1, max: 30 }),
    });
    fc.assert(
      fc.property(limits, fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 200 }), (allowed, gaps) => {
        const bucket = createTokenBucket(allowed);
        let nowMs = 0;
        let taken = 0;
        for (const gap of gaps) {
          nowMs += gap;
          if (bucket.take(nowMs)) taken++;
          expect(taken).toBeLessThanOrEqual(allowed.burst + (nowMs * allowed.ratePerS) / 1000 + 1e-6);
        }
      }),
    );
  });
});
