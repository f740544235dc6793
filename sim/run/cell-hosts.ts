// Runs cells in this thread or on threads of their own, behind one interface.
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

/** A running cell. Its time stands still between calls. */
export interface OpenCell {
  /** Events up to the first instant of the scenario. */
  readonly begun: CellNews;
  /** Advances to `instant`, and makes the calls of that instant. */
  advance(instant: EpochMs): Promise<CellNews>;
  do(deed: Deed): Promise<DeedNews>;
  end(): Promise<CellEnd>;
  close(): Promise<void>;
}

/** Runs the requests to one thread one after another: the data of a cell then stays in the processor's cache. */
export interface CellHost {
  open(cell: Cell, settings?: CellSettings): Promise<OpenCell>;
  /** Close the cells first. */
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

/** A request to a thread; `nth` is the number of the cell. The thread answers each request before it gets the next. */
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

/** Cells on a thread of their own; other hosts do not use this thread. */
export class ThreadCells implements CellHost {
  readonly #thread = new Worker(new URL('./cell-thread.js', import.meta.url), {
    resourceLimits: THREAD_LIMITS,
  });
  readonly #queue = new Queue();
  #opened = 0;
  #failure: Error | undefined;

  constructor() {
    // The next request also rejects with this error.
    this.#thread.on('error', (error) => {
      this.#failure ??= error;
    });
  }

  async open(cell: Cell, settings?: CellSettings): Promise<OpenCell> {
    const nth = this.#opened++;
    // The thread answers each order with the type that belongs to it.
    const begun = (await this.#ask({ kind: 'open', nth, cell, settings })) as CellNews;
    return {
      begun,
      advance: async (instant) => (await this.#ask({ kind: 'advance', nth, instant })) as CellNews,
      do: async (deed) => (await this.#ask({ kind: 'do', nth, deed })) as DeedNews,
      end: async () => (await this.#ask({ kind: 'end', nth })) as CellEnd,
      // The cells of a failed thread are already closed.
      close: async () => void (await this.#ask({ kind: 'close', nth }).catch(() => {})),
    };
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }

  #ask(order: CellOrder): Promise<CellAnswer> {
    return this.#queue.add(() => this.#answer(order));
  }

  /** @throws the error of the thread */
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

/** Divides the cells among several hosts by number; cells with adjacent numbers share a host. */
export class CellHosts {
  readonly #hosts: readonly CellHost[];
  readonly #cells: number;

  /** Uses `workers` threads, but at most one for each cell. One worker means the current thread. */
  constructor(cells: number, workers: number) {
    const threads = Math.min(workers, cells);
    this.#cells = cells;
    this.#hosts =
      threads <= 1 ? [new LocalCells()] : Array.from({ length: threads }, () => new ThreadCells());
  }

  /** @param place number of the cell among all cells. */
  open(place: number, cell: Cell, settings?: CellSettings): Promise<OpenCell> {
    const host = this.#hosts[Math.floor((place * this.#hosts.length) / this.#cells)] ?? this.#hosts[0];
    if (host === undefined) throw new RangeError('there is nowhere to run a cell');
    return host.open(cell, settings);
  }

  /** Opens all `cells`, in their order. @throws the first error; no cell stays open in that case */
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
