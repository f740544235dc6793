// Merges the events of the cells into one sequence, which does not depend on the threads of the cells.
import FlatQueue from 'flatqueue';
import type { EpochMs } from '../../machines/values/time.js';
import type { TraceEvent } from '../log/trace-event.js';

/** Sorted by instant; within one instant by cell, which is by location; within a cell in the order of the events. */
export function* inOrder(cells: readonly Iterable<TraceEvent>[]): Generator<TraceEvent> {
  const readers = cells.map((events) => events[Symbol.iterator]());
  const waiting = new FlatQueue<{ readonly cell: number; readonly event: TraceEvent }>();
  const read = (cell: number) => {
    const next = readers[cell]?.next();
    // A double holds these whole numbers exactly, even for thousands of cells.
    if (next?.done === false)
      waiting.push({ cell, event: next.value }, next.value.atMs * cells.length + cell);
  };
  for (const cell of readers.keys()) read(cell);
  for (let first = waiting.pop(); first !== undefined; first = waiting.pop()) {
    yield first.event;
    read(first.cell);
  }
}

/** Collects the events of running cells, and emits them in order. */
export class MergedEvents {
  readonly #emit: (event: TraceEvent) => void;
  /** Events of each cell that are not emitted yet. */
  #waiting: TraceEvent[][];

  constructor(cells: number, emit: (event: TraceEvent) => void) {
    this.#emit = emit;
    this.#waiting = Array.from({ length: cells }, () => []);
  }

  /** Adds events of the cell. Calls for one cell must be in order of time. */
  add(cell: number, events: readonly TraceEvent[]): void {
    const waiting = this.#waiting[cell];
    if (waiting === undefined) throw new RangeError(`there is no cell ${cell}`);
    for (const event of events) waiting.push(event);
  }

  /** Emits all events before `instant`. Afterwards no cell may add an event before `instant`. */
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
