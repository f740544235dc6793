// Where cells run: in this thread, or on a thread of their own; whoever asks cannot tell.
import { Worker } from 'node:worker_threads';
import type { EpochMs } from '../../machines/values/time.js';
import { type CellEnd, type CellNews, CellRun } from './cell-run.js';
import type { Cell } from './cells.js';

/** Some cells, in the order they were given; what is told of them is in that order. */
export interface CellHost {
  advance(instant: EpochMs): Promise<readonly CellNews[]>;
  end(): Promise<readonly CellEnd[]>;
  close(): Promise<void>;
}

export interface HostedCells {
  readonly cells: readonly Cell[];
  readonly settings: Readonly<Record<string, string>>;
}

/** One after another, each as far as is asked: what a cell needs then stays near the processor. */
export class LocalCells implements CellHost {
  readonly #runs: readonly CellRun[];

  static async open({ cells, settings }: HostedCells): Promise<LocalCells> {
    const runs: CellRun[] = [];
    try {
      for (const cell of cells) runs.push(await CellRun.open(cell, settings));
      return new LocalCells(runs);
    } catch (error) {
      await Promise.all(runs.map((run) => run.close()));
      throw error;
    }
  }

  private constructor(runs: readonly CellRun[]) {
    this.#runs = runs;
  }

  async advance(instant: EpochMs): Promise<readonly CellNews[]> {
    const news: CellNews[] = [];
    for (const run of this.#runs) news.push(await run.advance(instant));
    return news;
  }

  async end(): Promise<readonly CellEnd[]> {
    return this.#runs.map((run) => run.end());
  }

  async close(): Promise<void> {
    for (const run of this.#runs) await run.close();
  }
}

/** What a thread is asked; it answers each before it is asked the next. */
export type CellOrder = { readonly advanceTo: EpochMs } | 'end' | 'close';
export type CellAnswer = readonly CellNews[] | readonly CellEnd[] | 'open' | 'closed';

export class ThreadCells implements CellHost {
  readonly #thread: Worker;

  static async open(hosted: HostedCells): Promise<ThreadCells> {
    const thread = new Worker(new URL('./cell-thread.js', import.meta.url), { workerData: hosted });
    const cells = new ThreadCells(thread);
    await cells.#answer();
    return cells;
  }

  private constructor(thread: Worker) {
    this.#thread = thread;
  }

  async advance(instant: EpochMs): Promise<readonly CellNews[]> {
    return (await this.#ask({ advanceTo: instant })) as readonly CellNews[];
  }

  async end(): Promise<readonly CellEnd[]> {
    return (await this.#ask('end')) as readonly CellEnd[];
  }

  async close(): Promise<void> {
    // One that failed is gone already.
    await this.#ask('close').catch(() => {});
    await this.#thread.terminate();
  }

  #ask(order: CellOrder): Promise<CellAnswer> {
    const answer = this.#answer();
    this.#thread.postMessage(order);
    return answer;
  }

  /** @throws what the thread threw */
  #answer(): Promise<CellAnswer> {
    return new Promise((resolve, reject) => {
      const finish = (how: () => void) => {
        this.#thread.off('message', onMessage).off('error', onError).off('exit', onExit);
        how();
      };
      const onMessage = (answer: CellAnswer) => finish(() => resolve(answer));
      const onError = (error: Error) => finish(() => reject(error));
      const onExit = () => finish(() => reject(new Error('a thread of the simulation ended early')));
      this.#thread.on('message', onMessage).on('error', onError).on('exit', onExit);
    });
  }
}

/** Opens `cells` on as many threads as asked for, in this one where that is one. The hosts together have them in order. */
export async function openCells(hosted: HostedCells, workers: number): Promise<readonly CellHost[]> {
  const { cells, settings } = hosted;
  const threads = Math.min(workers, cells.length);
  if (threads <= 1) return [await LocalCells.open(hosted)];
  const edge = (nth: number) => Math.round((nth * cells.length) / threads);
  const shares = Array.from({ length: threads }, (_, nth) => cells.slice(edge(nth), edge(nth + 1)));
  const opened = await Promise.allSettled(shares.map((own) => ThreadCells.open({ cells: own, settings })));
  const hosts = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = opened.find((each) => each.status === 'rejected');
  if (failed === undefined) return hosts;
  await Promise.all(hosts.map((host) => host.close()));
  throw failed.reason;
}
