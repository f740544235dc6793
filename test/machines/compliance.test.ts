// Whether a charger keeps to what it was told (power safety, rule 8).
import { describe, expect, it } from 'vitest';
import { createCompliance, foldCompliance } from '../../machines/power/compliance.js';

describe('A charger that draws more than (limit + 0.5 A) × 1.10 (rule 8)', () => {
  it('is non-compliant after 7 s, not before', () => {
    const compliance = createCompliance();
    for (const atMs of [0, 3_000, 6_999]) expect(foldCompliance(compliance, 116, 100, atMs)).toBe(false);
    expect(compliance.isNonCompliant).toBe(false);
    expect(foldCompliance(compliance, 116, 100, 7_000)).toBe(true);
    expect(compliance.isNonCompliant).toBe(true);
    expect(foldCompliance(compliance, 116, 100, 17_000)).toBe(false);
  });

  it.each([
    [115, 100],
    [5, 0],
    [71, 60],
  ])('is not one that draws %d of %d tenths of an ampere', (drawn, entitled) => {
    const compliance = createCompliance();
    for (let atMs = 0; atMs < 60_000; atMs += 1_000) foldCompliance(compliance, drawn, entitled, atMs);
    expect(compliance.isNonCompliant).toBe(false);
    for (let atMs = 60_000; atMs < 70_000; atMs += 1_000)
      foldCompliance(compliance, drawn + 1, entitled, atMs);
    expect(compliance.isNonCompliant).toBe(true);
  });

  it('is forgiven what passes within 7 s, however often', () => {
    const compliance = createCompliance();
    for (let atMs = 0; atMs < 600_000; atMs += 5_000) {
      foldCompliance(compliance, atMs % 10_000 === 0 ? 320 : 100, 100, atMs);
    }
    expect(compliance.isNonCompliant).toBe(false);
  });

  it('is trusted again after keeping to its limit for a minute without a break', () => {
    const compliance = createCompliance();
    for (const atMs of [0, 7_000]) foldCompliance(compliance, 320, 100, atMs);
    for (const atMs of [10_000, 60_000]) foldCompliance(compliance, 100, 100, atMs);
    foldCompliance(compliance, 320, 100, 65_000);
    for (const atMs of [70_000, 129_999]) expect(foldCompliance(compliance, 100, 100, atMs)).toBe(false);
    expect(foldCompliance(compliance, 100, 100, 130_000)).toBe(true);
    expect(compliance.isNonCompliant).toBe(false);
  });
});
