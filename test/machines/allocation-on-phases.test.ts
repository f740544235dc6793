// Allocation under fuses and a limit at once: max-min fair under all of them, checked against a linear program.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allocate } from '../../machines/power/allocation.js';
import type { Claim } from '../../machines/power/claims.js';
import { fairestByProgram } from './max-min-oracle.js';

const POLES = 4;
/** mW of a tenth of an ampere: one phase at two voltages, and three phases. */
const MILLIWATTS = [23_000, 25_300, 69_000] as const;

interface Case {
  readonly availableW: number;
  readonly capacitiesTenthsA: readonly number[];
  readonly locked: readonly Claim[];
  readonly unlocked: readonly Claim[];
}

/** A tenth of an ampere is a whole number of watts, so that the program calculates like the service. */
const claim: fc.Arbitrary<Claim> = fc
  .record({
    milliwattsPerTenth: fc.constantFrom(...MILLIWATTS),
    floorTenthsA: fc.integer({ min: 6, max: 10 }).map((n) => 10 * n),
    aboveTenthsA: fc.integer({ min: 0, max: 26 }).map((n) => 10 * n),
    held: fc.constantFrom(0, 0, 0, 0, 0, 1),
    circuitPhases: fc.subarray([0, 1, 2, 3], { minLength: 0 }),
  })
  .map(({ milliwattsPerTenth, floorTenthsA, aboveTenthsA, held, circuitPhases }) => {
    const wattsOf = (tenthsA: number) => (tenthsA * milliwattsPerTenth) / 1000;
    const heldTenthsA = 10 * Math.floor((floorTenthsA * held) / 10);
    return {
      heldW: wattsOf(heldTenthsA),
      floorW: wattsOf(floorTenthsA),
      mostW: wattsOf(floorTenthsA + aboveTenthsA),
      load: { circuitPhases, milliwattsPerTenth, heldTenthsA },
    };
  });

const cases: fc.Arbitrary<Case> = fc
  .record({
    locked: fc.oneof(fc.constant([]), fc.array(claim, { maxLength: 3 })),
    unlocked: fc.array(claim, { minLength: 1, maxLength: 7 }),
    share: fc.constantFrom(0.3, 0.6, 0.9, 1, 1),
    shares: fc.array(fc.integer({ min: 2, max: 14 }), { minLength: POLES, maxLength: POLES }),
  })
  .map(({ locked, unlocked, share, shares }) => {
    const all = [...locked, ...unlocked];
    return {
      locked,
      unlocked,
      availableW: Math.floor(share * sum(all.map(({ mostW }) => mostW))),
      capacitiesTenthsA: shares.map((each, circuitPhase) =>
        Math.floor((each / 10) * sum(all.map((claim) => loadOf(claim, claim.mostW, circuitPhase)))),
      ),
    };
  });

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** Load of a claim with `shareW` on a circuit phase, tenths of an ampere. */
function loadOf({ load }: Claim, shareW: number, circuitPhase: number): number {
  if (load === undefined || !load.circuitPhases.includes(circuitPhase)) return 0;
  return Math.max(Math.floor((shareW * 1000) / load.milliwattsPerTenth), load.heldTenthsA);
}

function loadsOf(claims: readonly Claim[], sharesW: readonly number[]): number[] {
  return Array.from({ length: POLES }, (_, circuitPhase) =>
    sum(claims.map((each, i) => loadOf(each, sharesW[i] ?? 0, circuitPhase))),
  );
}

function allocationOf({ availableW, locked, unlocked, capacitiesTenthsA }: Case) {
  return allocate(availableW, locked, unlocked, capacitiesTenthsA);
}

function check(each: (given: Case, found: ReturnType<typeof allocationOf>) => void, numRuns = 2_000): void {
  fc.assert(
    fc.property(cases, (given) => each(given, allocationOf(given))),
    { numRuns },
  );
}

