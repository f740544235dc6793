// Bugs planted on purpose, each in a process of its own: an invariant that does not see them proves nothing when it is silent.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const HOUR_MS = 3_600_000;
// As it is compiled: what is planted is planted into compiled files.
const DIST = new URL('../../dist/', import.meta.url);

interface Plant {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly seed: number;
  readonly invariant: string;
  readonly scenario?: string;
}

type Campaign = typeof import('../../sim/checks/campaign.js');

const { runCampaign } = (await import(new URL('sim/checks/campaign.js', DIST).href)) as Campaign;
const { PLANTS } = (await import(new URL('plants.js', import.meta.url).href)) as {
  readonly PLANTS: readonly Plant[];
};

function registerOf(name: string): string {
  return new URL(`register.js?${name}`, import.meta.url).href;
}

describe('A bug planted on purpose', { concurrent: false }, () => {
  it.each(PLANTS.filter(({ scenario }) => scenario === undefined))(
    'is seen: $name, by $invariant',
    async ({ name, seed, invariant }) => {
      const { failure } = await runCampaign({
        ...{ seeds: [seed], chargers: 2, durationMs: HOUR_MS, processes: 1 },
        execArgv: ['--import', registerOf(name)],
      });
      expect(failure?.violation?.invariant).toBe(invariant);
    },
  );

  it.each(PLANTS.filter(({ scenario }) => scenario !== undefined))(
    'is seen in $scenario: $name, by $invariant',
    ({ name, seed, invariant, scenario }) => {
      const run = ['sim', 'run', `scenarios/${scenario}`, '--seed', String(seed), '--json'];
      const command = ['--import', registerOf(name), 'bin/headroom.js', ...run];
      const { stdout } = spawnSync(process.execPath, command, { encoding: 'utf8' });
      const { violations } = JSON.parse(stdout) as { readonly violations: readonly { invariant: string }[] };
      expect(violations.map((violation) => violation.invariant)).toContain(invariant);
    },
  );

  it.each(PLANTS)('has its place in the compiled files: $name', ({ file, text }) => {
    const source = readFileSync(new URL(file, DIST), 'utf8');
    expect(source.split(text)).toHaveLength(2);
  });

  it('is not part of what is built', () => {
    expect(existsSync(new URL('test', DIST))).toBe(false);
  });
});
