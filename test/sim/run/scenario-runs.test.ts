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

/** Large clusters gather the changes of their members. */
const LARGE_CLUSTER = `name: Large cluster
start: 2026-06-01T08:00:00Z
duration: 40m
sites: { count: 60, chargers: 1, connectors: 1, permanentLimitKw: 20 }
sessions:
  visits:
${Array.from({ length: 60 }, (_, i) => `    - { connector: site-${i + 1}-c1/1, arrives: +1m, energyKwh: 500 }`).join('\n')}
vehicles:
  - { name: bus, maxKw: 22, phases: 3, taper: none }
actions:
  - at: +5m
    call: createCluster
    body: { name: Town, locationIds: [${Array.from({ length: 60 }, (_, i) => `site-${i + 1}`).join(', ')}], limitKw: 600 }
${Array.from(
  { length: 30 },
  (_, i) => `  - at: +6m
    call: scheduleLocation
    params: { locationId: site-${i + 1} }
    body: { startTime: +15m, endTime: +25m, limitKw: 5, priority: 2 }`,
).join('\n')}
expect:
  - { at: +12m, location: site-1, gridLimitKw: { atLeast: 9.9, atMost: 10 } }
  - { at: +20m, location: site-1, gridLimitKw: { atMost: 4 } }
  - { at: +20m, location: site-60, gridLimitKw: { atLeast: 15.9 } }
  - { at: +20m, connector: site-60-c1/1, limitA: { atLeast: 22 } }
  - { at: +26m, location: site-1, gridLimitKw: { atLeast: 9.9, atMost: 10 } }
  - { at: +30m, connector: site-1-c1/1, limitA: { atLeast: 13 } }
  - { from: +7m, until: +40m, powerKw: { atMost: 600 } }
  - { at: +30m, powerKw: { atLeast: 560 } }
`;

describe('A cluster of 60 members', () => {
  it('keeps its cap, and gives a member its share back once the others have made room', async () => {
    expect(await outcomeOf(LARGE_CLUSTER, 'large-cluster.yaml')).toEqual({ failures: [], violations: 0 });
  });
});
