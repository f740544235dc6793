// What happened in the cells of a scenario as one course of events, the same whichever threads they ran on.
import type { EpochMs } from '../../machines/values/time.js';
import type { TraceEvent } from '../trace/trace-event.js';

/** By instant; at one instant cell by cell, which is location by location; in a cell as they happened. */
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
    const due: { readonly cell: number; readonly event: TraceEvent }[] = [];
    this.#waiting = this.#waiting.map((events, cell) => {
      const first = events.findIndex(({ atMs }) => atMs >= instant);
      const count = first === -1 ? events.length : first;
      for (const event of events.slice(0, count)) due.push({ cell, event });
      return events.slice(count);
    });
    due.sort((a, b) => a.event.atMs - b.event.atMs || a.cell - b.cell);
    for (const { event } of due) this.#emit(event);
  }
}
