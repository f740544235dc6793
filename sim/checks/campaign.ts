// Runs many seeds of hostile hours, in one process per core, goes on after failures, and reports each outcome.
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type HostileSetting, runHostileHours } from '../world/hostile-hours.js';
import type { Violation } from '../world/world-record.js';
import { type RareBranch, reachableBranches } from './reached.js';

// Runs one seed of a campaign, and returns its outcome.

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

export interface CampaignResult {
  readonly outcomes: readonly SeedOutcome[];
  /** First seed, by number, that broke an invariant. */
  readonly failure: SeedOutcome | undefined;
  /** Number of times that each rare branch was taken, over all seeds. */
  readonly reached: ReadonlyMap<RareBranch, number>;
  /** Only branches that this campaign can reach. */
  readonly unreached: readonly RareBranch[];
}

const WORKER = fileURLToPath(new URL('./campaign-worker.js', import.meta.url));

interface CampaignOptions extends HostileSetting {
  /** May have no end, if `isTimeOver` ends the campaign. */
  readonly seeds: Iterable<number>;
  /** No further seed starts after a failed one. */
  readonly isFirstEnough?: boolean;
  readonly isTimeOver?: () => boolean;
  /** Arguments of the processes, for planted bugs, and the module that they run. */
  readonly execArgv?: readonly string[];
  readonly worker?: string;
  readonly processes?: number;
  readonly onOutcome?: (outcome: SeedOutcome) => void;
}

/** @throws the error of `onOutcome`; no process is left then */
export async function runCampaign({
  seeds,
  isFirstEnough = false,
  isTimeOver = () => false,
  execArgv = [],
  worker = WORKER,
  processes = availableParallelism(),
  onOutcome,
  ...setting
}: CampaignOptions): Promise<CampaignResult> {
  const waiting = seeds[Symbol.iterator]();
  const outcomes: SeedOutcome[] = [];
  const children = new Set<ChildProcess>();
  let isGivenUp = false;

  function next(): number | undefined {
    const isOver = isFirstEnough && outcomes.some(({ violation }) => violation !== undefined);
    return isGivenUp || isOver || isTimeOver() ? undefined : waiting.next().value;
  }

  async function work(): Promise<void> {
    let child: ChildProcess | undefined;
    for (let seed = next(); seed !== undefined; seed = next()) {
      child ??= fork(worker, { execArgv: [...execArgv], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
      children.add(child);
      const outcome = await ask(child, { ...setting, seed });
      if (isGivenUp) return;
      if (child.exitCode !== null || child.signalCode !== null) {
        children.delete(child);
        child = undefined;
      }
      outcomes.push(outcome);
      onOutcome?.(outcome);
    }
  }

  try {
    await Promise.all(Array.from({ length: processes }, work));
  } finally {
    isGivenUp = true;
    for (const child of children) child.kill();
  }
  return resultOf(outcomes, setting);
}

export function resultOf(
  unsorted: readonly SeedOutcome[],
  setting: Pick<HostileSetting, 'nodes'>,
): CampaignResult {
  const outcomes = [...unsorted].sort((a, b) => a.seed - b.seed);
  const reached = new Map<RareBranch, number>();
  for (const outcome of outcomes)
    for (const [branch, count] of outcome.reached) reached.set(branch, (reached.get(branch) ?? 0) + count);
  const unreached = reachableBranches(setting).filter((branch) => !reached.has(branch));
  return { outcomes, failure: outcomes.find(({ violation }) => violation !== undefined), reached, unreached };
}

/** A process that ends during a seed fails that seed, and the campaign goes on with another process. */
function ask(child: ChildProcess, order: SeedOrder): Promise<SeedOutcome> {
  return new Promise((resolve) => {
    const onExit = (code: number | null, signal: string | null) =>
      resolve(failedSeed(order.seed, `its process ended with ${code ?? signal}`));
    child.once('exit', onExit);
    child.once('message', (outcome) => {
      child.off('exit', onExit);
      resolve(outcome as SeedOutcome);
    });
    child.send(order);
  });
}
