// `headroom sim run` for a user: output, files, exit codes, and the way back to a failure.
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { onlyInCi } from '../seeds.js';
import { run, runWithDefect, start, temporaryDirectory, writeFile } from './headroom.js';
import { smallScenario } from './small-scenario.js';

function scenarioFile(more?: Parameters<typeof smallScenario>[0]): string {
  return writeFile(temporaryDirectory(), 'small.yaml', smallScenario(more));
}

async function jsonOf(args: readonly string[]) {
  const { code, stdout, stderr } = await run([...args, '--json']);
  expect(stderr).toBe('');
  return { code, ...JSON.parse(stdout) };
}

describe('headroom sim run', () => {
  it('prints a table with a row for each location, the speed and the trace hash, and ends with 0', async () => {
    const { code, stdout, stderr } = await run(['sim', 'run', scenarioFile()]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^location +peak kW +limit kW +delivered/);
    expect(stdout).toMatch(/\nsite-1 +\d+\.\d +(20|10)\.0 /);
    expect(stdout).toMatch(/Small yard, seed 1: 1\.0 h in .* × real time\), \d+ messages, 0 violations/);
    expect(stdout).toMatch(/\ntrace [0-9a-f]{64}\n/);
  });

  it('explains starts, fairness and the invariants below the table and in its help', async () => {
    const [{ stdout }, help] = await Promise.all([
      run(['sim', 'run', scenarioFile()]),
      run(['sim', 'run', '--help']),
    ]);
    expect(stdout).toMatch(/ starts\/session +fairness /);
    for (const text of [stdout, help.stdout])
      for (const words of [
        'starts/session: times that charging began',
        'fairness: Jain’s index',
        'P20 average',
      ])
        expect(text).toContain(words);
  });

  it('writes a row for each connector and each car as CSV, with bay-2 before bay-10', async () => {
    const csv = join(temporaryDirectory(), 'new', 'tables');
    const charger = (name: string) =>
      `{ controllerUuid: '${name}', connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 16 }] }`;
    const text = `name: Bays
start: 2026-06-01T12:00:00Z
duration: 30m
provision:
  tenants:
    - tenantUuid: yard
      name: Yard
      features: [energy-management]
      locations:
        - locationId: yard-10
          name: Ten
          permanentLimitKw: 50
          chargers: [${charger('z-1')}]
        - locationId: yard-2
          name: Two
          permanentLimitKw: 50
          chargers: [${charger('bay-10')}, ${charger('bay-2')}]
sessions:
  visits:
    - { connector: bay-10/1, arrives: "12:01", energyKwh: 100 }
    - { connector: bay-2/1, arrives: "12:02", leaves: "12:12", energyKwh: 100 }
    - { connector: bay-2/1, arrives: "12:15", energyKwh: 0.5 }
    - { connector: z-1/1, arrives: "12:20", energyKwh: 1 }
expect: [{ violations: 0 }]
`;
    const file = writeFile(temporaryDirectory(), 'bays.yaml', text);
    const { code, summary } = await jsonOf(['sim', 'run', file, '--csv', csv]);
    expect(code).toBe(0);
    const rowsOf = (table: string) => {
      const lines = readFileSync(join(csv, table), 'utf8').split('\r\n');
      expect(lines.at(-1)).toBe('');
      const [head = [], ...rows] = lines.slice(0, -1).map((line) => line.split(','));
      return rows.map((row) => Object.fromEntries(head.map((name, i) => [name, row[i]])));
    };
    const connectors = rowsOf('connectors.csv');
    expect(connectors.map(({ location, charger: of }) => `${location} ${of}`)).toEqual([
      'yard-2 bay-2',
      'yard-2 bay-10',
      'yard-10 z-1',
    ]);
    const [two] = summary.locations;
    expect(two.locationId).toBe('yard-2');
    expect(connectors[0]).toMatchObject({
      seed: '1',
      connector: '1',
      sessions: '2',
      requested_kWh: '100.500',
      delivered_kWh: (two.connectors[0].deliveredWh / 1000).toFixed(3),
      peak_kW: '11.000',
      starts: '2',
    });
    const sessions = rowsOf('sessions.csv');
    expect(sessions).toMatchObject([
      {
        charger: 'bay-2',
        arrived_at: '2026-06-01T12:02:00.000Z',
        left_at: '2026-06-01T12:12:00.000Z',
        starts: '1',
      },
      {
        charger: 'bay-2',
        arrived_at: '2026-06-01T12:15:00.000Z',
        left_at: '',
        delivered_kWh: expect.stringMatching(/^0\.5/),
      },
      { charger: 'bay-10', left_at: '' },
      { charger: 'z-1', requested_kWh: '1.000' },
    ]);
    const delivered = sessions.reduce((sum, { delivered_kWh }) => sum + Number(delivered_kWh), 0);
    const total = connectors.reduce((sum, { delivered_kWh }) => sum + Number(delivered_kWh), 0);
    expect(delivered).toBeCloseTo(total, 3);
  });

  it('reports a folder for tables that cannot be written, before it runs', async () => {
    const { code, stderr } = await run(['sim', 'run', scenarioFile(), '--csv', '/dev/null/tables']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('/dev/null') });
  });

  it('has the same result with the same seed, and another result with another seed', async () => {
    const file = scenarioFile({ faults: 'heavy' });
    const [first, again, other] = await Promise.all([
      jsonOf(['sim', 'run', file, '--seed', '5']),
      jsonOf(['sim', 'run', file, '--seed', '5']),
      jsonOf(['sim', 'run', file, '--seed', '6']),
    ]);
    expect(again.hash).toBe(first.hash);
    expect(again.summary).toEqual(first.summary);
    expect(other.hash).not.toBe(first.hash);
    expect(first).toMatchObject({ code: 0, seed: 5, failures: [], violations: [] });
  });

  it('has the same result on one thread, on two, and on more than it needs', onlyInCi(), async () => {
    const yards = `name: Yards
seed: 4
start: 2026-06-01T12:00:00Z
duration: 5m
sites: { count: 2, chargers: 26, connectors: 2, permanentLimitKw: 150 }
sessions: { generate: { perDay: 20, shape: flat, energyKwh: [2, 10], stay: [10m, 40m] } }
vehicles: [{ name: car, share: 1, maxKw: 11, phases: 3 }]
faults:
  - { kind: loss, share: 0.2, from: +2m, until: +4m }
  - { kind: serviceCrash, for: 10s, from: +3m }
expect:
  - { at: "12:02", location: site-2, effectiveLimitKw: 150 }
  - { powerKw: { atMost: 300 }, violations: 0 }
`;
    const file = writeFile(temporaryDirectory(), 'yards.yaml', yards);
    const outcomes = [];
    for (const workers of ['1', '5', '2']) {
      const { elapsedMs: _, ...outcome } = await jsonOf(['sim', 'run', file, '--workers', workers]);
      outcomes.push(outcome);
    }
    const [one, ...others] = outcomes;
    expect(one).toMatchObject({ code: 0, failures: [], violations: [] });
    expect(one?.summary.locations).toHaveLength(2);
    for (const other of others) expect(other).toEqual(one);
  });

  it('writes a self-contained report, a trace and a summary that agree with its output', async () => {
    const out = join(temporaryDirectory(), 'new', 'folder');
    const printed = await jsonOf(['sim', 'run', scenarioFile(), '--out', out]);
    expect(readdirSync(out).sort()).toEqual(['report.html', 'summary.json', 'trace.log']);
    const summary = JSON.parse(readFileSync(join(out, 'summary.json'), 'utf8'));
    expect(summary).toMatchObject({ scenario: 'Small yard', seed: 1, hash: printed.hash, violations: 0 });
    expect(summary.locations).toEqual(printed.summary.locations);
    const report = readFileSync(join(out, 'report.html'), 'utf8');
    expect(report).toMatch(/^<!doctype html>/i);
    expect(report).not.toMatch(/(src|href)="(https?:)?\/\//);
    const replayed = await jsonOf(['sim', 'replay', out]);
    expect(replayed).toMatchObject({ code: 0, scenario: 'Small yard', seed: 1 });
  });

  it('writes results for a CI server: a test case for each expectation and one for the invariants', async () => {
    const file = scenarioFile({
      expect: '  - { at: "12:30", location: site-1, powerKw: { atLeast: 15 }, effectiveLimitKw: 10 }',
    });
    const junit = join(temporaryDirectory(), 'sim.xml');
    const { code } = await run(['sim', 'run', file, '--junit', junit]);
    expect(code).toBe(1);
    const xml = readFileSync(junit, 'utf8');
    expect(xml).toMatch(
      /^<\?xml [^\n]+\n<testsuites tests="8" failures="1" errors="0" time="\d+\.\d{3}">\n {2}<testsuite name="Small yard, seed 1" tests="8" failures="1"/,
    );
    expect(xml).toContain('name="no invariant is broken"/>');
    expect(xml).toMatch(
      /name="[^"]*small\.yaml:\d+:\d+ expect\[2\]\.powerKw">\n {6}<failure message="[^"]*site-1 drew \d[^"]* kW, expected at least 15 at [^"]*">again: headroom sim run \S*small\.yaml --seed 1<\/failure>/,
    );
    expect(xml.match(/<testcase /g)).toHaveLength(8);
  });

  it('runs nothing if its results could not be written', async () => {
    const missing = join(temporaryDirectory(), 'no-such-folder', 'sim.xml');
    const { code, stdout, stderr } = await run(['sim', 'run', scenarioFile(), '--junit', missing]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('no-such-folder');
  });

  it('ends with 1 after an unmet expectation, and prints the command that reproduces it', async () => {
    const file = scenarioFile({ expect: '  - { at: "12:30", location: site-1, powerKw: { atLeast: 15 } }' });
    const first = await run(['sim', 'run', file, '--seed', '3', '--days', '0.03']);
    expect(first.code).toBe(1);
    const unmet = `unmet expectation: ${file}:19:5 expect[2].powerKw: site-1 drew `;
    expect(first.stderr).toContain(unmet);
    expect(first.stderr).toMatch(/expected at least 15 at 2026-06-01T12:30:00\.000Z/);
    const again = /^again: headroom (.*)$/m.exec(first.stderr)?.[1] ?? '';
    expect(again).toBe(`sim run ${file} --seed 3 --days 0.03`);
    const second = await run(again.split(' '));
    expect(second).toMatchObject({ code: 1, stderr: first.stderr });
    expect(second.stdout.split('\n').at(-2)).toBe(first.stdout.split('\n').at(-2));
  });

  it('ends with 1 after an exceeded limit, names the first violation and the command that reproduces it', async () => {
    // A service that takes twice the limit as its limit, as a defect might. The simulator's own checks must find it.
    const modules = new URL('../../dist/command/modules.js', import.meta.url).href;
    const supervisor = 'machines/power/location-supervisor.js LocationSupervisor';
    const defect = writeFile(
      temporaryDirectory(),
      'defect.mjs',
      `import { ${JSON.stringify(supervisor)} as LocationSupervisor } from ${JSON.stringify(modules)};
const decide = LocationSupervisor.prototype.decide;
LocationSupervisor.prototype.decide = function (budget, nowMs) {
  const { budgetW, limitW, lowestW, lowestOwnW } = budget;
  const twice = { budgetW: 2 * budgetW, limitW: 2 * limitW, lowestW: 2 * lowestW, lowestOwnW: 2 * lowestOwnW };
  return decide.call(this, { ...budget, ...twice }, nowMs);
};
`,
    );
    const file = scenarioFile();
    const first = await runWithDefect(['sim', 'run', file], defect);
    expect(first.code).toBe(1);
    expect(first.stdout).toMatch(/, [1-9]\d* violations?\b/);
    const violation = /^first violation: P\d+ \(.*\) at \S+Z, site-1\S*: .*$/m.exec(first.stderr)?.[0];
    expect(violation).toBeDefined();
    const again = /^again: headroom (.*)$/m.exec(first.stderr)?.[1] ?? '';
    const second = await runWithDefect(again.split(' '), defect);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(violation);
    expect((await run(again.split(' '))).code).toBe(0);
  });

  it('reports every error of a scenario with file, line and field, and runs nothing', async () => {
    const directory = temporaryDirectory();
    const text = smallScenario()
      .replace('seed: 1', 'seed: -1')
      .replace('{ violations: 0,', '{ violation: 0,');
    const file = writeFile(directory, 'wrong.yaml', text);
    const { code, stdout, stderr } = await run(['sim', 'run', file]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`${file}:2:1 seed: is -1`);
    expect(stderr).toContain(`${file}:18:7 expect[1].violation: `);
    const unknown = writeFile(
      directory,
      'unknown.yaml',
      smallScenario().replace('site-1-c2/1', 'site-1-c9/1'),
    );
    const strange = await run(['sim', 'run', unknown]);
    expect(strange.code).toBe(2);
    expect(strange.stderr).toMatch(/unknown\.yaml:9:\d+ sessions\.visits\[1\]\.connector: /);
    const missing = await run(['sim', 'run', join(directory, 'missing.yaml')]);
    expect(missing.code).toBe(2);
    expect(missing.stderr).toMatch(/^headroom: .*missing\.yaml cannot be read: ENOENT/);
    const folder = await run(['sim', 'run', directory]);
    expect(folder).toMatchObject({ code: 2, stdout: '' });
    expect(folder.stderr).toBe(
      `headroom: ${directory} cannot be read: EISDIR: illegal operation on a directory, read\n`,
    );
  });

  it('refuses invalid flags, with the valid values', async () => {
    const file = scenarioFile();
    const refusals = [
      [['--seed', '1.5'], 'It must be a whole number from 0 to'],
      [['--seed', '-1'], 'It must be a whole number from 0 to'],
      [['--days', '0'], 'It must be a number of days above 0'],
      [['--days', 'two'], 'It must be a number of days above 0'],
      [['--transport', 'pigeon'], 'Allowed choices are inProcess, mqtt, ocpp'],
    ] as const;
    await Promise.all(
      refusals.map(async ([flags, words]) => {
        const { code, stdout, stderr } = await run(['sim', 'run', file, ...flags]);
        expect({ flags, code, stdout }).toEqual({ flags, code: 2, stdout: '' });
        expect(stderr).toContain(words);
      }),
    );
  });

  it('runs for the number of days in --days', async () => {
    const { code, summary } = await jsonOf(['sim', 'run', scenarioFile(), '--days', '0.01']);
    expect(code).toBe(0);
    expect(summary.endsAtMs - summary.startsAtMs).toBe(864_000);
  });

  it('writes nothing if the sessions of the scenario cannot be read', async () => {
    const directory = temporaryDirectory();
    const out = join(directory, 'out');
    const text = smallScenario().replace(/visits:\n.*\n.*/, 'csv: { file: cars.csv }');
    const file = writeFile(directory, 'recorded.yaml', text);
    const refused = await Promise.all([
      run(['sim', 'run', file, '--out', out]),
      run(['sim', 'seeds', file, '--count', '2']),
    ]);
    for (const { code, stdout, stderr } of refused) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/^\S*cars\.csv: cannot be read: ENOENT.*\n$/);
    }
    expect(existsSync(out)).toBe(false);
  });

  it('prints commands with quoted file names, ready for a shell', async () => {
    const directory = temporaryDirectory();
    const text = smallScenario({ expect: '  - { at: "12:01", location: site-1, powerKw: 99 }' });
    const file = writeFile(directory, "it's a yard.yaml", text);
    const out = join(directory, 'two words');
    const days = ['--days', '0.002'];
    const quoted = `'${directory}/it'\\''s a yard.yaml'`;
    const [one, many] = await Promise.all([
      run(['sim', 'run', file, ...days, '--out', out]),
      run(['sim', 'seeds', file, '--count', '1', ...days]),
    ]);
    expect(one.stderr).toContain(`again: headroom sim run ${quoted} --seed 1 --days 0.002 --out '${out}'\n`);
    expect(many.stderr).toContain(`again: headroom sim seeds ${quoted} --from 1 --count 1 --days 0.002\n`);
  });

  it('removes the report of an earlier run, and replay reports an interrupted trace', async () => {
    const directory = temporaryDirectory();
    const out = join(directory, 'out');
    expect((await run(['sim', 'run', scenarioFile(), '--days', '0.01', '--out', out])).code).toBe(0);
    const long = writeFile(directory, 'long.yaml', smallScenario().replace('duration: 1h', 'duration: 30d'));
    // A killed process removes nothing.
    const running = start(['sim', 'run', long, '--out', out], { TMPDIR: directory });
    await worldFolderOf(running.process.pid ?? 0);
    await running.stop('SIGKILL');
    expect(readdirSync(out)).toEqual(['trace.log']);
    const replayed = await run(['sim', 'replay', out]);
    expect(replayed.code).toBe(0);
    expect(replayed.stderr).toMatch(/^the run ended early; its trace ends at 2026-06-\S+Z\n$/);
  });

  it('ends at Ctrl-C with exit code 130, and leaves no files', async () => {
    const temporary = temporaryDirectory();
    const file = writeFile(temporary, 'long.yaml', smallScenario().replace('duration: 1h', 'duration: 3d'));
    const running = start(['sim', 'run', file], { TMPDIR: temporary });
    const folder = await worldFolderOf(running.process.pid ?? 0);
    const { code, stdout } = await running.stop('SIGINT');
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(temporary)).toEqual(['long.yaml']);
  });
});

/** Folder of the world that the process runs, found by its open files. */
async function worldFolderOf(pid: number): Promise<string> {
  let folder: string | undefined;
  await eventually(() => {
    const open = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
    const database = open.find((path) => path.includes('/headroom-world-'));
    expect(database).toBeDefined();
    folder = dirname(database ?? '');
  });
  return folder ?? fileURLToPath(import.meta.url);
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
