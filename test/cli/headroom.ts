// Runs the command in its own process, with its arguments, environment, output and exit code.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { Resident } from './resident.js';

const COMMAND = fileURLToPath(new URL('../../cli/headroom.js', import.meta.url));
/** The same command in chunks, whose classes a test can change. Otherwise `headroom sim` runs from a single file. */
const CHUNKS = fileURLToPath(new URL('../../dist/command/main.js', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcess;
  /** Resolves with the first line of stdout that fits; rejects if the process ends without one. */
  line(fits: (line: string) => boolean): Promise<string>;
  /** The whole output, after the end. */
  readonly finished: Promise<Finished>;
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

/** A directory that is removed at the end of the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function writeFile(directory: string, name: string, text: string): string {
  const file = join(directory, name);
  // Some files hold secrets, and the command warns if others can read them.
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

/**
 * Starts the command, with at most `openFiles` open files if given. It is killed at the end of the test if it still
 * runs.
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
  // The run's end looks for files left in this directory, those of the command included.
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

/** Runs the command to its end, in its own process. */
export function runAlone(args: readonly string[], environment: Environment = {}): Promise<Finished> {
  return launch(args, environment).finished;
}

/** The same, with the module `defect` loaded first, which changes modules of the product. */
export function runWithDefect(args: readonly string[], defect: string): Promise<Finished> {
  return launch(args, { NODE_OPTIONS: `--import ${defect}` }, undefined, CHUNKS).finished;
}

/** Shared by all test files of this process. */
let resident: Resident | undefined;

/**
 * Runs the command to its end, in a process that ran others before. The service, and commands with options for Node,
 * get a process of their own.
 */
export function run(args: readonly string[], environment: Environment = {}): Promise<Finished> {
  if ('NODE_OPTIONS' in environment || args[0] === 'serve') return runAlone(args, environment);
  resident ??= new Resident();
  return resident.run(args, { TMPDIR: tmpdir(), ...environment });
}

/** Runs the command with `--json`, expects success, and returns its parsed output. */
export async function runJson(args: readonly string[], environment: Environment) {
  const { code, stdout, stderr } = await run([...args, '--json'], environment);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** A ready service on free ports and on `dataDir`; it is killed at the end of the test if it still runs. */
export function serve(
  dataDir: string,
  environment: Environment = {},
  flags: readonly string[] = [],
  openFiles?: number,
) {
  return whenReady(start(['serve', ...flags], { ...settingsOn(dataDir), ...environment }, openFiles));
}

/** The same for all tests of a file, which must stop it. */
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
