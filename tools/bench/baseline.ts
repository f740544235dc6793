// `npm run baseline`: records the course of events of every baseline world, or compares it with the record in `test/baseline.json`.
import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Command, InvalidArgumentError } from 'commander';
import { type BaselineRecord, baselineWorlds, recordWorld } from './baseline-worlds.js';

const RECORD_FILE = 'test/baseline.json';
const SELF = fileURLToPath(import.meta.url);

interface Options {
  readonly check?: boolean;
  readonly only?: string;
  readonly keep?: string;
  readonly against?: string;
  readonly processes: number;
}

interface Order {
  readonly name: string;
  readonly keep?: string | undefined;
  readonly against?: string | undefined;
}

interface Answer {
  readonly name: string;
  readonly record?: BaselineRecord;
  /** The first event that differs from the kept events of an earlier run. */
  readonly difference?: string;
  readonly error?: string;
}

type Records = Readonly<Record<string, BaselineRecord>>;

function eventsFile(directory: string, name: string): string {
  return join(directory, `${name.replaceAll(' ', '_')}.jsonl.gz`);
}

/** Plays one world in this process. */
async function play({ name, keep, against }: Order): Promise<Answer> {
  const world = baselineWorlds().find((each) => each.name === name);
  if (world === undefined) throw new RangeError(`no world is called ${name}`);
  const lines: string[] = [];
  const record = await recordWorld(world, (line) => lines.push(line));
  if (keep !== undefined) writeFileSync(eventsFile(keep, name), gzipSync(lines.join('\n')));
  if (against === undefined) return { name, record };
  const before = gunzipSync(readFileSync(eventsFile(against, name)))
    .toString()
    .split('\n');
  const at = lines.findIndex((line, i) => line !== before[i]);
  if (at === -1 && lines.length === before.length) return { name, record };
  const nth = at === -1 ? lines.length : at;
  const difference = `event ${nth + 1}:\n    before ${before[nth] ?? 'no more events'}\n    now    ${lines[nth] ?? 'no more events'}`;
  return { name, record, difference };
}

/** Plays the worlds on `processes` child processes, and passes each answer on as it comes. */
async function playAll(
  orders: readonly Order[],
  processes: number,
  onAnswer: (answer: Answer) => void,
): Promise<void> {
  const waiting = orders[Symbol.iterator]();
  const work = async () => {
    let child: ChildProcess | undefined;
    for (let next = waiting.next(); !next.done; next = waiting.next()) {
      child ??= fork(SELF, ['--child'], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
      const { name } = next.value;
      const answer = await answerOf(child, next.value);
      if (child.exitCode !== null || child.signalCode !== null) child = undefined;
      onAnswer(answer ?? { name, error: 'its process ended' });
    }
    child?.kill();
  };
  await Promise.all(Array.from({ length: processes }, work));
}

function answerOf(child: ChildProcess, order: Order): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const onExit = () => resolve(undefined);
    child.once('exit', onExit);
    child.once('message', (answer: Answer) => {
      child.off('exit', onExit);
      resolve(answer);
    });
    child.send(order);
  });
}

/** The lines that explain how a world differs from its record; none if it does not. */
function differencesOf(before: BaselineRecord | undefined, now: BaselineRecord): readonly string[] {
  if (before === undefined) return ['it has no record yet; `npm run baseline` makes one'];
  const [stretches, nowStretches] = [before.stretches.split(' '), now.stretches.split(' ')];
  const first = stretches.findIndex((digest, i) => digest !== nowStretches[i]);
  const changed = (kind: 'events' | 'figures') =>
    [...new Set([...Object.keys(before[kind]), ...Object.keys(now[kind])])]
      .filter((key) => before[kind][key] !== now[kind][key])
      .map((key) => `${key}: ${before[kind][key] ?? 0} → ${now[kind][key] ?? 0}`);
  return [
    ...(first === -1 ? [] : [`its events differ from stretch ${first + 1} of ${stretches.length} on`]),
    ...changed('events'),
    ...changed('figures'),
  ];
}

async function main({ check = false, only, keep, against, processes }: Options): Promise<void> {
  if (keep !== undefined) mkdirSync(keep, { recursive: true });
  const names = baselineWorlds()
    .map(({ name }) => name)
    .filter((name) => only === undefined || new RegExp(only).test(name));
  if (names.length === 0) throw new InvalidArgumentError(`no world has a name like ${only}`);
  const records: Record<string, BaselineRecord> = { ...readRecords() };
  let played = 0;
  const differing: string[] = [];
  const orders = names.map((name) => ({ name, keep, against: check ? against : undefined }));
  await playAll(orders, processes, ({ name, record, difference, error }) => {
    played++;
    const place = `${played}/${names.length} ${name}`;
    if (record === undefined) {
      differing.push(name);
      process.stdout.write(`${place}: failed: ${error}\n`);
      return;
    }
    const differences = check ? differencesOf(records[name], record) : [];
    if (!check) records[name] = record;
    if (differences.length > 0) differing.push(name);
    const lines = [...differences, ...(difference === undefined ? [] : [difference])];
    process.stdout.write(`${place}: ${check ? (lines.length === 0 ? 'the same' : 'differs') : 'recorded'}\n`);
    for (const line of lines) process.stdout.write(`  ${line}\n`);
  });
  if (!check) writeRecords(records, new Set(baselineWorlds().map(({ name }) => name)));
  const verb = check ? 'differ' : 'could not be recorded';
  process.stdout.write(`${played} worlds, ${differing.length} ${verb}\n`);
  if (differing.length > 0) process.exitCode = 1;
}

function readRecords(): Records {
  try {
    return JSON.parse(readFileSync(RECORD_FILE, 'utf8')) as Records;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
}

/** One world a line: a change of one is one line of a diff. */
function writeRecords(records: Records, names: ReadonlySet<string>): void {
  const lines = [...names].flatMap((name) =>
    records[name] === undefined ? [] : [`${JSON.stringify(name)}: ${JSON.stringify(records[name])}`],
  );
  writeFileSync(RECORD_FILE, `{\n${lines.join(',\n')}\n}\n`);
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be a whole number above 0.');
}

if (process.argv.includes('--child')) {
  process.on('message', async (order: Order) => {
    const answer = await play(order).catch((error: Error) => ({ name: order.name, error: error.message }));
    process.send?.(answer);
  });
} else {
  await new Command('baseline')
    .description(
      `Plays every scenario with five seeds over each transport, and hostile hours. Records the course of events in ${RECORD_FILE}, or compares it with the record.`,
    )
    .option('--check', 'compare with the record, and change nothing')
    .option('--only <pattern>', 'only the worlds whose name matches this regular expression')
    .option('--keep <dir>', 'write the events of each world there')
    .option('--against <dir>', 'with --check: name the first event that differs from those kept there')
    .option('--processes <n>', 'how many run side by side', wholeNumber, availableParallelism())
    .action(main)
    .parseAsync();
}
