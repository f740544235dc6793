// Runs planted bugs in a process of their own. The silence of an invariant proves something only if it finds these
// bugs.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXEC_ARGV } from '../../vitest.config.js';
import { testCases } from '../seeds.js';

const HOUR_MS = 3_600_000;
// The compiled files, because the bugs are planted into these.
const DIST = new URL('../../dist/', import.meta.url);

interface PlantedBug {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly within?: string;
  readonly seed: number;
  readonly nodes?: number;
  readonly sharded?: boolean;
  readonly invariant: string;
  readonly ocpp?: boolean;
  readonly scenario?: string;
  readonly minutes?: number;
}

type Campaign = typeof import('../../sim/checks/campaign.js');

const { runCampaign } = (await import(new URL('sim/checks/campaign.js', DIST).href)) as Campaign;
const { PLANTS } = (await import(new URL('plants.js', import.meta.url).href)) as {
  readonly PLANTS: readonly PlantedBug[];
};
const REGISTER = new URL('register.js', import.meta.url).href;

/** The first bug for each invariant runs always. */
function firstForEach(plants: readonly PlantedBug[]) {
  const isFirst = (plant: PlantedBug) =>
    PLANTS.find(({ invariant }) => invariant === plant.invariant) === plant;
  return { always: plants.filter(isFirst), more: plants.filter((plant) => !isFirst(plant)) };
}

describe('A planted bug', { concurrent: false }, () => {
  let planted: ChildProcess;
  let ended: Promise<readonly (readonly string[])[]>;
  beforeAll(() => {
    planted = fork(fileURLToPath(new URL('planted-process.js', import.meta.url)), {
      execArgv: [...EXEC_ARGV, '--import', REGISTER],
    });
    ended = once(planted, 'exit').then(([code]) => [[`its process ended with ${code}`]]);
  });
  afterAll(() => void planted.kill());

  /** The broken invariants in order of time, with that bug in the service, the chargers or the checks. */
  async function brokenBy(
    order: Pick<PlantedBug, 'name' | 'seed' | 'scenario' | 'minutes'> & {
      readonly nodes?: number | undefined;
      readonly sharded?: boolean | undefined;
      readonly ocpp?: boolean | undefined;
    },
  ): Promise<readonly string[]> {
    const answered = once(planted, 'message');
    planted.send(order);
    const [broken = []] = await Promise.race([answered, ended]);
    return broken;
  }

  testCases(
    firstForEach(PLANTS.filter(({ scenario }) => scenario === undefined)),
    'is found: $name, by $invariant',
    async ({ name, seed, nodes, sharded, ocpp, invariant }) => {
      const [first] = await brokenBy({ name, seed, nodes, sharded, ocpp });
      expect(first).toBe(invariant);
    },
  );

  testCases(
    firstForEach(PLANTS.filter(({ scenario }) => scenario !== undefined)),
    'is found in $scenario: $name, by $invariant',
    async (plant) => {
      expect(await brokenBy(plant)).toContain(plant.invariant);
    },
  );

  it('is absent unless it is planted', async () => {
    expect(await brokenBy({ name: '', seed: 7 })).toEqual([]);
  });

  it('is found by a campaign whose processes contain it from the start', async () => {
    const { failure } = await runCampaign({
      seeds: [1],
      chargers: 2,
      durationMs: HOUR_MS,
      processes: 1,
      execArgv: ['--import', `${REGISTER}?no-boot-id`],
    });
    expect(failure?.violation?.invariant).toBe('P7');
  });

  it.each(PLANTS)('has one place in the compiled files: $name', ({ file, text, within = text }) => {
    const source = readFileSync(new URL(file, DIST), 'utf8');
    expect(source.split(within)).toHaveLength(2);
    expect(within.split(text)).toHaveLength(2);
  });

  it('is not part of the build', () => {
    expect(existsSync(new URL('test', DIST))).toBe(false);
  });
});
