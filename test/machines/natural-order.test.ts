// The order of lists: numbers by value, and one position for each text, however ids are spelt.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareNaturally } from '../../machines/values/natural-order.js';

// Few characters, so that texts differ by case, zeros and punctuation alone.
const text = fc.string({ unit: fc.constantFrom(...'aAb019-_.:'), maxLength: 6 });

describe('The natural order', () => {
  it('puts numbers in the order of their values, however long they are', () => {
    const digits = '9'.repeat(120);
    const shuffled = ['quay-10', `quay-${digits}0`, 'quay-2', `quay-${digits}`, 'Quay-3', 'quay-1'];
    const sorted = ['quay-1', 'quay-2', 'Quay-3', 'quay-10', `quay-${digits}`, `quay-${digits}0`];
    expect(shuffled.sort(compareNaturally)).toEqual(sorted);
  });

  it('is one order of all ids: different ids are never equal, and it has no cycles', () => {
    fc.assert(
      fc.property(text, text, text, (a, b, c) => {
        expect(compareNaturally(a, b) === 0).toBe(a === b);
        expect(Math.sign(compareNaturally(a, b)) + Math.sign(compareNaturally(b, a))).toBe(0);
        if (compareNaturally(a, b) < 0 && compareNaturally(b, c) < 0)
          expect(compareNaturally(a, c)).toBeLessThan(0);
      }),
      { numRuns: 2_000 },
    );
  });
});
