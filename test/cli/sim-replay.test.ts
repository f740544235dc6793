// `headroom sim replay` of a run: the state at an instant, and the reason of every limit.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { run } from './headroom.js';
import { smallScenario } from './small-scenario.js';

const directory = mkdtempSync(join(tmpdir(), 'headroom-replay-'));
const out = join(directory, 'out');

function replay(...flags: readonly string[]) {
  return run(['sim', 'replay', out, ...flags]);
}

describe('headroom sim replay', () => {
  beforeAll(async () => {
    const file = join(directory, 'small.yaml');
    writeFileSync(file, smallScenario());
    expect((await run(['sim', 'run', file, '--out', out])).code).toBe(0);
    return () => rmSync(directory, { recursive: true, force: true });
  });

  it('shows every location and connector, with its last limit and the reason', async () => {
    const { code, stdout, stderr } = await replay('--at', '2026-06-01T12:30:00Z');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^2026-06-01T12:30:00\.000Z\n\nsite-1: \d+\.\d\d of 10\.00 kW\n/);
    expect(stdout).toMatch(
      /\nsite-1-c1\/1 +Charging +[45]\.\d\d +\d+(\.\d)? A +fairShare +yes +yes +.* A \(fairShare, 1\/\d+\)/,
    );
    expect(stdout).toContain(
      'profile site-1, priority 4: 10.00 kW from 2026-06-01T12:20:00.000Z to 2026-06-01T12:40:00.000Z (active)',
    );
    expect((await replay('--at', '2026-06-01T12:15:00+00:00')).stdout).toMatch(
      /site-1: 1\d\.\d\d of 20\.00 kW/,
    );
  });

  it('shows a single connector, and its state as JSON', async () => {
    const { stdout } = await replay('--at', '2026-06-01T12:30:00Z', '--connector', 'site-1-c2/1', '--json');
    const state = JSON.parse(stdout);
    expect(state).toMatchObject({
      scenario: 'Small yard',
      seed: 1,
      atMs: Date.parse('2026-06-01T12:30:00Z'),
      locations: [{ locationId: 'site-1', limitW: 10_000, connectors: [{ controllerUuid: 'site-1-c2' }] }],
    });
    expect(state.locations[0].connectors).toHaveLength(1);
  });

  it('shows the end of the run without --at, from the file and from its folder', async () => {
    const folder = await replay();
    expect(folder.stdout).toMatch(/^2026-06-01T13:00:00\.000Z\n/);
    expect((await run(['sim', 'replay', join(out, 'trace.log')])).stdout).toBe(folder.stdout);
  });

  it('reports an invalid instant, connector or file', async () => {
    const cases = [
      [['--at', 'noon'], 'It must be an instant such as 2026-06-01T17:00:03Z.'],
      [
        ['--at', '2026-06-01T11:59:59Z'],
        'lies outside the run, which goes from 2026-06-01T12:00:00.000Z to 2026-06-01T13:00:00.000Z',
      ],
      [['--at', '2026-06-01T13:00:01Z'], 'lies outside the run'],
      [['--connector', 'site-1-c1'], 'It must be a connector such as q1-a/1'],
      [['--connector', 'site-1-c9/1'], 'has no connector site-1-c9/1'],
    ] as const;
    await Promise.all(
      cases.map(async ([flags, words]) => {
        const { code, stdout, stderr } = await replay(...flags);
        expect({ flags, code, stdout }).toEqual({ flags, code: 2, stdout: '' });
        expect(stderr).toContain(words);
      }),
    );
    const damaged = join(directory, 'damaged.log');
    const bytes = readFileSync(join(out, 'trace.log'));
    const middle = Math.floor(bytes.length / 2);
    writeFileSync(damaged, bytes.fill('no block', middle, middle + 8));
    const refused = await run(['sim', 'replay', damaged]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/^headroom: \S+damaged\.log is damaged \(.*\); run its scenario again\n$/);
    const letters = join(directory, 'letters.txt');
    writeFileSync(letters, 'Dear all');
    expect((await run(['sim', 'replay', letters])).stderr).toContain(`${letters} is no trace`);
    expect((await run(['sim', 'replay', join(directory, 'missing')])).stderr).toContain(
      'There is no trace at',
    );
  });
});
