// Allocation (R13 to R17): max-min fair against two independent oracles, minimums, locks, last resort and rotation.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Allocation, allocate } from '../../machines/power/allocation.js';
import type { Claim } from '../../machines/power/claims.js';
import { ascending, fairestByProgram, fairestByTrying } from './max-min-oracle.js';

interface Case {
  readonly availableW: number;
  readonly locked: readonly Claim[];
  readonly unlocked: readonly Claim[];
}

/** A claim with at most `unitW` for each of fail-safe, minimum, and range above the minimum. */
function claim(unitW: number): fc.Arbitrary<Claim> {
  return fc
    .record({
      heldShare: fc.constantFrom(0, 0, 0.5, 1),
      floorW: fc.integer({ min: 1, max: unitW }),
      aboveW: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * unitW })),
    })
    .map(({ heldShare, floorW, aboveW }) => ({
      heldW: Math.floor(floorW * heldShare),
      floorW,
      mostW: floorW + aboveW,
    }));
}

function cases(unitW: number, most: number): fc.Arbitrary<Case> {
  return fc
    .record({
      locked: fc.array(claim(unitW), { maxLength: most }),
      unlocked: fc.array(claim(unitW), { maxLength: most }),
      share: fc.double({ min: 0, max: 1.2, noNaN: true }),
    })
    .map(({ locked, unlocked, share }) => ({
      locked,
      unlocked,
      availableW: Math.floor(share * sum([...locked, ...unlocked].map(({ mostW }) => mostW))),
    }));
}

const someCases = fc.oneof(cases(5, 4), cases(5_000, 12));

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function allocationOf({ availableW, locked, unlocked }: Case): Allocation {
  return allocate(availableW, locked, unlocked);
}

function isPaused({ heldW, floorW }: Claim, shareW: number): boolean {
  return shareW === heldW && heldW < floorW;
}

/** Calls `each` with every case and its allocation. */
function check(each: (given: Case, found: Allocation) => void, of = someCases, numRuns = 2_000): void {
  fc.assert(
    fc.property(of, (given) => each(given, allocationOf(given))),
    { numRuns },
  );
}

/** The running claims in the given order, with the power that they share. */
function runningOf(given: Case, found: Allocation): { running: Claim[]; sharesW: number[]; roomW: number } {
  const running: Claim[] = [];
  const sharesW: number[] = [];
  let roomW = given.availableW - sum(found.lockedW);
  for (const [i, each] of given.unlocked.entries()) {
    const shareW = found.unlockedW[i] ?? Number.NaN;
    if (isPaused(each, shareW)) roomW -= each.heldW;
    else {
      running.push(each);
      sharesW.push(shareW);
    }
  }
  return { running, sharesW, roomW };
}

/** Each share is below the real-valued fair share by less than a watt. */
function expectWithinAWatt(sharesW: readonly number[], fairestW: readonly number[]): void {
  expect(sharesW.length).toBe(fairestW.length);
  for (const [i, shareW] of sharesW.entries()) {
    expect(shareW).toBeLessThanOrEqual((fairestW[i] ?? Number.NaN) + 1e-3);
    expect(shareW).toBeGreaterThan((fairestW[i] ?? Number.NaN) - 1 - 1e-3);
  }
}

