// Where cells run: in this thread, or on threads of their own; whoever asks cannot tell.
import { Worker } from 'node:worker_threads';
import type { EpochMs } from '../../machines/values/time.js';
import {
  type CellEnd,
  type CellNews,
  CellRun,
  type CellSettings,
  type Deed,
  type DeedNews,
} from './cell-run.js';
import type { Cell } from './cells.js';
import { Queue } from './queue.js';
import { THREAD_LIMITS } from './thread-limits.js';

/** A cell that runs somewhere. Time stands still in it until it is asked to go on. */
export interface OpenCell {
  /** What happened before its first instant was reached. */
  readonly begun: CellNews;
  /** Goes on to `instant`, and makes the calls of that instant. */
  advance(instant: EpochMs): Promise<CellNews>;
  do(deed: Deed): Promise<DeedNews>;
  end(): Promise<CellEnd>;
  close(): Promise<void>;
}

/** What one thread is asked to do, one after another: what a cell needs then stays near the processor. */
export interface CellHost {
  open(cell: Cell, settings?: CellSettings): Promise<OpenCell>;
  /** To be called after its cells were closed. */
  close(): Promise<void>;
}

class LocalCells implements CellHost {
  readonly #queue = new Queue();

  async open(cell: Cell, settings?: CellSettings): Promise<OpenCell> {
    const queue = this.#queue;
    const run = await queue.add(() => CellRun.open(cell, settings));
    return {
      begun: run.news(),
      advance: (instant) => queue.add(() => run.advance(instant)),
      do: (deed) => queue.add(() => run.do(deed)),
      end: () => queue.add(async () => run.end()),
      close: () => queue.add(() => run.close()),
    };
  }

  async close(): Promise<void> {}
}

/** What a thread is asked, of the cell with this number; it answers each before it is asked the next. */
export type CellOrder =
  | {
      readonly kind: 'open';
      readonly nth: number;
      readonly cell: Cell;
      readonly settings: CellSettings | undefined;
    }
  | { readonly kind: 'advance'; readonly nth: number; readonly instant: EpochMs }
  | { readonly kind: 'do'; readonly nth: number; readonly deed: Deed }
  | { readonly kind: 'end' | 'close'; readonly nth: number };
export type CellAnswer = CellNews | DeedNews | CellEnd | undefined;

/** Cells on a thread that they share with none of other hosts. */
export class ThreadCells implements CellHost {
  readonly #thread = new Worker(new URL('./cell-thread.js', import.meta.url), {
    resourceLimits: THREAD_LIMITS,
  });
  readonly #queue = new Queue();
  #opened = 0;
  #failure: Error | undefined;

  constructor() {
    // Told to whoever asks next, too.
    this.#thread.on('error', (error) => {
      this.#failure ??= error;
    });
  }

  async open(cell: Cell, settings?: CellSettings): Promise<OpenCell> {
    const nth = this.#opened++;
    // The thread answers each order with what belongs to it.
    const begun = (await this.#ask({ kind: 'open', nth, cell, settings })) as CellNews;
    return {
      begun,
      advance: async (instant) => (await this.#ask({ kind: 'advance', nth, instant })) as CellNews,
      do: async (deed) => (await this.#ask({ kind: 'do', nth, deed })) as DeedNews,
      end: async () => (await this.#ask({ kind: 'end', nth })) as CellEnd,
      // With a thread that failed its cells are gone already.
      close: async () => void (await this.#ask({ kind: 'close', nth }).catch(() => {})),
    };
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }

  #ask(order: CellOrder): Promise<CellAnswer> {
    return this.#queue.add(() => this.#answer(order));
  }

  /** @throws what the thread threw */
  #answer(order: CellOrder): Promise<CellAnswer> {
    return new Promise((resolve, reject) => {
      const finish = (how: () => void) => {
        this.#thread.off('message', onMessage).off('error', onError).off('exit', onExit);
        how();
      };
      const onMessage = (answer: CellAnswer) => finish(() => resolve(answer));
      const onError = (error: Error) => finish(() => reject(error));
      const onExit = () => onError(new Error('a thread of the simulation ended early'));
      if (this.#failure !== undefined) return reject(this.#failure);
      this.#thread.on('message', onMessage).on('error', onError).on('exit', onExit);
      this.#thread.postMessage(order);
    });
  }
}

/** Some hosts, among which cells are divided by their number, neighbours together. */
export class CellHosts {
  readonly #hosts: readonly CellHost[];
  readonly #cells: number;

  /** For `cells` cells on as many threads as asked for, in this one where that is one. */
  constructor(cells: number, workers: number) {
    const threads = Math.min(workers, cells);
    this.#cells = cells;
    this.#hosts =
      threads <= 1 ? [new LocalCells()] : Array.from({ length: threads }, () => new ThreadCells());
  }

  /** @param place of the cell among all. */
  open(place: number, cell: Cell, settings?: CellSettings): Promise<OpenCell> {
    const host = this.#hosts[Math.floor((place * this.#hosts.length) / this.#cells)] ?? this.#hosts[0];
    if (host === undefined) throw new RangeError('there is nowhere to run a cell');
    return host.open(cell, settings);
  }

  /** All `cells`, in their order. @throws what the first that could not be opened threw; then none is open */
  async openAll(cells: readonly Cell[], settings?: CellSettings): Promise<readonly OpenCell[]> {
    const settled = await Promise.allSettled(cells.map((cell, place) => this.open(place, cell, settings)));
    const open = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const failed = settled.find((each) => each.status === 'rejected');
    if (failed === undefined) return open;
    await Promise.all(open.map((cell) => cell.close()));
    throw failed.reason;
  }

  async close(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.close()));
  }
}
