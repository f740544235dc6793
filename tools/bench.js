// Runs benchmarks in processes of their own, and prints one table of figures and goals. The help needs no build.
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import { Argument, Command } from 'commander';

/** Peer and assumptions of each benchmark, in the order of a run of all. */
const BENCHMARKS = {
  'durable-writes':
    'schedule writes of 50 clients on SQLite FULL, against a bare Express route without a store',
  'limits-read':
    'authenticated reads of limits with 11 profiles, against a bare Express route with such an answer',
  boundaries: '10,000 windows at one instant, with and without connected chargers; growth from 2,500',
  start:
    'the real process with 10,000 locations, 20,000 connectors and 100,000 profiles, until ready and calm',
  'meter-values': 'meter values of 1,000 MQTT clients, against aedes with an empty handler',
  'enforcement-decisions': 'decisions of one location with 100 to 5,000 connectors, without disk and network',
  'large-site':
    'one site of 500 to 5,000 connectors, and 1 × 1,000 against 20 × 50; --sizes --decisions --slices',
  'enforcement-heartbeats': '10,000 connectors over TCP, from heartbeat to limit, rows included; --minutes',
  starved:
    '5,000 connectors on a service with 40 % of a core, from heartbeat to limit; --connectors --seconds --share',
  'cluster-members':
    'one cluster of 1,000 and of 10,000 members with a charger each: cost a member; --sizes --seconds',
  'ocpp-gateway':
    '1,000 OCPP chargers on one gateway, against 1,000 MQTT chargers; --chargers --seconds --heartbeat',
  dashboard: 'a site of 200 connectors in headless Chromium: first view, frames, size',
  simulation:
    'simulated days of 1,000 connectors with all invariants, 2 threads; --against=CHECKOUT --slices',
  energy:
    'the share of the requested energy, against published algorithms and the optimum (docs/energy.md); --sessions --from --days --caps --columns --energy --time-zone --jobs --seed --policies --declared --time-error --need-error --forecasts',
  building: 'cars beside a building, against perfect foresight; --days --hours --seed',
  phases: 'one-phase cars and phase switching, against the best schedule',
  records: 'energy and sessions of 10,000 connectors: size, and reads; --connectors --days',
  hops: 'files and functions that one request passes, by V8 coverage; --list --way --rounds',
  nodes: 'three nodes against one, processor time for each connector; --seconds --connectors',
  events:
    'events of orders over kills and takeovers, and their delay; --parts --engines --events --kills --takeovers --rate --seconds --minutes --seed',
  takeover: 'the time without a node after one is killed; --times --connectors',
};

/** The last lines of a failed benchmark are shown. */
const MOST_LINES = 40;

/** @typedef {{ readonly name: string, readonly measured: string, readonly goal: string, readonly met: boolean }} Figure */

/**
 * Runs one benchmark and prints its remarks.
 * @param {string} name
 * @param {readonly string[]} options
 * @returns {Promise<{ figures: Figure[], isFailed: boolean }>}
 */
async function run(name, options) {
  process.stdout.write(`\n${name}\n`);
  const path = fileURLToPath(new URL(`../dist/tools/bench/${name}.js`, import.meta.url));
  const child = spawn(process.execPath, [path, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  // The log of the service goes to the same stream; its last lines are shown if the benchmark fails.
  /** @type {string[]} */
  const complaints = [];
  createInterface(child.stderr).on('line', (line) => {
    complaints.push(line);
    if (complaints.length > MOST_LINES) complaints.shift();
  });
  const exited = new Promise((resolve) => child.once('close', resolve));
  /** @type {Figure[]} */
  const figures = [];
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith('{"figure":')) figures.push(JSON.parse(line).figure);
    else process.stdout.write(`  ${line}\n`);
  }
  const isFailed = (await exited) !== 0;
  if (isFailed) for (const line of [...complaints, `${name} failed`]) process.stdout.write(`  ${line}\n`);
  return { figures, isFailed };
}

/**
 * @param {readonly string[]} names
 * @param {{ readonly json?: string, readonly build: boolean, readonly help?: true }} settings
 * @param {Command} command
 */
async function runAll(names, { json, build, help = false }, command) {
  const options = command.args.filter((word) => word.startsWith('--'));
  // Here for all benchmarks: none has a help of its own, and `--` may stand before the flag.
  const isHelp = help || names.some((word) => word === '--help' || word === '-h');
  const chosen = names.filter((word) => !word.startsWith('-'));
  const unknown = chosen.filter((name) => !(name in BENCHMARKS));
  if (unknown.length > 0) {
    const all = Object.keys(BENCHMARKS).join(', ');
    command.error(`no such benchmark: ${unknown.join(', ')}; there are ${all}`);
  }
  if (isHelp) {
    command.addHelpText('after', catalogOf(chosen.length > 0 ? chosen : Object.keys(BENCHMARKS)));
    return command.outputHelp();
  }
  if (build)
    execFileSync('npm', ['run', 'build:all', '--silent'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const table = new Table({ head: ['figure', 'measured', 'goal', ''], style: { head: [], border: [] } });
  /** @type {{ readonly benchmark: string, readonly isFailed: boolean, readonly figures: Figure[] }[]} */
  const results = [];
  for (const benchmark of chosen.length > 0 ? chosen : Object.keys(BENCHMARKS)) {
    const { figures, isFailed } = await run(benchmark, options);
    results.push({ benchmark, isFailed, figures });
    for (const { name, measured, goal, met } of figures)
      table.push([name, measured, goal, met ? 'met' : 'MISSED']);
  }
  if (table.length > 0) process.stdout.write(`\n${table.toString()}\n`);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`);
  const failed = results.filter(({ isFailed }) => isFailed).map(({ benchmark }) => benchmark);
  if (failed.length > 0) command.error(`failed: ${failed.join(', ')}`);
}

/** @param {readonly string[]} names */
function catalogOf(names) {
  const width = Math.max(...names.map((name) => name.length));
  const lines = Object.entries(BENCHMARKS).filter(([name]) => names.includes(name));
  return `\nBenchmarks, with their own options:\n${lines.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`).join('\n')}`;
}

await new Command('bench')
  .description('Measures Headroom against its goals. Without names, all benchmarks run.')
  .addArgument(new Argument('[benchmarks...]', 'names of benchmarks'))
  .option('--json <file>', 'write all figures to this file, too')
  .option('--no-build', 'measure the code of the last build')
  .option('-h, --help', 'display help; after names, only theirs')
  .allowUnknownOption()
  .helpOption(false)
  .action(runAll)
  .parseAsync();
