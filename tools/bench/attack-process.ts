// A process of the shipped command under attack: starts, kills and stops it; measures its memory, open files and log.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'undici';
import { systemClock } from '../../src/clock.js';
import { pause } from './chaos-parts.js';
import { openFilesOf, residentBytes } from './process-figures.js';

const COMMAND = fileURLToPath(new URL('../../../cli/headroom.js', import.meta.url));
/** Time for the end of a process after a request, as supervisors grant it. */
const STOPS_WITHIN_MS = 20_000;
const LOOK_EVERY_MS = 50;
/** Node writes this line after its inspector listens. */
const INSPECTOR = /Debugger listening on (ws:\S+)/g;

/** A warning or an error of the log, by its message. */
const COMPLAINT = /^\{"level":"(?:warn|error|fatal)".*"msg":"([^"]*)"\}$/;

/** After a full garbage collection. */
export interface Held {
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly openFiles: number;
}

export interface LogFigures {
  readonly bytes: number;
  readonly lines: number;
  readonly longestBytes: number;
  /** Lines with one of the texts that no line may contain. */
  readonly betrayals: number;
  /** Number of times that each warning and error was logged. */
  readonly complaints: Readonly<Record<string, number>>;
}

export class AttackedProcess {
  readonly name: string;
  readonly logFile: string;
  readonly #args: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  #isAskedToEnd = false;
  #inspectorUrl: string | undefined;
  /** Number of unrequested ends. */
  crashes = 0;

  constructor(name: string, args: readonly string[], environment: NodeJS.ProcessEnv, logFile: string) {
    this.name = name;
    this.#args = args;
    this.#environment = { ...environment, NODE_OPTIONS: '--inspect-port=127.0.0.1:0' };
    this.logFile = logFile;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** @returns the time until its `ready` line, and that line */
  async start(): Promise<{ readonly tookMs: number; readonly ready: Readonly<Record<string, string>> }> {
    const fromMs = systemClock.monotonicMs();
    const log = openSync(this.logFile, 'a');
    const child = spawn(process.execPath, [COMMAND, ...this.#args], {
      env: this.#environment,
      stdio: ['ignore', 'pipe', log],
    });
    closeSync(log);
    this.#child = child;
    // The attacked process must not outlive the attack, in any way that the attack ends.
    const end = () => void child.kill('SIGKILL');
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
    this.#isAskedToEnd = false;
    this.#inspectorUrl = undefined;
    child.once('exit', () => {
      if (!this.#isAskedToEnd) this.crashes++;
    });
    const { stdout } = child;
    const line = await new Promise<string>((resolve, reject) => {
      if (stdout === null) return reject(new Error(`${this.name} was started without its output`));
      createInterface({ input: stdout }).once('line', resolve);
      child.once('exit', (code) =>
        reject(new Error(`${this.name} ended with ${code} before it was ready: ${this.#lastLines()}`)),
      );
    });
    return { tookMs: systemClock.monotonicMs() - fromMs, ready: JSON.parse(line) };
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    this.#isAskedToEnd = true;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** @returns true if it ended well after SIGTERM, in time */
  async stop(): Promise<boolean> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return false;
    this.#isAskedToEnd = true;
    let code: number | null = null;
    child.once('exit', (ended) => {
      code = ended;
    });
    child.kill('SIGTERM');
    const untilMs = systemClock.monotonicMs() + STOPS_WITHIN_MS;
    while (child.exitCode === null && child.signalCode === null && systemClock.monotonicMs() < untilMs)
      await pause(LOOK_EVERY_MS);
    if (child.exitCode === null && child.signalCode === null) await this.kill();
    return code === 0;
  }

  async held(): Promise<Held> {
    const url = await this.#inspector();
    const openFiles = openFilesOf(this.pid);
    const heapBytes = await heapAfterCollection(url);
    return { heapBytes, residentBytes: residentBytes(this.pid), openFiles };
  }

  async logFigures(secrets: readonly string[]): Promise<LogFigures> {
    let [bytes, lines, longestBytes, betrayals] = [0, 0, 0, 0];
    const complaints: Record<string, number> = {};
    for await (const line of createInterface({ input: createReadStream(this.logFile) })) {
      const length = Buffer.byteLength(line) + 1;
      bytes += length;
      lines++;
      longestBytes = Math.max(longestBytes, length);
      if (secrets.some((secret) => line.includes(secret))) betrayals++;
      const [, message] = COMPLAINT.exec(line) ?? [];
      if (message !== undefined) complaints[message] = (complaints[message] ?? 0) + 1;
    }
    return { bytes, lines, longestBytes, betrayals, complaints };
  }

  /** A signal of Node opens the inspector, so that the program runs as it ships. */
  async #inspector(): Promise<string> {
    if (this.#inspectorUrl !== undefined) return this.#inspectorUrl;
    const known = this.#inspectors().length;
    process.kill(this.pid, 'SIGUSR1');
    for (;;) {
      const urls = this.#inspectors();
      const url = urls.at(-1);
      if (urls.length > known && url !== undefined) {
        this.#inspectorUrl = url;
        return url;
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  #inspectors(): readonly string[] {
    return [...readFileSync(this.logFile, 'utf8').matchAll(INSPECTOR)].map(([, url = '']) => url);
  }

  #lastLines(): string {
    return readFileSync(this.logFile, 'utf8').slice(-2_000);
  }
}

async function heapAfterCollection(url: string): Promise<number> {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`no inspector at ${url}`)));
  });
  let lastId = 0;
  const ask = (method: string, params: object = {}) =>
    new Promise<{ readonly result?: { readonly result?: { readonly value?: unknown } } }>((resolve) => {
      const id = ++lastId;
      const take = ({ data }: { readonly data: unknown }) => {
        const answer = JSON.parse(String(data));
        if (answer.id !== id) return;
        socket.removeEventListener('message', take);
        resolve(answer);
      };
      socket.addEventListener('message', take);
      socket.send(JSON.stringify({ id, method, params }));
    });
  // Objects that the first collection finalizes may refer to others, which only the next collection finds.
  for (let i = 0; i < 2; i++) await ask('HeapProfiler.collectGarbage');
  const expression = 'process.memoryUsage().heapUsed';
  const answer = await ask('Runtime.evaluate', { expression, returnByValue: true });
  socket.close();
  return Number(answer.result?.result?.value);
}