describe('The power of a location (allocation)', () => {
  it('is never granted twice: the shares fit the available power, unless the location is unattainable', () => {
    check(({ availableW }, { lockedW, unlockedW, isUnattainable }) => {
      if (!isUnattainable) expect(sum([...lockedW, ...unlockedW])).toBeLessThanOrEqual(availableW);
    });
  });

  it('is given in whole watts, to a locked claim between its floor and its most', () => {
    check(({ locked }, { lockedW }) => {
      expect(lockedW.length).toBe(locked.length);
      for (const [i, { floorW, mostW }] of locked.entries()) {
        expect(Number.isInteger(lockedW[i])).toBe(true);
        expect(lockedW[i]).toBeGreaterThanOrEqual(floorW);
        expect(lockedW[i]).toBeLessThanOrEqual(mostW);
      }
    });
  });

  it('is given to an unlocked claim from its floor up, or the claim keeps its reserve: nothing between', () => {
    check(({ unlocked }, { unlockedW }) => {
      expect(unlockedW.length).toBe(unlocked.length);
      for (const [i, { heldW, floorW, mostW }] of unlocked.entries()) {
        const shareW = unlockedW[i] ?? Number.NaN;
        expect(Number.isInteger(shareW)).toBe(true);
        if (shareW !== heldW) expect(shareW).toBeGreaterThanOrEqual(floorW);
        expect(shareW).toBeLessThanOrEqual(Math.max(heldW, mostW));
      }
    });
  });

  it('goes to locked claims first: they get less than they ask for only when every unlocked one is paused (3)', () => {
    check(({ availableW, locked, unlocked }, { lockedW, unlockedW, isLastResort }) => {
      const askedW = sum(locked.map(({ mostW }) => mostW));
      const heldW = sum(unlocked.map((each) => each.heldW));
      expect(isLastResort).toBe(locked.length > 0 && askedW + heldW > availableW);
      if (!isLastResort) expect(lockedW).toEqual(locked.map(({ mostW }) => mostW));
      else expect(unlockedW).toEqual(unlocked.map((each) => each.heldW));
    });
  });

  it('is unattainable exactly if floors of locks and reserves of the others exceed it; floors stay (4)', () => {
    check(({ availableW, locked, unlocked }, { lockedW, isUnattainable }) => {
      const leastW = sum(locked.map(({ floorW }) => floorW)) + sum(unlocked.map(({ heldW }) => heldW));
      expect(isUnattainable).toBe(leastW > availableW);
      if (isUnattainable) expect(lockedW).toEqual(locked.map(({ floorW }) => floorW));
    });
  });

  it('lets each claim run, in the given order, that fits beside the floors of earlier ones', () => {
    check(({ availableW, locked, unlocked }, { unlockedW, isLastResort, isUnattainable }) => {
      if (isLastResort || isUnattainable) return;
      let takenW = sum(locked.map(({ mostW }) => mostW)) + sum(unlocked.map(({ heldW }) => heldW));
      for (const [i, each] of unlocked.entries()) {
        const fits = takenW + each.floorW - each.heldW <= availableW;
        if (fits) takenW += each.floorW - each.heldW;
        if (each.heldW < each.floorW) expect(isPaused(each, unlockedW[i] ?? Number.NaN)).toBe(!fits);
      }
    });
  });

  it('shares in the last resort among locked claims as the fairest of all vectors does', () => {
    check(
      (given, { lockedW, isLastResort, isUnattainable }) => {
        if (!isLastResort || isUnattainable) return;
        expectFairestByTrying(
          given.locked,
          lockedW,
          given.availableW - sum(given.unlocked.map(({ heldW }) => heldW)),
        );
      },
      cases(4, 3),
      1_000,
    );
  });

  it('shares among the unlocked claims that run as the fairest of all vectors does', () => {
    check(
      (given, found) => {
        if (found.isLastResort || found.isUnattainable) return;
        const { running, sharesW, roomW } = runningOf(given, found);
        expectFairestByTrying(running, sharesW, roomW);
      },
      cases(4, 3),
      1_000,
    );
  });

  it('shares as a linear program does that raises the smallest share until none can rise', () => {
    check(
      (given, found) => {
        if (found.isUnattainable) return;
        const { running, sharesW, roomW } = runningOf(given, found);
        if (!found.isLastResort) return expectWithinAWatt(sharesW, fairestByProgram(running, roomW));
        const leftW = given.availableW - sum(found.unlockedW);
        expectWithinAWatt(found.lockedW, fairestByProgram(given.locked, leftW));
      },
      cases(2_000, 5),
      300,
    );
  });

  it('leaves less than a watt for each claim that still needs more', () => {
    check((given, { lockedW, unlockedW, isUnattainable }) => {
      if (isUnattainable) return;
      const shares = [
        ...given.locked.map((each, i) => ({ each, shareW: lockedW[i] ?? 0 })),
        ...given.unlocked.map((each, i) => ({ each, shareW: unlockedW[i] ?? 0 })),
      ].filter(({ each, shareW }) => !isPaused(each, shareW));
      const wanting = shares.filter(({ each, shareW }) => shareW < each.mostW);
      const leftW = given.availableW - sum([...lockedW, ...unlockedW]);
      if (wanting.length > 0) expect(leftW).toBeLessThan(wanting.length);
    });
  });

  it('returns the level that all sharing claims are held to', () => {
    check((given, found) => {
      if (found.isLastResort || found.isUnattainable) return;
      const { running, sharesW } = runningOf(given, found);
      const { levelW } = found;
      for (const [i, { floorW, mostW }] of running.entries()) {
        const wantedW = levelW === undefined ? mostW : Math.min(Math.max(levelW, floorW), mostW);
        expect(sharesW[i]).toBe(wantedW);
      }
    });
  });

  it('is given in larger part where more is available, and never less of it to a lock', () => {
    fc.assert(
      fc.property(someCases, fc.integer({ min: 0, max: 3_000 }), (given, moreW) => {
        const [less, more] = [
          allocationOf(given),
          allocationOf({ ...given, availableW: given.availableW + moreW }),
        ];
        for (const [i, shareW] of less.lockedW.entries()) {
          expect(more.lockedW[i]).toBeGreaterThanOrEqual(shareW);
        }
        // A larger sum may leave a larger rest after division into whole watts.
        const roundingW = given.locked.length + given.unlocked.length;
        expect(sum([...more.lockedW, ...more.unlockedW]) + roundingW).toBeGreaterThanOrEqual(
          sum([...less.lockedW, ...less.unlockedW]),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it('does not depend on the order of the claims where all of them run', () => {
    check((given, { lockedW, unlockedW, isLastResort }) => {
      const turned = allocate(given.availableW, [...given.locked].reverse(), [...given.unlocked].reverse());
      expect([...turned.lockedW].reverse()).toEqual(lockedW);
      const isAnyPaused = given.unlocked.some((each, i) => isPaused(each, unlockedW[i] ?? 0));
      if (!isLastResort && !isAnyPaused) expect([...turned.unlockedW].reverse()).toEqual(unlockedW);
    });
  });

  it('goes to claims that rest only where the others have all they can use, and then likewise', () => {
    const withRest = someCases.chain((given) =>
      fc
        .array(fc.boolean(), { minLength: given.unlocked.length, maxLength: given.unlocked.length })
        .map((rests) => ({
          ...given,
          unlocked: given.unlocked.map((each, i) => ({ ...each, isResting: rests[i] === true })),
        })),
    );
    let paused = 0;
    let served = 0;
    fc.assert(
      fc.property(withRest, ({ availableW, locked, unlocked }) => {
        const { unlockedW, isLastResort, isUnattainable } = allocate(availableW, locked, unlocked);
        if (isLastResort || isUnattainable) return;
        const awake = unlocked.filter(({ isResting }) => !isResting);
        const resting = unlocked.filter(({ isResting }) => isResting);
        const sharesOf = (rests: boolean) => unlockedW.filter((_, i) => unlocked[i]?.isResting === rests);
        // The others get the same shares as if resting connectors asked for no more than their reserve.
        const heldW = sum(resting.map((each) => each.heldW));
        const alone = allocate(availableW - heldW, locked, awake).unlockedW;
        expect(sharesOf(false)).toEqual(alone);
        const leftW = availableW - sum(locked.map(({ mostW }) => mostW)) - sum(alone);
        expect(sharesOf(true)).toEqual(allocate(leftW, [], resting).unlockedW);
        for (const [i, each] of resting.entries()) {
          if (isPaused(each, sharesOf(true)[i] ?? 0)) paused++;
          else served++;
        }
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(paused, served)).toBeGreaterThan(10);
  });

  it('may be as large as numbers go, or nothing at all', () => {
    const one = { heldW: 0, floorW: 4_140, mostW: 22_080 };
    expect(allocate(Number.MAX_SAFE_INTEGER, [one], [one]).unlockedW).toEqual([22_080]);
    expect(allocate(0, [], [one])).toEqual({
      lockedW: [],
      unlockedW: [0],
      levelW: undefined,
      isLastResort: false,
      isUnattainable: false,
      bindings: ['power'],
      lockedBindings: [],
      yields: ['nothing'],
      lastResort: [],
    });
    expect(allocate(-5, [], [])).toMatchObject({ isLastResort: false, isUnattainable: true });
  });
});

function expectFairestByTrying(
  claims: readonly Claim[],
  sharesW: readonly number[],
  availableW: number,
): void {
  const fairestW = fairestByTrying(claims, availableW);
  if (fairestW === undefined) throw new Error('no vector fits, though the floors do');
  const best = ascending(fairestW);
  for (const [i, shareW] of ascending(sharesW).entries()) {
    // The service leaves an indivisible rest unused, and the oracle gives it to one claim.
    expect([0, 1]).toContain((best[i] ?? Number.NaN) - shareW);
  }
}
