// A process that has loaded the product and runs commands one after another. Loading takes most of a second of
// processor time.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { EXEC_ARGV } from '../../vitest.config.js';

const PROGRAM = fileURLToPath(new URL('./resident-process.js', import.meta.url));
const ONLY_BUNDLED = fileURLToPath(new URL('../only-bundled.js', import.meta.url));

export class Resident {
  readonly #process: ChildProcess;
  readonly #gone: Promise<never>;
  readonly #stdout: MarkedOutput;
  readonly #stderr: MarkedOutput;
  #commands = 0;

  /**
   * The process ends with this one, or with `stop`.
   * @param flags options for Node, beside those of all tests
   */
  constructor(flags: readonly string[] = []) {
    const execArgv = [...EXEC_ARGV, '--import', ONLY_BUNDLED, ...flags];
    this.#process = fork(PROGRAM, { execArgv, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    this.#stdout = new MarkedOutput(this.#process.stdout);
    this.#stderr = new MarkedOutput(this.#process.stderr);
    this.#gone = once(this.#process, 'exit').then(([code, signal]) => {
      throw new Error(`the process that runs commands has ended with ${code ?? signal}`);
    });
    // `run` passes this error to its caller.
    this.#gone.catch(() => {});
  }

  /** Runs the command after those before it have ended. */
  async run(args: readonly string[], environment: Readonly<Record<string, string>>) {
    const id = ++this.#commands;
    const said = Promise.all([this.#stdout.of(id), this.#stderr.of(id)]);
    this.#process.send({ id, args, environment });
    const [stdout, stderr] = await Promise.race([said, this.#gone]);
    return { code: stdout.code, stdout: stdout.text, stderr: stderr.text };
  }

  stop(): void {
    this.#process.kill();
  }
}

/** A command's output on one stream, between two marks with its number. */
class MarkedOutput {
  #text = '';
  readonly #waiting = new Set<() => void>();

  constructor(stream: Readable | null) {
    stream?.setEncoding('utf8').on('data', (data) => {
      this.#text += data;
      for (const look of this.#waiting) look();
    });
  }

  of(id: number): Promise<{ readonly text: string; readonly code: number }> {
    return new Promise((resolve) => {
      const look = () => {
        const found = new RegExp(`\u0002${id}\n([^\u0004]*)\u0004${id} (\\d+)\n`).exec(this.#text);
        if (found === null) return;
        this.#waiting.delete(look);
        const [whole, text = '', code] = found;
        this.#text = this.#text.slice(found.index + whole.length);
        resolve({ text, code: Number(code) });
      };
      this.#waiting.add(look);
    });
  }
}
