// A simulated world in a process of its own, for its parent: it waits for a request before each slice.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { SimulationSlice, SimulationTask } from './simulation-run.js';

type Line = { readonly ready: true } | { readonly slice: SimulationSlice };

/** This release, compiled. */
const OWN_PRODUCT = new URL('../../', import.meta.url).href.replace(/\/$/, '');
const MEGABYTES = 6_144;

export class SimulationChild {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<string>;
  #isMeasured = false;

  /** @param task.product this release by default. */
  constructor(task: Omit<SimulationTask, 'product'> & { readonly product?: string }) {
    const path = fileURLToPath(new URL('./simulation-run.js', import.meta.url));
    const whole: SimulationTask = { product: OWN_PRODUCT, ...task };
    this.#child = spawn(
      process.execPath,
      [`--max-old-space-size=${MEGABYTES}`, path, JSON.stringify(whole)],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    this.#ended = once(this.#child, 'exit').then(([code, signal]) => `${signal ?? `exit code ${code}`}`);
    if (this.#child.stdout === null) throw new Error('a child without a standard output');
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  /** Runs to the start of its next slice, and waits. */
  async arrive(): Promise<void> {
    if (this.#isMeasured) this.#goOn();
    const line = await this.#next();
    if (!('ready' in line)) throw new Error('a slice that nobody asked for');
  }

  /** Runs the next slice, and waits at its end, so that it takes no time from the next measurement. */
  async slice(): Promise<SimulationSlice> {
    this.#goOn();
    this.#isMeasured = true;
    const line = await this.#next();
    if (!('slice' in line)) throw new Error('a slice was asked for, and none came');
    return line.slice;
  }

  /** Ends the process, although its day is not finished. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill();
    await exited;
  }

  #goOn(): void {
    this.#child.stdin?.write('\n');
  }

  async #next(): Promise<Line> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the simulation ended early, by ${await this.#ended}`);
    return JSON.parse(value);
  }
}

/** A release in the folder of its build, such as a checkout. */
export function productIn(checkout: string): string {
  return pathToFileURL(`${checkout}/dist`).href;
}
