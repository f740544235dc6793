// What rehearsals are made of: courses that are followed side by side, one of each cell, and what several rehearsals share.
import type { EpochMs } from '../../machines/values/time.js';
import type { Visit } from '../sessions/visit.js';
import type { TraceEvent } from '../trace/trace-event.js';
import { type CellHosts, ThreadCells } from './cell-hosts.js';
import type { Cell } from './cells.js';
import type { Course } from './course.js';
import type { Mark } from './event-memory.js';
import { inOrder } from './merged-events.js';
import { Spares } from './spares.js';

/** A course that is followed, and how far. */
export interface Lane {
  readonly course: Course;
  readonly now: Mark;
}

/** Lanes that run as one since something was done by hand that concerns them together, and until when they ran apart. */
export interface Joined {
  readonly lanes: readonly Lane[];
  readonly untilMs: EpochMs;
}

/** What rehearsals that branched off one another have in common. */
export class Common {
  readonly visits: readonly Visit[];
  readonly hosts: CellHosts;
  readonly #spares: Spares[] = [];
  /** Of all spare worlds: what runs is not held up by them. */
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

  /** Of `cell`, as long as anybody uses this; undefined where `count` is 0. */
  sparesOf(cell: Cell, count: number): Spares | undefined {
    if (count === 0) return undefined;
    this.#spareHost ??= new ThreadCells();
    const host = this.#spareHost;
    const spares = new Spares(cell, (...asked) => host.open(...asked), count);
    this.#spares.push(spares);
    return spares;
  }

  /** Until all spare worlds wait where they are to. */
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

/** All `courses`, or none of them. @throws what the first that failed threw */
export async function allOrNone(
  courses: readonly Promise<Course>[],
  isNew: (course: Course) => boolean = () => true,
): Promise<readonly Course[]> {
  const settled = await Promise.allSettled(courses);
  const done = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed === undefined) return done;
  await Promise.all(done.filter(isNew).map((course) => course.leave()));
  throw failed.reason;
}

/** What happened in all of them, in order. */
export function eventsOf(lanes: readonly Lane[]): Iterable<TraceEvent> {
  return inOrder(lanes.map(({ course, now }) => course.memory.events(now.events)));
}

export async function leaveAll(lanes: readonly Lane[]): Promise<void> {
  await Promise.all(lanes.map(({ course }) => course.leave()));
}
