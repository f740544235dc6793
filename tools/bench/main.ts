// Runs every benchmark in a process of its own, and prints one table of figures and goals.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import type { Figure } from './bench.js';

const BENCHMARKS = [
  'durable-writes',
  'limits-read',
  'boundaries',
  'start',
  'meter-values',
  'enforcement-decisions',
  'large-site',
  'enforcement-heartbeats',
  'ocpp-gateway',
  'dashboard',
  'simulation',
  'energy',
  'building',
  'phases',
  'hops',
  'nodes',
  'takeover',
];

const options = process.argv.slice(2).filter((word) => word.startsWith('--'));
const chosen = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const unknown = chosen.filter((name) => !BENCHMARKS.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`no such benchmark: ${unknown.join(', ')}; there are ${BENCHMARKS.join(', ')}\n`);
  process.exit(1);
}

const MOST_LINES = 40;

const figures: Figure[] = [];
const failed: string[] = [];
for (const name of chosen.length > 0 ? chosen : BENCHMARKS) {
  process.stdout.write(`\n${name}\n`);
  const path = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  const child = spawn(process.execPath, [path, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  // The log of the service goes to the same stream; its last lines are shown if the benchmark fails.
  const complaints: string[] = [];
  createInterface(child.stderr).on('line', (line) => {
    complaints.push(line);
    if (complaints.length > MOST_LINES) complaints.shift();
  });
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith('{"figure":')) figures.push((JSON.parse(line) as { figure: Figure }).figure);
    else process.stdout.write(`  ${line}\n`);
  }
  if ((await exited) !== 0) {
    failed.push(name);
    for (const line of complaints) process.stdout.write(`  ${line}\n`);
    process.stdout.write(`  ${name} failed\n`);
  }
}

if (figures.length > 0) {
  const table = new Table({ head: ['figure', 'measured', 'goal', ''], style: { head: [], border: [] } });
  for (const { name, measured, goal, met } of figures)
    table.push([name, measured, goal, met ? 'met' : 'MISSED']);
  process.stdout.write(`\n${table.toString()}\n`);
}
if (failed.length > 0) {
  process.stderr.write(`failed: ${failed.join(', ')}\n`);
  process.exitCode = 1;
}
