// `headroom sim branch` and `sim compare`: two futures of one day, on the terminal, in a report and for scripts.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run, temporaryDirectory, writeFile } from './headroom.js';
import { smallScenario } from './small-scenario.js';

const AT = ['--at', '2026-06-01T12:45:00Z'];
const HALF = `actions:
  - { at: +5m, call: setPermanentLimit, params: { locationId: site-1 }, body: { limitKw: 8 } }
`;

function files(branch: string) {
  const folder = temporaryDirectory();
  return {
    folder,
    scenario: writeFile(folder, 'small.yaml', smallScenario({ faults: 'light' })),
    branch: writeFile(folder, 'half.yaml', branch),
  };
}

describe('headroom sim branch', () => {
  it('runs both futures, which are the same until the first difference, and compares them', async () => {
    const { scenario, branch, folder } = files(HALF);
    const out = join(folder, 'futures');
    const { code, stdout, stderr } = await run(['sim', 'branch', scenario, branch, ...AT, '--out', out]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^the same until 2026-06-01T12:50:00\.\d{3}Z, then different\n\nsite-1 +planned +branch/,
    );
    expect(stdout).toMatch(/\nstarts\/session +\d\.\d\d +\d\.\d\d/);
    const [, planned, halved] = /\nenergy +(\S+) kWh +(\S+) kWh/.exec(stdout) ?? [];
    expect(Number(halved)).toBeLessThan(Number(planned));
    expect(readFileSync(join(out, 'compare.html'), 'utf8')).toMatch(/^<!doctype html>/);

    const [plannedRun, branchRun] = [join(out, 'planned'), join(out, 'branch')];
    const compared = await run(['sim', 'compare', branchRun, plannedRun, '--json']);
    expect(JSON.parse(compared.stdout)).toMatchObject({
      first: branchRun,
      differsAt: expect.stringMatching(/^2026-06-01T12:50/),
      locations: [
        {
          locationId: 'site-1',
          figures: expect.arrayContaining([
            { name: 'energy', first: `${halved} kWh`, second: `${planned} kWh` },
          ]),
        },
      ],
    });
    const same = await run(['sim', 'compare', plannedRun, plannedRun]);
    expect(same.stdout).toMatch(/^the two runs are the same\n/);
    const alone = await run(['sim', 'run', scenario, '--json']);
    expect(JSON.parse(readFileSync(join(plannedRun, 'summary.json'), 'utf8')).hash).toBe(
      JSON.parse(alone.stdout).hash,
    );
  });

  it('reports errors in the branch file by line and field, and runs nothing', async () => {
    const { scenario, branch, folder } = files(
      `${HALF}faults:\n  - { kind: reboot, chargers: [nobody] }\n  - { kind: clockDrift, share: 0.01 }\n`,
    );
    const out = join(folder, 'futures');
    const { code, stdout, stderr } = await run(['sim', 'branch', scenario, branch, ...AT, '--out', out]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/half\.yaml:4:\d+ faults\[0\]\.chargers\[0\]: is "nobody"/);
    expect(stderr).toMatch(
      /half\.yaml:5:\d+ faults\[1\]\.kind: is clockDrift, .* must stand in the scenario/,
    );
    expect(existsSync(out)).toBe(false);
  });

  it.each([
    [['--at', '2026-06-01T14:00:00Z'], 'goes from 2026-06-01T12:00:00.000Z to 2026-06-01T13:00:00.000Z'],
    [['--at', '12:45'], 'It must be an instant such as'],
    [[], "required option '--at <instant>' not specified"],
  ])('refuses %j', async (flags, problem) => {
    const { scenario, branch } = files(HALF);
    const { code, stderr } = await run(['sim', 'branch', scenario, branch, ...flags]);
    expect(code).toBe(2);
    expect(stderr).toContain(problem);
  });
});
