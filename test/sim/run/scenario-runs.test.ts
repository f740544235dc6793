// The scenarios of the repository, run: each meets its expectations, and fails changed ones.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatFailure } from '../../../sim/run/expectation-judge.js';
import { runScenario } from '../../../sim/run/run-scenario.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import { minutesOf } from '../../seeds.js';

const FOLDER = 'scenarios';
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));
const MINUTE_MS = 60_000;
/**
 * Minutes of the longest scenarios in a run without all cases: enough for most of their expectations. Others run to
 * their end.
 */
const LEAST_MINUTES: Readonly<Record<string, number>> = {
  'building.yaml': 125,
  'everything-at-once.yaml': 90,
  'ocpp-chargers.yaml': 60,
  'ordinary-depot-day.yaml': 485,
  'peak-shaving.yaml': 60,
  'recorded-building.yaml': 60,
};

async function outcomeOf(text: string, path: string, leastMinutes = Number.POSITIVE_INFINITY) {
  const whole = parseScenario(text, path);
  const durationMs = whole.endsAtMs - whole.startsAtMs;
  const playedMs = minutesOf(durationMs / MINUTE_MS, leastMinutes) * MINUTE_MS;
  const scenario = playedMs < durationMs ? parseScenario(text, path, { durationMs: playedMs }) : whole;
  const { failures, summary } = await runScenario(scenario);
  return { failures: failures.map(formatFailure), violations: summary.violations };
}

describe('A scenario of the library', () => {
  it.each(FILES)('%s meets its expectations without a violation', async (file) => {
    const path = `${FOLDER}/${file}`;
    const outcome = await outcomeOf(readFileSync(path, 'utf8'), path, LEAST_MINUTES[file]);
    expect(outcome).toEqual({ failures: [], violations: 0 });
  });

  it.each([
    ['overlapping-windows.yaml', / effectiveLimitKw: (\d+) /, ' effectiveLimitKw: 999 '],
    ['lock-on-a-full-site.yaml', /limitA: 21\.7, reason: lock/, 'limitA: 21.7, reason: fairShare'],
    ['stubborn-car.yaml', /violations: 0/, 'violations: { atLeast: 1 }'],
  ])('%s fails with a changed expectation', async (file, right, wrong) => {
    const path = `${FOLDER}/${file}`;
    const text = readFileSync(path, 'utf8');
    expect(text).toMatch(right);
    const changed = text.replace(right, wrong);
    const line = text.slice(0, text.search(right)).split('\n').length;
    const { failures } = await outcomeOf(changed, path);
    expect(failures).toEqual([expect.stringContaining(`${path}:${line}:`)]);
  });
});
