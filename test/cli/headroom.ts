// Runs the command as people do: a process of its own, with its arguments, environment, output and exit code.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { Resident } from './resident.js';

const COMMAND = fileURLToPath(new URL('../../bin/headroom.js', import.meta.url));
/** The same in chunks, whose classes a test can change; `headroom sim` runs from one file otherwise. */
const CHUNKS = fileURLToPath(new URL('../../dist/command/main.js', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcess;
  /** Resolves with the first line of stdout that fits; rejects when the process ends without one. */
  line(fits: (line: string) => boolean): Promise<string>;
  /** Everything it printed, once it ended. */
  readonly finished: Promise<Finished>;
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

/** A directory that is gone when the test is over. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function writeFile(directory: string, name: string, text: string): string {
  const file = join(directory, name);
  // Secrets lie in some, and the command says so where others can read them.
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

/**
 * Starts the command, with no more than `openFiles` files if given; it is killed at the end of the test if it still runs.
 */
export function start(args: readonly string[], environment: Environment = {}, openFiles?: number): Running {
  const running = launch(args, environment, openFiles);
  onTestFinished(async () => {
    running.process.kill('SIGKILL');
    await running.finished;
  });
  return running;
}

function launch(
  args: readonly string[],
  environment: Environment,
  openFiles?: number,
  entry = COMMAND,
): Running {
  const command = [process.execPath, entry, ...args];
  const [program = '', ...rest] =
    openFiles === undefined ? command : ['sh', '-c', `ulimit -n ${openFiles}; exec "$0" "$@"`, ...command];
  // What it writes into the temporary directory belongs to this run, whose end looks for what is left.
  const env = { TMPDIR: tmpdir(), ...environment };
  const child = spawn(program, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let stderr = '';
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    for (const look of waiting) look();
  });
  const finished = once(child, 'close').then(([code]) => ({
    code,
    stdout: lines.map((line) => `${line}\n`).join(''),
    stderr,
  }));
  return {
    process: child,
    finished,
    line: (fits) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.find(fits);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        finished.then((end) => reject(new Error(`it ended first: ${JSON.stringify(end)}`)));
        look();
      }),
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      return finished;
    },
  };
}

/** Runs the command to its end, in a process of its own. */
export function runAlone(args: readonly string[], environment: Environment = {}): Promise<Finished> {
  return launch(args, environment).finished;
}

/** The same with a module that `defect` names, which changes others of the product before the command begins. */
export function runWithDefect(args: readonly string[], defect: string): Promise<Finished> {
  return launch(args, { NODE_OPTIONS: `--import ${defect}` }, undefined, CHUNKS).finished;
}

/** Of all files of this process. */
let resident: Resident | undefined;

/**
 * Runs the command to its end, in a process that ran others before. In one of its own where Node itself is told something, and
 * where the service would run.
 */
export function run(args: readonly string[], environment: Environment = {}): Promise<Finished> {
  if ('NODE_OPTIONS' in environment || args[0] === 'serve') return runAlone(args, environment);
  resident ??= new Resident();
  return resident.run(args, { TMPDIR: tmpdir(), ...environment });
}

/** Runs the command with `--json`, expects success, and gives what it printed. */
export async function runJson(args: readonly string[], environment: Environment) {
  const { code, stdout, stderr } = await run([...args, '--json'], environment);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** A service on free ports and on `dataDir`, ready; it is killed at the end of the test if it still runs. */
export function serve(
  dataDir: string,
  environment: Environment = {},
  flags: readonly string[] = [],
  openFiles?: number,
) {
  return whenReady(start(['serve', ...flags], { ...settingsOn(dataDir), ...environment }, openFiles));
}

/** The same for the tests of a whole file, which stops it itself. */
export function serveForFile(dataDir: string) {
  return whenReady(launch(['serve'], settingsOn(dataDir)));
}

function settingsOn(dataDir: string): Environment {
  return {
    HEADROOM_DATA_DIR: dataDir,
    HEADROOM_HTTP_PORT: '0',
    HEADROOM_MQTT_PORT: '0',
    HEADROOM_LOG_LEVEL: 'warn',
  };
}

async function whenReady(running: Running) {
  const ready = JSON.parse(await running.line((line) => line.includes('"event":"ready"')));
  return { ...running, httpUrl: ready.httpUrl as string, mqttUrl: ready.mqttUrl as string };
}
