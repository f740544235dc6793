// The timeline of one cell: its recorded events, the steps by hand, and its world if one is needed.
import type { EpochMs } from '../../machines/values/time.js';
import { toInstant } from '../../src/wire/instants.js';
import { type EventLog, firstDifference, type Mark } from '../log/event-log.js';
import type { RestAnswer } from '../world/rest-client.js';
import type { CellHost, CellHosts, OpenCell } from './cell-hosts.js';
import type { CellNews, Deed } from './cell-run.js';
import type { Cell } from './cells.js';
import type { PrewarmedWorlds } from './prewarmed-worlds.js';
import { Queue } from './queue.js';
import { type DoneByHand, RecordedRun } from './recorded-run.js';

/** Hosts of a cell, and its number among the cells of these hosts. */
export interface CellPlace {
  readonly hosts: CellHosts;
  readonly place: number;
  /** Absent if no worlds are prewarmed. */
  readonly spares?: PrewarmedWorlds | undefined;
}

/** State of a timeline without a world. */
interface Past {
  readonly memory: EventLog;
  /** Events in `memory` after this mark belong to another timeline. */
  readonly end: Mark;
  readonly done: readonly DoneByHand[];
}

/**
 * Several rehearsals may follow one timeline, each at an instant of its own, and share its recording. After a step by
 * hand that differs, the rehearsal gets a timeline of its own. Recorded time is read. A world is run to
 * the end of the recording only if time goes on from there.
 */
export class RunTimeline {
  readonly cell: Cell;
  readonly at: CellPlace;
  #memory: EventLog;
  #end: Mark;
  #done: readonly DoneByHand[];
  /** Stands at the end of the recording. */
  #world: OpenCell | undefined;
  /** Number of events on arrival at each instant where time stood still; more events of that instant may follow. */
  readonly #arrivals = new Map<EpochMs, number>();
  #followers = 1;
  /** Requests of the followers run one after another. */
  readonly #queue = new Queue();

  constructor(cell: Cell, at: CellPlace, { memory, end, done }: Past) {
    this.cell = cell;
    this.at = at;
    this.#memory = memory;
    this.#end = end;
    this.#done = done;
  }

  /** Begins at the first instant of `cell`. */
  static async begin(cell: Cell, at: CellPlace): Promise<RunTimeline> {
    const run = await RecordedRun.begin(cell, openAt(at));
    const course = new RunTimeline(cell, at, run);
    course.#arrivals.set(run.end.atMs, run.end.events);
    course.#world = run.world;
    return course;
  }

  get memory(): EventLog {
    return this.#memory;
  }

  get done(): readonly DoneByHand[] {
    return this.#done;
  }

  /** End of the recording. */
  get end(): Mark {
    return this.#end;
  }

  /** Advances to `instant`, and runs only the part that is not recorded. */
  reach(instant: EpochMs): Promise<Mark> {
    return this.#queue.add(async () => {
      if (instant > this.#end.atMs) {
        const world = await this.#worldAtEnd();
        const news = world.advance(instant);
        // Only after the request to the world: a world that was prewarmed shares the thread of the prewarmed worlds.
        this.at.spares?.follow(this.cell, this.#done, instant);
        this.#receive(await news, instant);
      }
      return this.markOf(instant);
    });
  }

  /** Number of events up to `instant`, which is recorded. */
  markOf(instant: EpochMs): Mark {
    const events = this.#arrivals.get(instant) ?? this.#memory.countBefore(instant + 1);
    return { atMs: instant, events: Math.min(events, this.#end.events) };
  }

  /**
   * Returns a timeline with a world at `at`, which is recorded. This timeline is returned if it ends there and has no
   * other follower; otherwise a new one. @throws Error if the second run differs from the recording
   */
  async standingAt(at: Mark): Promise<RunTimeline> {
    const course = await this.#queue.add(async () => {
      const isHere = this.#end.atMs === at.atMs && this.#end.events === at.events;
      if (isHere && this.#followers === 1) return this;
      const own = this.#with(this.cell, { end: at, done: this.#done });
      // The caller needs the world now; other followers may never need it.
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

  /** Runs `deed` at the end of the recording. @returns the answer to a call */
  do(deed: Deed, nth: number): Promise<RestAnswer | undefined> {
    return this.#queue.add(async () => {
      const world = await this.#worldAtEnd();
      const at = this.#end;
      const news = await world.do(deed);
      this.#done = [...this.#done, { at, nth, deed }];
      this.#receive(news, at.atMs);
      return news.answer;
    });
  }

  /**
   * The timeline before the first step by hand at or after `instant`; this one if there is no such step. The follower
   * moves to the returned timeline.
   */
  async forgetting(instant: EpochMs): Promise<RunTimeline> {
    const first = this.#done.find(({ at }) => at.atMs >= instant);
    if (first === undefined) return this;
    const done = this.#done.filter(({ nth }) => nth < first.nth);
    const course = this.#with(this.cell, { end: first.at, done });
    await this.leave();
    return course;
  }

  /** A timeline with the past of this one until `end`, and the future of another scenario. */
  branched(cell: Cell, end: Mark): RunTimeline {
    return this.#with(cell, { end, done: this.#done });
  }

  /** Adds a follower. */
  follow(): this {
    this.#followers++;
    return this;
  }

  /** Removes a follower. The world closes with the last one. */
  async leave(): Promise<void> {
    this.#followers--;
    if (this.#followers === 0) await this.rest();
  }

  /** Closes the world, unless another rehearsal may need it. A later request runs it again. */
  async rest(): Promise<void> {
    if (this.#followers > 1) return;
    const world = this.#world;
    this.#world = undefined;
    await world?.close();
  }

  #with(cell: Cell, { end, done }: Omit<Past, 'memory'>): RunTimeline {
    const course = new RunTimeline(cell, this.at, { memory: this.#memory, end, done });
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
        throw new Error(`The past cannot be repeated: it differs at ${toInstant(differsAtMs)}`);
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

  #receive({ events }: CellNews, atMs: EpochMs): void {
    for (const event of events) this.#memory.add(event);
    this.#end = { atMs, events: this.#memory.count };
    this.#arrivals.set(atMs, this.#end.events);
  }
}

function openAt({ hosts, place }: CellPlace): CellHost['open'] {
  return (cell, settings) => hosts.open(place, cell, settings);
}
