// The campaign's command line: `npm run sim:campaign -- --seeds 1..200 --hours 24`, or `--planted` for planted bugs.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SingleBar } from 'cli-progress';
import Table from 'cli-table3';
import { Command, InvalidArgumentError, Option } from 'commander';
import { counted } from '../../machines/values/counted.js';
import { OperatorError } from '../../src/ports/operator-error.js';
import { toInstant } from '../../src/wire/instants.js';
import { commitName } from '../run/run-account.js';
import { parseDuration } from '../scenario/moment.js';
import type { SeedOutcome } from './campaign.js';
import { type CampaignResult, resultOf, runCampaign } from './campaign.js';
import { CampaignLog } from './campaign-log.js';
import { RARE_BRANCHES, reachableBranches } from './reached.js';

interface Options {
  readonly seeds: readonly number[];
  readonly hours: number;
  readonly chargers: number;
  readonly nodes?: number;
  readonly sharded?: boolean;
  readonly planted: boolean | string;
  readonly ocpp?: boolean;
  /** Time for which new seeds are started, ms of this machine. */
  readonly for?: number;
  readonly keep?: string;
}

/** A bug that is planted into one compiled file. */
interface PlantedBug {
  readonly name: string;
  /** Size of a world that detects the bug, if one node is not enough. */
  readonly nodes?: number;
  readonly sharded?: boolean;
  /** The world's chargers use OCPP. */
  readonly ocpp?: boolean;
}

const HOUR_MS = 3_600_000;
const ALL_SEEDS = '1..200';
const MOST_SEEDS = 100_000;
/** Exists in a checkout only: an installed product has no planted bugs. */
const PLANTING = new URL('../../../test/planted/', import.meta.url);
const COMPILED = new URL('../../', import.meta.url);
/** The compiled code that a seed runs. */
const CODE = ['machines/', 'src/', 'sim/'].map((folder) => new URL(folder, COMPILED));
/** Bugs are planted into compiled files by name. The bundle that campaigns run otherwise has no such files. */
const PLANTABLE_WORKER = fileURLToPath(new URL('sim/checks/campaign-worker.js', COMPILED));

function parseSeeds(text: string): readonly number[] {
  const [, from = '', to = from] = /^(\d{1,9})(?:\.\.(\d{1,9}))?$/.exec(text) ?? [];
  if (from === '' || Number(to) < Number(from)) throw new InvalidArgumentError('must be such as 7 or 1..200');
  if (Number(to) - Number(from) >= MOST_SEEDS)
    throw new InvalidArgumentError(`must be ${MOST_SEEDS} seeds at most; --for adds more for a given time`);
  return Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => Number(from) + i);
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('must be above 0');
  return value;
}

function parseTime(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('must be a duration such as 30m or 8h');
  return ms;
}

function describe({ seed, violation }: SeedOutcome): string {
  if (violation === undefined) return `seed ${seed} holds`;
  const { atMs, invariant, target, detail } = violation;
  return `seed ${seed}: ${invariant} ${target} at ${toInstant(atMs)}: ${detail}`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function printFigures({ outcomes, reached }: CampaignResult, { hours, nodes }: Options): void {
  const sum = (part: (outcome: SeedOutcome) => number) => outcomes.reduce((all, each) => all + part(each), 0);
  const table = new Table({ head: ['rare branch', 'reached'], style: { head: [], border: [] } });
  for (const branch of reachableBranches({ nodes }))
    table.push([RARE_BRANCHES[branch], String(reached.get(branch) ?? 0)]);
  print(table.toString());
  const seconds = Math.round(process.uptime());
  print(
    `${counted(outcomes.length, 'seed')} of ${hours} h, ${counted(
      sum(({ messages }) => messages),
      'message',
    )},`,
  );
  print(
    `${counted(
      sum(({ faults }) => faults),
      'fault',
    )}, ${counted(
      sum(({ violations }) => violations),
      'violation',
    )}, ${seconds} s`,
  );
}

function codeDigest(): string {
  const hash = createHash('sha256');
  for (const folder of CODE)
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort())
      if (name.endsWith('.js')) hash.update(`${name}\n`).update(readFileSync(new URL(name, folder)));
  return hash.digest('hex').slice(0, 16);
}

/** Has no end if a time limit is given. */
function* seedsOf({ seeds, for: forMs }: Options, log: CampaignLog | undefined): Generator<number> {
  for (const seed of seeds) if (log?.has(seed) !== true) yield seed;
  if (forMs === undefined) return;
  for (let seed = (seeds.at(-1) ?? 0) + 1; ; seed++) if (log?.has(seed) !== true) yield seed;
}

