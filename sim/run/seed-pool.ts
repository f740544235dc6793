// Runs one scenario with many seeds, one seed at a time on each thread.
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { toInstant } from '../../src/wire/instants.js';
import type { LocationSummary } from '../report/summary.js';
import { parseScenario, type ScenarioOverrides } from '../scenario/parse-scenario.js';
import { formatFailure } from './expectation-judge.js';
import { runScenario } from './run-scenario.js';
import { THREAD_LIMITS } from './thread-limits.js';

export interface SeedOutcome {
  readonly seed: number;
  readonly simulatedMs: number;
  readonly violations: number;
  readonly hash: string;
  /** The first problem, as text. */
  readonly first?: string;
  /** Present if `isTabled`. */
  readonly locations?: readonly LocationSummary[];
}

/** Data that a thread gets once, before its seeds. */
export interface SeedTask {
  readonly path: string;
  readonly overrides: ScenarioOverrides;
  /** If true, the outcome includes the figures of each location. */
  readonly isTabled: boolean;
}

/** Calls `onOutcome` for each seed, in the order in which they end. @throws if a run itself fails. */
export async function runSeeds(options: {
  readonly path: string;
  readonly seeds: readonly number[];
  readonly overrides: ScenarioOverrides;
  readonly isTabled: boolean;
  readonly jobs: number;
  readonly onOutcome: (outcome: SeedOutcome) => void;
}): Promise<void> {
  const { path, seeds, overrides, isTabled, jobs, onOutcome } = options;
  const left = [...seeds];
  const threads = Array.from(
    { length: Math.min(jobs, seeds.length) },
    () =>
      new Worker(new URL('./seed-thread.js', import.meta.url), {
        workerData: { path, overrides, isTabled } satisfies SeedTask,
        resourceLimits: THREAD_LIMITS,
      }),
  );
  try {
    await Promise.all(threads.map((thread) => feed(thread, left, onOutcome)));
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}

function feed(thread: Worker, left: number[], onOutcome: (outcome: SeedOutcome) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = () => {
      const seed = left.shift();
      if (seed === undefined) resolve();
      else thread.postMessage(seed);
    };
    thread.on('error', reject);
    thread.on('message', (outcome: SeedOutcome) => {
      onOutcome(outcome);
      next();
    });
    next();
  });
}

export async function runSeed({ path, overrides, isTabled }: SeedTask, seed: number): Promise<SeedOutcome> {
  const scenario = parseScenario(readFileSync(path, 'utf8'), path, { ...overrides, seed });
  const { summary, violations, failures, hash } = await runScenario(scenario);
  const [violation] = violations;
  const [failure] = failures;
  const first =
    violation === undefined
      ? failure && formatFailure(failure)
      : `${violation.invariant} at ${toInstant(violation.atMs)}, ${violation.target}: ${violation.detail}`;
  return {
    seed,
    hash,
    violations: summary.violations,
    simulatedMs: scenario.endsAtMs - scenario.startsAtMs,
    ...(first === undefined ? {} : { first }),
    ...(isTabled ? { locations: summary.locations } : {}),
  };
}
