// The summary of a test run: skipped tests with their reasons, partly run tests, the slowest files, and the total time.
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';
import './needs.js';

const SLOWEST = 10;
const SHOWN_FROM_MS = 1_000;
const UNITS = { cases: 'cases', minutes: 'simulated minutes' } as const;

export default class SummaryReporter implements Reporter {
  #startedMs = performance.now();

  onTestRunStart(): void {
    this.#startedMs = performance.now();
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const seconds = (performance.now() - this.#startedMs) / 1000;
    const minutes = `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
    process.stdout.write(
      [
        ...skippedLines(modules),
        ...partLines(modules),
        ...slowestLines(modules),
        `\nTotal: ${minutes}`,
        '',
      ].join('\n'),
    );
  }
}

/** Skipped tests by reason, without the ones that `partLines` counts. */
export function skippedLines(modules: readonly TestModule[]): readonly string[] {
  const byReason = new Map<string, Map<string, number>>();
  for (const module of modules) {
    for (const test of module.children.allTests('skipped')) {
      if (test.meta().parts !== undefined) continue;
      const files = byReason.get(reasonOf(test)) ?? new Map<string, number>();
      files.set(module.relativeModuleId, (files.get(module.relativeModuleId) ?? 0) + 1);
      byReason.set(reasonOf(test), files);
    }
  }
  if (byReason.size === 0) return [];
  const lines = [...byReason].flatMap(([reason, files]) => [
    `  ${reason}`,
    ...[...files].map(([file, count]) => `    ${count} in ${file}`),
  ]);
  return ['\nSkipped:', ...lines];
}

function reasonOf(test: TestCase): string {
  for (let task: TestCase | TestSuite | TestModule = test; task.type !== 'module'; task = task.parent) {
    const { missing } = task.meta();
    if (missing !== undefined) return `missing on this machine: ${missing}`;
  }
  const result = test.result();
  return (result.state === 'skipped' ? result.note : undefined) ?? 'no reason given';
}

/** The share that ran of tests with a share of their cases, by file. */
export function partLines(modules: readonly TestModule[]): readonly string[] {
  const lines = modules.flatMap((module) => {
    const parts = [...module.children.allTests()].flatMap((test) => test.meta().parts ?? []);
    const sums = (['cases', 'minutes'] as const).flatMap((unit) => {
      const of = sum(parts.map((part) => part[unit]?.of ?? 0));
      return of === 0 ? [] : [`${sum(parts.map((part) => part[unit]?.played ?? 0))} of ${of} ${UNITS[unit]}`];
    });
    return sums.length === 0 ? [] : [`  ${sums.join(' and ')} in ${module.relativeModuleId}`];
  });
  return lines.length === 0 ? [] : ['\nPlayed in part, to be done in time (CASES=0/1 plays all):', ...lines];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** The files that took longest, with the time of their tests, hooks and imports. */
export function slowestLines(modules: readonly TestModule[]): readonly string[] {
  const timed = modules.map((module) => {
    const { duration, collectDuration } = module.diagnostic();
    return { file: module.relativeModuleId, ms: duration + collectDuration };
  });
  const slowest = timed
    .filter(({ ms }) => ms >= SHOWN_FROM_MS)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST);
  if (slowest.length === 0) return [];
  return [
    '\nSlowest files:',
    ...slowest.map(({ file, ms }) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`),
  ];
}
