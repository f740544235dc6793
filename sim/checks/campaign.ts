// Many seeds of hostile hours on as many processes as there are cores: stops at nothing, and tells what came of each.
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { SeedOrder, SeedOutcome } from './campaign-worker.js';
import { RARE_BRANCHES, type RareBranch } from './reached.js';

export interface CampaignResult {
  readonly outcomes: readonly SeedOutcome[];
  /** The first seed, by number, that broke an invariant. */
  readonly failure: SeedOutcome | undefined;
  /** How often each rare branch was taken, all seeds together. */
  readonly reached: ReadonlyMap<RareBranch, number>;
  readonly unreached: readonly RareBranch[];
}

const WORKER = fileURLToPath(new URL('./campaign-worker.js', import.meta.url));

/**
 * @param options.isFirstEnough no more seeds are begun once one failed.
 * @param options.execArgv of the processes, for what is planted in them.
 */
export async function runCampaign(options: {
  readonly seeds: readonly number[];
  readonly chargers: number;
  readonly durationMs: number;
  readonly isFirstEnough?: boolean;
  readonly execArgv?: readonly string[];
  readonly processes?: number;
  readonly onOutcome?: (outcome: SeedOutcome) => void;
}): Promise<CampaignResult> {
  const { seeds, chargers, durationMs, isFirstEnough = false, execArgv = [], onOutcome } = options;
  const waiting = [...seeds];
  const outcomes: SeedOutcome[] = [];
  const processes = Math.min(options.processes ?? availableParallelism(), seeds.length);

  function isOver(): boolean {
    return isFirstEnough && outcomes.some(({ violation }) => violation !== undefined);
  }

  async function work(): Promise<void> {
    const child = fork(WORKER, { execArgv: [...execArgv], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    try {
      for (let seed = waiting.shift(); seed !== undefined && !isOver(); seed = waiting.shift()) {
        const outcome = await ask(child, { seed, chargers, durationMs });
        outcomes.push(outcome);
        onOutcome?.(outcome);
      }
    } finally {
      child.kill();
    }
  }

  await Promise.all(Array.from({ length: processes }, work));
  outcomes.sort((a, b) => a.seed - b.seed);
  const reached = new Map<RareBranch, number>();
  for (const outcome of outcomes)
    for (const [branch, count] of outcome.reached) reached.set(branch, (reached.get(branch) ?? 0) + count);
  const unreached = (Object.keys(RARE_BRANCHES) as RareBranch[]).filter((branch) => !reached.has(branch));
  return { outcomes, failure: outcomes.find(({ violation }) => violation !== undefined), reached, unreached };
}

function ask(child: ChildProcess, order: SeedOrder): Promise<SeedOutcome> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) =>
      reject(new Error(`a process of the campaign ended with ${code} in seed ${order.seed}`));
    child.once('exit', onExit);
    child.once('message', (outcome) => {
      child.off('exit', onExit);
      resolve(outcome as SeedOutcome);
    });
    child.send(order);
  });
}
