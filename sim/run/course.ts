// The course of one cell: what happened in it so far, what was done in it by hand, and its world where one is needed.
import type { EpochMs } from '../../machines/values/time.js';
import { toInstant } from '../../src/wire/instants.js';
import type { RestAnswer } from '../world/rest-client.js';
import type { CellHost, CellHosts, OpenCell } from './cell-hosts.js';
import type { CellNews, Deed } from './cell-run.js';
import type { Cell } from './cells.js';
import { type EventMemory, firstDifference, type Mark } from './event-memory.js';
import { Queue } from './queue.js';
import { type DoneByHand, RecordedRun } from './recorded-run.js';
import type { Spares } from './spares.js';

/** Where a cell runs, and its number among the cells that its hosts were made for. */
export interface CellPlace {
  readonly hosts: CellHosts;
  readonly place: number;
  /** Absent where none are kept. */
  readonly spares?: Spares | undefined;
}

/** What is known of a course before it has a world. */
interface Past {
  readonly memory: EventMemory;
  /** Until there, what is in memory is of this course. */
  readonly end: Mark;
  readonly done: readonly DoneByHand[];
}

/**
 * Several rehearsals may follow one course, each at an instant of its own: until something is done otherwise, nothing in it
 * is run twice. What is done otherwise is done in a course of its own. What was recorded is read; a world is run to where the
 * recording ends only when time goes on from there.
 */
export class Course {
  readonly cell: Cell;
  readonly at: CellPlace;
  #memory: EventMemory;
  #end: Mark;
  #done: readonly DoneByHand[];
  /** Stands where the recording ends. */
  #world: OpenCell | undefined;
  /** Where time stood still, how much had happened: not all of that instant need have. */
  readonly #arrivals = new Map<EpochMs, number>();
  #followers = 1;
  /** Its followers go on one after another. */
  readonly #queue = new Queue();

  constructor(cell: Cell, at: CellPlace, { memory, end, done }: Past) {
    this.cell = cell;
    this.at = at;
    this.#memory = memory;
    this.#end = end;
    this.#done = done;
  }

  /** At the first instant of `cell`. */
  static async begin(cell: Cell, at: CellPlace): Promise<Course> {
    const run = await RecordedRun.begin(cell, openAt(at));
    const course = new Course(cell, at, run);
    course.#arrivals.set(run.end.atMs, run.end.events);
    course.#world = run.world;
    return course;
  }

  get memory(): EventMemory {
    return this.#memory;
  }

  get done(): readonly DoneByHand[] {
    return this.#done;
  }

  /** Where its recording ends. */
  get end(): Mark {
    return this.#end;
  }

  /** Goes on until `instant`, as far as that was not recorded. */
  reach(instant: EpochMs): Promise<Mark> {
    return this.#queue.add(async () => {
      if (instant > this.#end.atMs) {
        const world = await this.#worldAtEnd();
        const news = world.advance(instant);
        // After it was asked: a world that was a spare one shares their thread.
        this.at.spares?.follow(this.cell, this.#done, instant);
        this.#hear(await news, instant);
      }
      return this.markOf(instant);
    });
  }

  /** How much had happened at `instant`, which is recorded. */
  markOf(instant: EpochMs): Mark {
    const events = this.#arrivals.get(instant) ?? this.#memory.countBefore(instant + 1);
    return { atMs: instant, events: Math.min(events, this.#end.events) };
  }

  /**
   * The course that has a world at `at`, which is recorded: this one where it ends there and nobody else follows it, otherwise a
   * new one. @throws Error where what was recorded does not come again
   */
  async standingAt(at: Mark): Promise<Course> {
    const course = await this.#queue.add(async () => {
      const isHere = this.#end.atMs === at.atMs && this.#end.events === at.events;
      if (isHere && this.#followers === 1) return this;
      const own = this.#with(this.cell, { end: at, done: this.#done });
      // Who does something needs it now; others may never go on.
      if (isHere) [own.#world, this.#world] = [this.#world, undefined];
      return own;
    });
    try {
      await course.#queue.add(() => course.#worldAtEnd());
      return course;
    } catch (error) {
      if (course !== this) await course.leave();
      throw error;
    }
  }

  /** Does `deed` where it ends. @returns the answer to a call */
  do(deed: Deed, nth: number): Promise<RestAnswer | undefined> {
    return this.#queue.add(async () => {
      const world = await this.#worldAtEnd();
      const at = this.#end;
      const news = await world.do(deed);
      this.#done = [...this.#done, { at, nth, deed }];
      this.#hear(news, at.atMs);
      return news.answer;
    });
  }

  /** As it was before the first deed at or after `instant`; the same one where there is none. The follower goes with it. */
  async forgetting(instant: EpochMs): Promise<Course> {
    const first = this.#done.find(({ at }) => at.atMs >= instant);
    if (first === undefined) return this;
    const done = this.#done.filter(({ nth }) => nth < first.nth);
    const course = this.#with(this.cell, { end: first.at, done });
    await this.leave();
    return course;
  }

  /** Its past until `end`, before a future of another scenario. */
  branched(cell: Cell, end: Mark): Course {
    return this.#with(cell, { end, done: this.#done });
  }

  /** One more rehearsal follows it. */
  follow(): this {
    this.#followers++;
    return this;
  }

  /** A rehearsal follows it no more; its world ends with the last. */
  async leave(): Promise<void> {
    this.#followers--;
    if (this.#followers === 0) await this.rest();
  }

  /** Its world ends, unless another rehearsal may need it; it is run again if it is needed. */
  async rest(): Promise<void> {
    if (this.#followers > 1) return;
    const world = this.#world;
    this.#world = undefined;
    await world?.close();
  }

  #with(cell: Cell, { end, done }: Omit<Past, 'memory'>): Course {
    const course = new Course(cell, this.at, { memory: this.#memory, end, done });
    for (const [atMs, events] of this.#arrivals) if (atMs < end.atMs) course.#arrivals.set(atMs, events);
    course.#arrivals.set(end.atMs, end.events);
    return course;
  }

  async #worldAtEnd(): Promise<OpenCell> {
    if (this.#world !== undefined) return this.#world;
    const [recorded, { atMs }] = [this.#memory, this.#end];
    const again =
      this.at.spares?.take(this.cell, this.#done, atMs) ??
      (await RecordedRun.begin(this.cell, openAt(this.at)));
    try {
      await again.goOn(this.#done, atMs);
      const differsAtMs = firstDifference(recorded, again.memory, atMs);
      if (differsAtMs !== undefined)
        throw new Error(`The past cannot be entered again: it differs at ${toInstant(differsAtMs)}`);
      this.#memory = again.memory;
      this.#done = again.done;
      this.#end = again.end;
      this.#arrivals.set(atMs, this.#end.events);
      this.#world = again.world;
      return again.world;
    } catch (error) {
      await again.world.close();
      throw error;
    }
  }

  #hear({ events }: CellNews, atMs: EpochMs): void {
    for (const event of events) this.#memory.add(event);
    this.#end = { atMs, events: this.#memory.count };
    this.#arrivals.set(atMs, this.#end.events);
  }
}

function openAt({ hosts, place }: CellPlace): CellHost['open'] {
  return (cell, settings) => hosts.open(place, cell, settings);
}