async function runSeeds(options: Options): Promise<void> {
  const { seeds, hours, chargers, nodes, sharded, ocpp, for: forMs, keep } = options;
  const log =
    keep === undefined
      ? undefined
      : new CampaignLog(keep, {
          commit: commitName(),
          code: codeDigest(),
          hours,
          chargers,
          nodes,
          sharded,
          ocpp,
        });
  const before = log?.outcomes.length ?? 0;
  if (before > 0) print(`${counted(before, 'seed is', 'seeds are')} in ${keep} already`);
  const bar = new SingleBar({
    format:
      forMs === undefined
        ? '{bar} {value}/{total} seeds, {failures} failed'
        : '{value} seeds, {failures} failed',
    stream: process.stderr,
  });
  let failures = 0;
  bar.start(seeds.length, 0, { failures });
  const { outcomes } = await runCampaign({
    seeds: seedsOf(options, log),
    chargers,
    nodes,
    isSharded: sharded,
    speaksOcpp: ocpp,
    durationMs: hours * HOUR_MS,
    isTimeOver: () => forMs !== undefined && 1000 * process.uptime() >= forMs,
    onOutcome(outcome) {
      log?.add(outcome);
      if (outcome.violation !== undefined) failures++;
      bar.increment({ failures });
    },
  });
  bar.stop();
  printResult(resultOf(log?.outcomes ?? outcomes, { nodes }), options);
}

function printResult(result: CampaignResult, options: Options): void {
  const { hours, chargers, nodes, sharded, ocpp } = options;
  printFigures(result, options);
  if (nodes !== undefined) print('grid operators and averages that tariffs bill: with one service only');
  for (const branch of result.unreached) print(`never reached: ${RARE_BRANCHES[branch]}`);
  const { failure, outcomes } = result;
  for (const outcome of outcomes) if (outcome.violation !== undefined) print(describe(outcome));
  if (failure !== undefined) {
    const ofNodes =
      (nodes === undefined ? '' : ` --nodes ${nodes}`) +
      (sharded ? ' --sharded' : '') +
      (ocpp === undefined ? '' : ' --ocpp');
    const flags = `--seeds ${failure.seed} --hours ${hours} --chargers ${chargers}${ofNodes}`;
    print(`Run it again: npm run sim:campaign -- ${flags}`);
  }
  // A few seeds cannot be expected to reach every branch.
  const isIncomplete = outcomes.length >= 20 && result.unreached.length > 0;
  process.exitCode = failure !== undefined || isIncomplete ? 1 : 0;
}

async function searchPlanted({ seeds, hours, chargers, planted }: Options): Promise<void> {
  if (!existsSync(PLANTING)) throw new Error('bugs can be planted in a checkout only');
  const { PLANTS } = (await import(new URL('plants.js', PLANTING).href)) as { PLANTS: readonly PlantedBug[] };
  process.exitCode = 0;
  for (const { name, nodes, sharded, ocpp } of PLANTS.filter(
    (plant) => planted === true || plant.name === planted,
  )) {
    const { failure } = await runCampaign({
      seeds,
      chargers,
      nodes,
      isSharded: sharded,
      speaksOcpp: ocpp,
      durationMs: hours * HOUR_MS,
      isFirstEnough: true,
      worker: PLANTABLE_WORKER,
      execArgv: ['--import', new URL(`register.js?${name}`, PLANTING).href],
    });
    print(`${name}: ${failure === undefined ? 'NOT CAUGHT' : describe(failure)}`);
    if (failure === undefined) process.exitCode = 1;
  }
}

const command = new Command('sim:campaign')
  .description('Runs hostile days by the hundred and holds them to every invariant')
  .addOption(
    new Option('--seeds <a..b>', 'seeds to run')
      .argParser(parseSeeds)
      .default(parseSeeds(ALL_SEEDS), ALL_SEEDS),
  )
  .option('--hours <h>', 'virtual hours of each run', parsePositive, 24)
  .option('--chargers <n>', 'chargers at each of two locations', parsePositive, 2)
  .option('--nodes <n>', 'nodes that stand by for each other; one service if left out', parsePositive)
  .option('--sharded', 'the nodes share the tenants instead')
  .option('--ocpp', 'the chargers speak OCPP to the gateway')
  .option('--for <duration>', 'time to go on, such as 8h, with seeds beyond those of --seeds', parseTime)
  .option(
    '--keep <file>',
    'outcome of each seed, a line of JSON each; seeds that it has of the same code are not run again',
  )
  .option('--planted [name]', 'plant each known bug instead, and find the first seed that catches it', false)
  .action((options: Options) => (options.planted === false ? runSeeds(options) : searchPlanted(options)));
try {
  await command.parseAsync();
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
