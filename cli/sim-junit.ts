// `--junit FILE` of the simulator's commands: the result of a run, or of each seed, for a CI server.
import { writeFileSync } from 'node:fs';
import { counted } from '../machines/values/counted.js';
import { formatFailure } from '../sim/run/expectation-judge.js';
import type { RunResult } from '../sim/run/run-account.js';
import type { SeedOutcome } from '../sim/run/seed-pool.js';
import { toInstant } from '../src/wire/instants.js';

// Writes the results of runs as JUnit XML, which every CI server can show: a suite of passed and failed cases.

interface JunitCase {
  readonly name: string;
  /** The problem as text; undefined if the case passed. */
  readonly problem: string | undefined;
  /** The command that repeats the case. */
  readonly again: string;
}

interface JunitSuite {
  readonly name: string;
  /** The scenario file. */
  readonly path: string;
  readonly elapsedMs: number;
  readonly cases: readonly JunitCase[];
}

/** In the form that GitLab, GitHub Actions, Jenkins and Azure read: `testsuites` with one `testsuite`. */
function junitXml({ name, path, elapsedMs, cases }: JunitSuite): string {
  const failures = cases.filter(({ problem }) => problem !== undefined).length;
  const totals = `tests="${cases.length}" failures="${failures}" errors="0" time="${(elapsedMs / 1000).toFixed(3)}"`;
  const lines = cases.map((each) => {
    const head = `    <testcase classname="${escaped(path)}" name="${escaped(each.name)}"`;
    if (each.problem === undefined) return `${head}/>`;
    return `${head}>\n      <failure message="${escaped(each.problem)}">${escaped(`again: ${each.again}`)}</failure>\n    </testcase>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${totals}>
  <testsuite name="${escaped(name)}" ${totals}>
${lines.join('\n')}
  </testsuite>
</testsuites>
`;
}

/** Drops characters that XML 1.0 cannot represent. */
function escaped(text: string): string {
  return [...text]
    .filter((character) => /[\t\n\r\u0020-\ud7ff\ue000-\ufffd]/.test(character) || character.length > 1)
    .map((character) => (/[&<>"'\n\r\t]/.test(character) ? `&#${character.charCodeAt(0)};` : character))
    .join('');
}

/** Fails before the run if the file cannot be written. @throws the error of the file system */
export function claimJunit(file: string | undefined): void {
  if (file !== undefined) writeFileSync(file, '');
}

/** A case for each expectation, one for calls, and one for all invariants. */
export function writeRunJunit(
  file: string,
  { scenario, failures, violations, summary }: RunResult,
  elapsedMs: number,
  again: string,
): void {
  const { name, path, seed, expectations } = scenario;
  const problemAt = (where: string) => {
    const failure = failures.find((each) => each.where === where);
    return failure && formatFailure(failure);
  };
  const expected = new Set(expectations.map(({ where }) => where));
  const calls = failures.filter(({ where }) => !expected.has(where));
  const [first] = violations;
  const told =
    first &&
    `${counted(summary.violations, 'violation')}, first ${first.invariant} at ${toInstant(first.atMs)}, ${first.target}: ${first.detail}`;
  const cases: readonly JunitCase[] = [
    { name: 'no invariant is broken', problem: told, again },
    {
      name: 'calls have their expected answers',
      problem: calls.length === 0 ? undefined : calls.map(formatFailure).join('; '),
      again,
    },
    ...[...expected].map((where) => ({ name: where, problem: problemAt(where), again })),
  ];
  writeFileSync(file, junitXml({ name: `${name}, seed ${seed}`, path, elapsedMs, cases }));
}

/** A case for each seed. @param againOf the command that runs only this seed. */
export function writeSeedsJunit(
  file: string,
  path: string,
  outcomes: readonly SeedOutcome[],
  elapsedMs: number,
  againOf: (seed: number) => string,
): void {
  const cases = [...outcomes]
    .sort((a, b) => a.seed - b.seed)
    .map(({ seed, first }) => ({ name: `seed ${seed}`, problem: first, again: againOf(seed) }));
  writeFileSync(file, junitXml({ name: counted(outcomes.length, 'seed'), path, elapsedMs, cases }));
}
