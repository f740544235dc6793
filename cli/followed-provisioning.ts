// Follows the provisioning file of a running gateway. A content is applied once it is complete and valid.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { GatewayMetrics } from '../src/gateway/gateway-metrics.js';
import type { Cancel, Clock } from '../src/ports/clock.js';
import type { Log } from '../src/ports/log.js';
import { OperatorError } from '../src/ports/operator-error.js';
import type { ProvisioningFile } from '../src/provisioning/provisioning-schema.js';

/** Polling also follows symbolic links that are exchanged, such as those of Kubernetes, and network drives. */
export const LOOKS_EVERY_MS = 500;
/** As for `provision`: 100,000 connectors. */
const MOST_BYTES = 16_000_000;
const PARSED_WITHIN_MS = 60_000;
/** A file of 10,000 chargers needs three quarters of it. */
const MEMORY_MB = 256;
const PROBLEMS_AT_ONCE = 10;

export interface ParseTask {
  readonly text: string;
  readonly path: string;
}

export type ParseOutcome = { readonly file: ProvisioningFile } | { readonly refusal: string };

export interface FollowedProvisioningOptions {
  readonly path: string;
  /** The content that is in force already. */
  readonly text: string;
  /** Puts a valid content into force. @throws OperatorError without any change */
  readonly apply: (file: ProvisioningFile) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<GatewayMetrics, 'fileRefused'>;
  /** Most memory for parsing. */
  readonly memoryMb?: number;
}

export class FollowedProvisioning {
  readonly #options: FollowedProvisioningOptions;
  /** Digest of the content in force. */
  #digest: string;
  /** State of the file at the previous look. */
  #seen: string | undefined;
  /** State of the file whose content was applied or refused. */
  #judged: string | undefined;
  #isRefused = false;
  /** Some file systems count no links at all. */
  #hadLinks = false;
  #isStopped = false;
  #looking: Promise<void> = Promise.resolve();
  #thread: Worker | undefined;
  #cancel: Cancel;

  constructor(options: FollowedProvisioningOptions) {
    this.#options = options;
    this.#digest = digestOf(options.text);
    this.#cancel = options.clock.after(LOOKS_EVERY_MS, () => this.#lookAgain());
  }

  /** Resolves after a look in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#thread?.terminate();
    await this.#looking;
  }

  #lookAgain(): void {
    this.#looking = this.#look().finally(() => {
      if (!this.#isStopped) this.#cancel = this.#options.clock.after(LOOKS_EVERY_MS, () => this.#lookAgain());
    });
  }

  /** A file that changed since the previous look may still be written: its content is not read yet. */
  async #look(): Promise<void> {
    const state = await stateOf(this.#options.path);
    const isAtRest = state === this.#seen;
    this.#seen = state;
    if (!isAtRest || state === this.#judged) return;
    try {
      const { text, links } = await readBounded(this.#options.path);
      if ((await stateOf(this.#options.path)) !== state) return;
      this.#judged = state;
      // Behind a container's mount of a single file, a file that replaces it stays out of sight.
      if (links === 0 && this.#hadLinks)
        throw new OperatorError('it was replaced out of sight: mount its folder, or restart the gateway');
      this.#hadLinks = links > 0;
      await this.#judge(text);
    } catch (error) {
      this.#judged = state;
      if (!this.#isStopped) this.#refuse(error);
    }
  }

  /** @throws OperatorError */
  async #judge(text: string): Promise<void> {
    const { path, apply, log, metrics } = this.#options;
    const digest = digestOf(text);
    if (digest !== this.#digest) {
      const file = await this.#parse({ text, path });
      if (this.#isStopped) return;
      apply(file);
      this.#digest = digest;
    } else if (this.#isRefused) {
      log.info({ file: path }, 'the provisioning file can be used again, and has not changed');
    }
    this.#isRefused = false;
    metrics.fileRefused.set(0);
  }

  #refuse(error: unknown): void {
    const { path, log, metrics } = this.#options;
    const problems = (error instanceof Error ? error.message : String(error)).split('\n');
    this.#isRefused = true;
    metrics.fileRefused.set(1);
    log.error(
      {
        file: path,
        count: problems.length,
        problems: problems.slice(0, PROBLEMS_AT_ONCE),
        ...(error instanceof OperatorError ? {} : { err: error }),
      },
      'the provisioning file cannot be used: correct it; until then the earlier chargers stay in force',
    );
  }

  /**
   * A thread of its own: 1,000 chargers take a second, in which no charger would get an answer. A file of another kind
   * can need more memory than there is. @throws OperatorError
   */
  async #parse(task: ParseTask): Promise<ProvisioningFile> {
    const thread = new Worker(new URL('./provisioning-thread.js', import.meta.url), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: this.#options.memoryMb ?? MEMORY_MB },
    });
    this.#thread = thread;
    const cancel = this.#options.clock.after(PARSED_WITHIN_MS, () => void thread.terminate());
    try {
      const outcome = await outcomeOf(thread);
      if ('file' in outcome) return outcome.file;
      throw new OperatorError(outcome.refusal);
    } finally {
      cancel();
      this.#thread = undefined;
      await thread.terminate();
    }
  }
}

function outcomeOf(thread: Worker): Promise<ParseOutcome> {
  return new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', ({ message }) => reject(new OperatorError(`it cannot be parsed: ${message}`)));
    thread.once('exit', () =>
      reject(new OperatorError(`it cannot be parsed within ${PARSED_WITHIN_MS / 1000} s`)),
    );
  });
}

/** Differs after each change of the file; the cause if it cannot be reached. */
async function stateOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch (error) {
    return String(error);
  }
}

/** @throws Error if the file is no regular one, too large or unreadable */
async function readBounded(path: string): Promise<{ readonly text: string; readonly links: number }> {
  const found = await stat(path);
  // A read of a pipe might never end.
  if (!found.isFile()) throw new OperatorError('it must be a regular file: a pipe is read at the start only');
  if (found.size > MOST_BYTES) throw new OperatorError(`it must be at most ${MOST_BYTES / 1_000_000} MB`);
  return { text: await readFile(path, 'utf8'), links: found.nlink };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
