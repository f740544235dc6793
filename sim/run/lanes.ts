// The parts of rehearsals: one timeline for each cell, and the resources that several rehearsals share.
import type { EpochMs } from '../../machines/values/time.js';
import type { Visit } from '../sessions/visit.js';
import type { TraceEvent } from '../trace/trace-event.js';
import { type CellHosts, ThreadCells } from './cell-hosts.js';
import type { Cell } from './cells.js';
import type { Mark } from './event-memory.js';
import { inOrder } from './merged-events.js';
import { PrewarmedWorlds } from './prewarmed-worlds.js';
import type { RunTimeline } from './run-timeline.js';

/** A timeline, and the position of a rehearsal in it. */
export interface Lane {
  readonly course: RunTimeline;
  readonly now: Mark;
}

/** Lanes that ran apart until `untilMs`. Since then they run as one, because a step by hand concerned them together. */
export interface Joined {
  readonly lanes: readonly Lane[];
  readonly untilMs: EpochMs;
}

/** Resources that a rehearsal shares with its branches. */
export class Common {
  readonly visits: readonly Visit[];
  readonly hosts: CellHosts;
  readonly #spares: PrewarmedWorlds[] = [];
  /** Thread of all prewarmed worlds, so that they do not delay the worlds in use. */
  #spareHost: ThreadCells | undefined;
  #users = 1;

  constructor(visits: readonly Visit[], hosts: CellHosts) {
    this.visits = visits;
    this.hosts = hosts;
  }

  use(): this {
    this.#users++;
    return this;
  }

  /** Prewarmed worlds of `cell`, until the last rehearsal leaves; undefined if `count` is 0. */
  sparesOf(cell: Cell, count: number): PrewarmedWorlds | undefined {
    if (count === 0) return undefined;
    this.#spareHost ??= new ThreadCells();
    const host = this.#spareHost;
    const spares = new PrewarmedWorlds(cell, (...asked) => host.open(...asked), count);
    this.#spares.push(spares);
    return spares;
  }

  /** Resolves after all prewarmed worlds have reached their instants. */
  async ready(): Promise<void> {
    await Promise.all(this.#spares.map((spares) => spares.ready()));
  }

  async leave(): Promise<void> {
    this.#users--;
    if (this.#users > 0) return;
    await Promise.all(this.#spares.map((spares) => spares.close()));
    await Promise.all([this.hosts.close(), this.#spareHost?.close()]);
  }
}

/** Resolves to all `courses`; after a failure, the rehearsal leaves all new ones. @throws the first error */
export async function allOrNone(
  courses: readonly Promise<RunTimeline>[],
  isNew: (course: RunTimeline) => boolean = () => true,
): Promise<readonly RunTimeline[]> {
  const settled = await Promise.allSettled(courses);
  const done = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed === undefined) return done;
  await Promise.all(done.filter(isNew).map((course) => course.leave()));
  throw failed.reason;
}

/** Events of all lanes, in order. */
export function eventsOf(lanes: readonly Lane[]): Iterable<TraceEvent> {
  return inOrder(lanes.map(({ course, now }) => course.memory.events(now.events)));
}

export async function leaveAll(lanes: readonly Lane[]): Promise<void> {
  await Promise.all(lanes.map(({ course }) => course.leave()));
}
