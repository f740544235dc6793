// What happened in the cells of a scenario as one course of events, the same whichever threads they ran on.
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../../machines/values/time.js';
import type { TraceEvent } from '../trace/trace-event.js';

/** By instant; at one instant cell by cell, which is location by location; in a cell as they happened. */
export function* inOrder(cells: readonly Iterable<TraceEvent>[]): Generator<TraceEvent> {
  const readers = cells.map((events) => events[Symbol.iterator]());
  const waiting = new FlatQueue<{ readonly cell: number; readonly event: TraceEvent }>();
  const read = (cell: number) => {
    const next = readers[cell]?.next();
    // Whole numbers that a double holds exactly, for thousands of cells.
    if (next?.done === false)
      waiting.push({ cell, event: next.value }, next.value.atMs * cells.length + cell);
  };
  for (const cell of readers.keys()) read(cell);
  for (let first = waiting.pop(); first !== undefined; first = waiting.pop()) {
    yield first.event;
    read(first.cell);
  }
}

/** Collects what happens in cells that are on their way, and tells it in order. */
export class MergedEvents {
  readonly #emit: (event: TraceEvent) => void;
  /** Of each cell, what is not emitted yet. */
  #waiting: TraceEvent[][];

  constructor(cells: number, emit: (event: TraceEvent) => void) {
    this.#emit = emit;
    this.#waiting = Array.from({ length: cells }, () => []);
  }

  /** More of the cell's, none of them before what it added. */
  add(cell: number, events: readonly TraceEvent[]): void {
    const waiting = this.#waiting[cell];
    if (waiting === undefined) throw new RangeError(`there is no cell ${cell}`);
    for (const event of events) waiting.push(event);
  }

  /** No cell adds anything any more that happened before `instant`. */
  emitBefore(instant: EpochMs): void {
    const due: (readonly TraceEvent[])[] = [];
    this.#waiting = this.#waiting.map((events) => {
      const first = events.findIndex(({ atMs }) => atMs >= instant);
      const count = first === -1 ? events.length : first;
      due.push(events.slice(0, count));
      return events.slice(count);
    });
    for (const event of inOrder(due)) this.#emit(event);
  }
}
