// Runs one seed of a campaign, and returns its outcome.
import { type HostileSetting, runHostileHours } from '../world/hostile-hours.js';
import type { Violation } from '../world/power-watch.js';
import type { RareBranch } from './reached.js';

/** Task of a worker process. */
export interface SeedOrder extends HostileSetting {
  readonly seed: number;
}

/** Plain data, which a worker sends to its parent. */
export interface SeedOutcome {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly violations: number;
  readonly reached: readonly (readonly [RareBranch, number])[];
  readonly messages: number;
  readonly faults: number;
}

export async function runSeed(order: SeedOrder): Promise<SeedOutcome> {
  const { seed } = order;
  const { violations, reached, counts, struck } = await runHostileHours({ ...order, isFirstEnough: true });
  return {
    seed,
    violation: violations[0],
    violations: violations.length,
    reached: [...reached],
    messages: counts.fromChargers + counts.toChargers,
    faults: [...struck.values()].reduce((sum, count) => sum + count, 0),
  };
}

/** Outcome of a seed whose world did not come to its end. */
export function failedSeed(seed: number, detail: string): SeedOutcome {
  const violation = { atMs: 0, invariant: 'P14', target: 'world', detail };
  return { seed, violation, violations: 1, reached: [], messages: 0, faults: 0 };
}
