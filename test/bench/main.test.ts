// The benchmarks as an operator runs them: the energy bench on files of many kinds, and the output of a failed run.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'headroom-bench-'));
afterAll(() => rmSync(folder, { recursive: true }));

const SHORT = ['--caps=3', '--days=0.02', '--columns=ideal'];

interface Ended {
  readonly code: number | string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

function bench(content: string | Buffer, ...options: readonly string[]): Promise<Ended> {
  const path = join(folder, 'sessions.csv');
  writeFileSync(path, content);
  return run('energy', `--sessions=${path}`, ...SHORT, ...options);
}

function run(...words: readonly string[]): Promise<Ended> {
  return new Promise((resolve) =>
    execFile(process.execPath, ['tools/bench.js', '--no-build', ...words], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    ),
  );
}

const HEAD = 'arrival,departure,requested_energy (kWh),delivered_energy (kWh),station_id,session_id';
const ROWS = `2019-07-01 06:00:00-07:00,2019-07-01 09:00:00-07:00,9,1.5,AG-1,"a, the first"
2019-07-01 06:05:00-07:00,2019-07-01 09:00:00-07:00,6,1,AG-2,b
`;

describe('The help', () => {
  it.each([
    [['energy', '--help']],
    [['energy', '--', '--help']],
    [['--help', 'energy']],
    [['energy', '-h']],
    [['energy', '--days=1', '--help']],
  ])('of a benchmark has its options, and nothing runs after %j', async (words) => {
    const { code, stdout, stderr } = await run(...words);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: bench /);
    expect(stdout).toMatch(/ energy .* --sessions .* --forecasts\n$/);
    expect(stdout).not.toMatch(/limits-read|Unknown option/);
  });

  it('has all benchmarks without a name, and refuses an unknown one', async () => {
    expect((await run('--help')).stdout).toMatch(/limits-read[\s\S]* takeover /);
    expect(await run('nonsense', '--help')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no such benchmark: nonsense/),
    });
  });
});

describe('The energy bench', () => {
  it('reads a gzipped file with the columns of a data set, from its first car on', async () => {
    const { code, stdout } = await bench(gzipSync(`${HEAD}\n${ROWS}`));
    expect(stdout).toMatch(/2 sessions, 15\.0 kWh, 2019-07-01T13:00:00\.000Z to 2019-07-01T13:28:48\.000Z/);
    expect(stdout).toMatch(/Energy against equal share, ideal, 3 kW; overshoot 0 kWs/);
    expect(code).toBe(0);
  });

  it('reads delivered energy, semicolons, and local times of a zone', async () => {
    const local = `arrival;departure;stationId;sessionId;deliveredKwh
2019-07-01 06:00;2019-07-01 09:00;AG-1;a;1,5
`;
    const { code, stdout } = await bench(local, '--energy=delivered', '--time-zone=America/Los_Angeles');
    expect(stdout).toMatch(/1 sessions, 1\.5 kWh, 2019-07-01T13:00:00\.000Z/);
    expect(code).toBe(0);
  });

  it.each([
    [
      'a file with a broken line',
      ROWS.replace(',9,', ',much,'),
      [],
      /csv:2 column requested_energy \(kWh\): "much"/,
    ],
    [
      'two cars at one station',
      ROWS.replace('AG-2', 'AG-1'),
      [],
      /csv:3 column arrival: comes to station "AG-1" before/,
    ],
    [
      'a time at which nobody comes',
      ROWS,
      ['--from=2018-01-01T00:00:00Z'],
      /no session arrives from 2018.*--from/,
    ],
    ['an option it does not have', ROWS, ['--bogus=1'], /Unknown option '--bogus'/],
    ['a number that is none', ROWS, ['--jobs=0'], /--jobs: must be a number from 1 to 64/],
    ['an unknown zone', ROWS, ['--time-zone=Mars'], /--time-zone: is "Mars"; must be the IANA name/],
  ])('reports an error for %s, and ends with 1', async (_, rows, options, problem) => {
    const { code, stdout, stderr } = await bench(`${HEAD}\n${rows}`, ...options);
    expect(stdout).toMatch(problem);
    expect(stdout).not.toMatch(/measured|node:internal| at .*\.js:/);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'failed: energy\n' });
  });
});
