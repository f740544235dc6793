// The scenarios that users find at the root of the repository, run: each gives what it says, and would not if it said otherwise.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatFailure } from '../../../sim/run/expectation-judge.js';
import { runScenario } from '../../../sim/run/run-scenario.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';

const FOLDER = 'scenarios';
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));
const HOUR_MS = 3_600_000;
/** Of these a part, to be done in time; `headroom sim run` shows the whole. */
const SHORTENED: Readonly<Record<string, number>> = { 'everything-at-once.yaml': 3 * HOUR_MS };

async function outcomeOf(text: string, path: string, durationMs?: number) {
  const scenario = parseScenario(text, path, durationMs === undefined ? {} : { durationMs });
  const { failures, summary } = await runScenario(scenario);
  return { failures: failures.map(formatFailure), violations: summary.violations };
}

describe('a scenario of the library', () => {
  it.each(FILES)('%s gives what it expects, without a violation', async (file) => {
    const path = `${FOLDER}/${file}`;
    const outcome = await outcomeOf(readFileSync(path, 'utf8'), path, SHORTENED[file]);
    expect(outcome).toEqual({ failures: [], violations: 0 });
  });

  it.each([
    ['overlapping-windows.yaml', / effectiveLimitKw: (\d+) /, ' effectiveLimitKw: 999 '],
    ['lock-on-a-full-site.yaml', /limitA: 21\.7, reason: lock/, 'limitA: 21.7, reason: fairShare'],
    ['stubborn-car.yaml', /violations: 0/, 'violations: { atLeast: 1 }'],
  ])('%s fails where it expects something else', async (file, right, wrong) => {
    const path = `${FOLDER}/${file}`;
    const text = readFileSync(path, 'utf8');
    expect(text).toMatch(right);
    const changed = text.replace(right, wrong);
    const line = text.slice(0, text.search(right)).split('\n').length;
    const { failures } = await outcomeOf(changed, path);
    expect(failures).toEqual([expect.stringContaining(`${path}:${line}:`)]);
  });
});