describe('A location with fuses (allocation)', () => {
  it('loads no circuit phase above its capacity, apart from unconditional reserves', () => {
    check((given, { lockedW, unlockedW }) => {
      const { locked, unlocked, capacitiesTenthsA } = given;
      const all = [...locked, ...unlocked];
      const loads = loadsOf(all, [...lockedW, ...unlockedW]);
      const held = loadsOf(
        all,
        all.map(({ heldW }) => heldW),
      );
      for (const [circuitPhase, load] of loads.entries()) {
        expect(load).toBeLessThanOrEqual(
          Math.max(capacitiesTenthsA[circuitPhase] ?? 0, held[circuitPhase] ?? 0),
        );
      }
    });
  });

  it('gives each claim its unconditional reserve, or at least its floor and at most its demand', () => {
    check(({ locked, unlocked }, { lockedW, unlockedW }) => {
      for (const [i, { heldW, floorW, mostW }] of [...locked, ...unlocked].entries()) {
        const shareW = [...lockedW, ...unlockedW][i] ?? Number.NaN;
        if (shareW !== heldW) expect(shareW).toBeGreaterThanOrEqual(floorW);
        expect(shareW).toBeLessThanOrEqual(mostW);
      }
    });
  });

  it('shares among running claims as linear programs do that raise the smallest share until none can rise', () => {
    let bound = 0;
    check((given, found) => {
      if (found.isLastResort || found.isUnattainable) return;
      const { locked, unlocked, availableW, capacitiesTenthsA } = given;
      const runs = unlocked.map((each, i) => (found.unlockedW[i] ?? 0) >= each.floorW);
      const running = unlocked.filter((_, i) => runs[i]);
      const others = [
        ...locked.map((each, i) => ({ each, shareW: found.lockedW[i] ?? 0 })),
        ...unlocked.filter((_, i) => !runs[i]).map((each) => ({ each, shareW: each.heldW })),
      ];
      const resources = capacitiesTenthsA.map((capacity, circuitPhase) => ({
        available: capacity - sum(others.map(({ each, shareW }) => loadOf(each, shareW, circuitPhase))),
        perW: running.map(({ load }) =>
          load?.circuitPhases.includes(circuitPhase) === true ? 1000 / load.milliwattsPerTenth : 0,
        ),
      }));
      const fairestW = fairestByProgram(
        running,
        availableW - sum(others.map(({ shareW }) => shareW)),
        resources,
      );
      const sharesW = found.unlockedW.filter((_, i) => runs[i]);
      for (const [i, shareW] of sharesW.entries()) {
        expect(shareW).toBeLessThanOrEqual((fairestW[i] ?? Number.NaN) + 1e-2);
        expect(shareW).toBeGreaterThan((fairestW[i] ?? Number.NaN) - 1 - 1e-2);
      }
      if (found.bindings.some((binding, i) => runs[i] && typeof binding === 'number')) bound++;
    }, 500);
    // The test proves nothing if circuit phases never bind.
    expect(bound).toBeGreaterThan(50);
  });

  it('lowers a lock only for other locks and for reserves: no other claim loads its missing current (3)', () => {
    let lowered = 0;
    let goOn = 0;
    check(({ locked, unlocked, availableW, capacitiesTenthsA }, { lockedW, unlockedW, lastResort }) => {
      const all = [...locked, ...unlocked];
      const sharesW = [...lockedW, ...unlocked.map(({ heldW }) => heldW)];
      // A watt and a tenth of an ampere of each lock may stay unused.
      const isPowerUsed = availableW - sum(sharesW) <= locked.length;
      const used = loadsOf(all, sharesW).flatMap((load, circuitPhase) =>
        (capacitiesTenthsA[circuitPhase] ?? 0) - load <= locked.length ? [circuitPhase] : [],
      );
      const loadsUsed = ({ load }: Claim) =>
        used.some((circuitPhase) => load?.circuitPhases.includes(circuitPhase));
      for (const [i, lock] of locked.entries()) {
        if (lastResort[i] !== true || (lockedW[i] ?? 0) >= lock.mostW || (lockedW[i] ?? 0) < lock.floorW)
          continue;
        lowered++;
        expect(isPowerUsed || loadsUsed(lock)).toBe(true);
        for (const [j, other] of unlocked.entries()) {
          // A connector that has its floor in any case may get this rest, too.
          const leftOverW = (locked.length * (other.load?.milliwattsPerTenth ?? 0)) / 1000;
          if (isPowerUsed || loadsUsed(other))
            expect(unlockedW[j]).toBeLessThanOrEqual(other.heldW + leftOverW);
          else if ((unlockedW[j] ?? 0) > other.heldW) goOn++;
        }
      }
    });
    expect(Math.min(lowered, goOn)).toBeGreaterThan(50);
  });

  it('gives a lock no floor that a fuse does not carry, and reports it as unattainable', () => {
    const onL1 = (held: number): Claim => ({
      heldW: held,
      floorW: 1_380,
      mostW: 7_360,
      load: { circuitPhases: [0], milliwattsPerTenth: 23_000, heldTenthsA: 0 },
    });
    const found = allocate(100_000, [onL1(0), onL1(0)], [], [100]);
    expect(found).toMatchObject({ lockedW: [2_300, 0], isLastResort: true, isUnattainable: true });
  });
});
