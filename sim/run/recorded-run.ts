// A cell that runs from its first instant, what was done in it by hand on the way, and the recording of both.
import type { EpochMs } from '../../machines/values/time.js';
import type { CellHost, OpenCell } from './cell-hosts.js';
import type { CellNews, Deed } from './cell-run.js';
import type { Cell } from './cells.js';
import { EventMemory, type Mark } from './event-memory.js';

/** What somebody did by hand: done again where that past is entered again. */
export interface DoneByHand {
  readonly at: Mark;
  /** How many deeds of the rehearsal were before it. */
  readonly nth: number;
  readonly deed: Deed;
}

export class RecordedRun {
  readonly world: OpenCell;
  readonly memory = new EventMemory();
  #end: Mark;
  #done: readonly DoneByHand[] = [];

  /** At the first instant of `cell`. */
  static async begin(cell: Cell, open: CellHost['open']): Promise<RecordedRun> {
    return new RecordedRun(await open(cell, { isJudged: false }), cell.scenario.startsAtMs);
  }

  private constructor(world: OpenCell, startsAtMs: EpochMs) {
    this.world = world;
    this.#end = this.#hear(world.begun, startsAtMs);
  }

  /** How far it is. */
  get end(): Mark {
    return this.#end;
  }

  get done(): readonly DoneByHand[] {
    return this.#done;
  }

  /** To `instant`, with what of `deeds` it has not done. Those it has done are the first of them. */
  async goOn(deeds: readonly DoneByHand[], instant: EpochMs): Promise<void> {
    for (const { at, nth, deed } of deeds.slice(this.#done.length)) {
      await this.#travelTo(at.atMs);
      this.#done = [...this.#done, { at: this.#end, nth, deed }];
      this.#end = this.#hear(await this.world.do(deed), at.atMs);
    }
    await this.#travelTo(instant);
  }

  async #travelTo(instant: EpochMs): Promise<void> {
    if (instant > this.#end.atMs) this.#end = this.#hear(await this.world.advance(instant), instant);
  }

  #hear({ events }: CellNews, atMs: EpochMs): Mark {
    for (const event of events) this.memory.add(event);
    return { atMs, events: this.memory.count };
  }
}
