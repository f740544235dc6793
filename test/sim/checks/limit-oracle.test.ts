// The oracle of limits by the contract (sections 1, 2.8 and 3.1), against instants computed by hand.
import { describe, expect, it } from 'vitest';
import { LimitOracle } from '../../../sim/world/limit-oracle.js';
import { toInstant } from '../../../src/wire/instants.js';

function profile(startMs: number, endMs: number, limitKw: number, priority = 0) {
  return { startTime: toInstant(startMs), endTime: toInstant(endMs), limitKw, priority };
}

function oracleOf(): LimitOracle {
  const oracle = new LimitOracle();
  oracle.addLocation('quay', 50, 80);
  return oracle;
}

describe('The oracle of limits', () => {
  it('applies a window from its begin to before its end, to the millisecond', () => {
    const oracle = oracleOf();
    oracle.submit('quay', profile(1_000, 2_000, 20), 0);
    expect([999, 1_000, 1_999, 2_000].map((atMs) => oracle.effectiveLimitKw('quay', atMs))).toEqual([
      50, 20, 20, 50,
    ]);
  });

  it('applies the highest active priority, and the last submission of each priority', () => {
    const oracle = oracleOf();
    oracle.submit('quay', profile(0, 9_000, 20, 1), 0);
    oracle.submit('quay', profile(2_000, 4_000, 70, 5), 0);
    oracle.submit('quay', profile(0, 3_000, 30, 1), 0);
    expect([1_000, 2_500, 3_500, 5_000].map((atMs) => oracle.effectiveLimitKw('quay', atMs))).toEqual([
      30, 70, 70, 50,
    ]);
  });

  it('falls back to the next active profile after a cancellation', () => {
    const oracle = oracleOf();
    oracle.submit('quay', profile(0, 9_000, 20, 1), 0);
    oracle.submit('quay', profile(2_000, 4_000, 70, 5), 0);
    oracle.cancel('quay', 5, 2_500);
    expect([oracle.effectiveLimitKw('quay', 3_000), [...oracle.profilesOf('quay')].length]).toEqual([20, 1]);
    oracle.cancel('quay', 1, 3_000);
    expect(oracle.effectiveLimitKw('quay', 3_000)).toBe(50);
  });

  it('returns no limit above the physical connection', () => {
    const oracle = oracleOf();
    oracle.setPermanent('quay', 200, 0);
    expect(oracle.limitW('quay', 0)).toBe(80_000);
  });

  it('returns the lowest limit between two instants, after any earlier query', () => {
    const oracle = oracleOf();
    oracle.submit('quay', profile(5_000, 6_000, 10, 2), 0);
    expect(oracle.lowestW('quay', 0, 4_999)).toBe(50_000);
    expect(oracle.lowestW('quay', 0, 5_000)).toBe(10_000);
    expect(oracle.lowestW('quay', 5_999, 9_000)).toBe(10_000);
    expect(oracle.lowestW('quay', 6_000, 9_000)).toBe(50_000);
    expect(oracle.lowestW('quay', 0, 4_999)).toBe(50_000);
  });

  it('shares a cap in proportion to the limits of the members', () => {
    const oracle = oracleOf();
    oracle.addLocation('pier', 150, null);
    oracle.clusters.set('c', { limitKw: 100, isActive: true, locationIds: ['quay', 'pier'] });
    expect(oracle.shareKw('quay', 0)).toBe(25);
    oracle.clusters.set('c', { limitKw: 100, isActive: false, locationIds: ['quay', 'pier'] });
    expect(oracle.shareKw('quay', 0)).toBe(Number.POSITIVE_INFINITY);
  });

  it('returns the instant since which the present lock of a connector applies', () => {
    const oracle = oracleOf();
    oracle.lock('q/1', profile(1_000, 9_000, 11), 500);
    expect(oracle.lockKw('q/1', 999)).toBeUndefined();
    expect(oracle.lockedSinceMs('q/1', 3_000)).toBe(1_000);
    oracle.lock('q/1', profile(1_000, 9_000, 7), 4_000);
    expect([oracle.lockKw('q/1', 5_000), oracle.lockedSinceMs('q/1', 5_000)]).toEqual([7, 4_000]);
    oracle.lock('q/1', profile(1_000, 9_000, 5, 3), 4_500);
    oracle.cancel('q/1', 3, 6_000);
    expect([oracle.lockKw('q/1', 6_000), oracle.lockedSinceMs('q/1', 6_000)]).toEqual([7, 6_000]);
    oracle.cancel('q/1', 0, 7_000);
    expect([oracle.lockKw('q/1', 7_000), oracle.lockedSinceMs('q/1', 7_000)]).toEqual([undefined, undefined]);
  });
});
