// The wait of all tests: it accepts late results, names missing ones, and allows for a busy machine.
import { describe, expect, it } from 'vitest';
import { eventually, inPatience, Patience } from './eventually.js';

/** Number of looks in 100 ms of patience, if all processors together idle for `idlePerLookMs` between two looks. */
async function looks(idlePerLookMs: number): Promise<number> {
  let idleMs = 1_000;
  const patience = new Patience(100, () => {
    idleMs += idlePerLookMs;
    return idleMs;
  });
  let count = 1;
  while (await patience.lasts()) count++;
  return count;
}

describe('Patience', () => {
  it('is spent at each look on an idle machine, with any number of processors', async () => {
    expect(await looks(20)).toBe(5);
    expect(await looks(64 * 20)).toBe(5);
  });

  it('lasts up to ten times longer on a busy machine', async () => {
    expect(await looks(10)).toBe(10);
    // The looks get farther apart, and there are still as many as this in a second.
    expect(await looks(0)).toBe(27);
  });

  it('is spent at each look if the idle time of processors is not counted', async () => {
    const patience = new Patience(40, () => 0);
    expect([await patience.lasts(), await patience.lasts()]).toEqual([true, false]);
  });
});

describe('Waiting', () => {
  it('returns the result of a check once it no longer throws', async () => {
    let looked = 0;
    const check = async () => {
      looked++;
      if (looked < 3) throw new Error(`looked ${looked} times`);
      return looked;
    };
    expect(await eventually(check)).toBe(3);
  });

  it('ends with the last error of the check', async () => {
    let looked = 0;
    const check = () => {
      looked++;
      throw new Error(`looked ${looked} times`);
    };
    const failure: Error = await eventually(check, 60).catch((error) => error);
    expect(failure.message).toBe(`looked ${looked} times`);
    expect(looked).toBeGreaterThan(2);
  });

  it('returns the result of a promise, or its failure, and reports one that never settles', async () => {
    const late = () => new Error('nobody came');
    expect(await inPatience(Promise.resolve(7), late)).toBe(7);
    await expect(inPatience(Promise.reject(new Error('it broke')), late)).rejects.toThrow('it broke');
    await expect(inPatience(new Promise(() => {}), late, 60)).rejects.toThrow('nobody came');
  });
});
