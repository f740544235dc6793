// The campaign from the command line: `npm run sim:campaign -- --seeds 1..200 --hours 24`, or `--planted` for planted bugs.
import { existsSync } from 'node:fs';
import { SingleBar } from 'cli-progress';
import Table from 'cli-table3';
import { Command, InvalidArgumentError } from 'commander';
import { toInstant } from '../../src/wire/rest.js';
import { type CampaignResult, runCampaign } from './campaign.js';
import type { SeedOutcome } from './campaign-worker.js';
import { RARE_BRANCHES } from './reached.js';

interface Options {
  readonly seeds: readonly number[];
  readonly hours: number;
  readonly chargers: number;
  readonly planted: boolean | string;
}

/** A bug that is planted into one compiled file. */
interface Plant {
  readonly name: string;
}

const HOUR_MS = 3_600_000;
/** In a checkout only: an installed product has none of it. */
const PLANTING = new URL('../../../test/planted/', import.meta.url);

function parseSeeds(text: string): readonly number[] {
  const [, from = '', to = from] = /^(\d+)(?:\.\.(\d+))?$/.exec(text) ?? [];
  if (from === '' || Number(to) < Number(from)) throw new InvalidArgumentError('must be such as 7 or 1..200');
  return Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => Number(from) + i);
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('must be above 0');
  return value;
}

function describe({ seed, violation }: SeedOutcome): string {
  if (violation === undefined) return `seed ${seed} holds`;
  const { atMs, invariant, target, detail } = violation;
  return `seed ${seed}: ${invariant} ${target} at ${toInstant(atMs)}: ${detail}`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function printFigures({ outcomes, reached }: CampaignResult, hours: number): void {
  const sum = (part: (outcome: SeedOutcome) => number) => outcomes.reduce((all, each) => all + part(each), 0);
  const table = new Table({ head: ['rare branch', 'reached'], style: { head: [], border: [] } });
  for (const [branch, text] of Object.entries(RARE_BRANCHES))
    table.push([text, String(reached.get(branch as keyof typeof RARE_BRANCHES) ?? 0)]);
  print(table.toString());
  const seconds = Math.round(process.uptime());
  print(`${outcomes.length} seeds of ${hours} h, ${sum(({ messages }) => messages)} messages,`);
  print(
    `${sum(({ faults }) => faults)} faults, ${sum(({ violations }) => violations)} violations, ${seconds} s`,
  );
}

async function runSeeds({ seeds, hours, chargers }: Options): Promise<void> {
  const bar = new SingleBar({
    format: '{bar} {value}/{total} seeds, {failures} failed',
    stream: process.stderr,
  });
  let failures = 0;
  bar.start(seeds.length, 0, { failures });
  const result = await runCampaign({
    seeds,
    chargers,
    durationMs: hours * HOUR_MS,
    onOutcome(outcome) {
      if (outcome.violation !== undefined) failures++;
      bar.increment({ failures });
    },
  });
  bar.stop();
  printFigures(result, hours);
  for (const branch of result.unreached) print(`never reached: ${RARE_BRANCHES[branch]}`);
  const { failure } = result;
  for (const outcome of result.outcomes) if (outcome.violation !== undefined) print(describe(outcome));
  if (failure !== undefined) {
    const flags = `--seeds ${failure.seed} --hours ${hours} --chargers ${chargers}`;
    print(`Run it again: npm run sim:campaign -- ${flags}`);
  }
  // Of a few seeds nobody can expect every branch.
  const isIncomplete = seeds.length >= 20 && result.unreached.length > 0;
  process.exitCode = failure !== undefined || isIncomplete ? 1 : 0;
}

async function searchPlanted({ seeds, hours, chargers, planted }: Options): Promise<void> {
  if (!existsSync(PLANTING)) throw new Error('bugs can be planted in a checkout only');
  const { PLANTS } = (await import(new URL('plants.js', PLANTING).href)) as { PLANTS: readonly Plant[] };
  process.exitCode = 0;
  for (const { name } of PLANTS.filter((plant) => planted === true || plant.name === planted)) {
    const { failure } = await runCampaign({
      seeds,
      chargers,
      durationMs: hours * HOUR_MS,
      isFirstEnough: true,
      execArgv: ['--import', new URL(`register.js?${name}`, PLANTING).href],
    });
    print(`${name}: ${failure === undefined ? 'NOT CAUGHT' : describe(failure)}`);
    if (failure === undefined) process.exitCode = 1;
  }
}

const command = new Command('sim:campaign')
  .description('Runs hostile days by the hundred and holds them to every invariant')
  .option('--seeds <a..b>', 'which seeds', parseSeeds, parseSeeds('1..200'))
  .option('--hours <h>', 'virtual hours of each', parsePositive, 24)
  .option('--chargers <n>', 'at each of two locations', parsePositive, 2)
  .option('--planted [name]', 'plant each known bug instead, and find the first seed that catches it', false)
  .action((options: Options) => (options.planted === false ? runSeeds(options) : searchPlanted(options)));
await command.parseAsync();
