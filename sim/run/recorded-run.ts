// A running cell from its first instant, with the recording of its events and of the steps by hand.
import type { EpochMs } from '../../machines/values/time.js';
import { EventLog, type Mark } from '../log/event-log.js';
import type { CellHost, OpenCell } from './cell-hosts.js';
import type { CellNews, Deed } from './cell-run.js';
import type { Cell } from './cells.js';

/** A step by hand at its place in the past: a second run of this past repeats it. */
export interface DoneByHand {
  readonly at: Mark;
  /** Number of earlier steps by hand in the rehearsal. */
  readonly nth: number;
  readonly deed: Deed;
}

export class RecordedRun {
  readonly world: OpenCell;
  readonly memory = new EventLog();
  #end: Mark;
  #done: readonly DoneByHand[] = [];

  /** Begins at the first instant of `cell`. */
  static async begin(cell: Cell, open: CellHost['open']): Promise<RecordedRun> {
    return new RecordedRun(await open(cell, { isJudged: false }), cell.scenario.startsAtMs);
  }

  private constructor(world: OpenCell, startsAtMs: EpochMs) {
    this.world = world;
    this.#end = this.#receive(world.begun, startsAtMs);
  }

  get end(): Mark {
    return this.#end;
  }

  get done(): readonly DoneByHand[] {
    return this.#done;
  }

  /**
   * Advances to `instant`, and runs the rest of `deeds` on the way. The steps that this run already did must be the
   * first of `deeds`.
   */
  async goOn(deeds: readonly DoneByHand[], instant: EpochMs): Promise<void> {
    for (const { at, nth, deed } of deeds.slice(this.#done.length)) {
      await this.#travelTo(at.atMs);
      this.#done = [...this.#done, { at: this.#end, nth, deed }];
      this.#end = this.#receive(await this.world.do(deed), at.atMs);
    }
    await this.#travelTo(instant);
  }

  async #travelTo(instant: EpochMs): Promise<void> {
    if (instant > this.#end.atMs) this.#end = this.#receive(await this.world.advance(instant), instant);
  }

  #receive({ events }: CellNews, atMs: EpochMs): Mark {
    for (const event of events) this.memory.add(event);
    return { atMs, events: this.memory.count };
  }
}
