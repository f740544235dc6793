// Time travel through a scenario by its recorded courses, one of each cell, run again only where something is done otherwise.
import type { EpochMs } from '../../machines/values/time.js';
import { toInstant } from '../../src/wire/instants.js';
import { type Summary, SummaryFold } from '../report/summary.js';
import { type FaultEpisode, faultPlanOf } from '../scenario/fault-plan.js';
import type { FaultInput } from '../scenario/fault-schema.js';
import { type BranchInput, branched, parseBranch } from '../scenario/parse-branch.js';
import type { Scenario } from '../scenario/scenario.js';
import { sessionsOf } from '../sessions/sessions-of.js';
import type { Visit } from '../sessions/visit.js';
import type { TraceEvent } from '../trace/trace-event.js';
import { createTraceHash } from '../trace/trace-hash.js';
import { type ConnectorName, type EventOf, type TraceState, TraceStateFold } from '../trace/trace-state.js';
import type { RestAnswer } from '../world/rest-client.js';
import { CellHosts } from './cell-hosts.js';
import type { Deed } from './cell-run.js';
import { type Cell, cellsOf, Homes, hasMore, undivided } from './cells.js';
import { Course } from './course.js';
import { EventMemory, type Mark } from './event-memory.js';
import { inOrder } from './merged-events.js';
import { Queue } from './queue.js';
import type { Rehearsal } from './rehearsal.js';

/** A course that is followed, and how far. */
interface Lane {
  readonly course: Course;
  readonly now: Mark;
}

/** What rehearsals that branched off one another have in common. */
class Common {
  readonly visits: readonly Visit[];
  readonly hosts: CellHosts;
  #users = 1;

  constructor(visits: readonly Visit[], hosts: CellHosts) {
    this.visits = visits;
    this.hosts = hosts;
  }

  use(): this {
    this.#users++;
    return this;
  }

  async leave(): Promise<void> {
    this.#users--;
    if (this.#users === 0) await this.hosts.close();
  }
}

/**
 * Begins at the first instant of `scenario`.
 * @param options.workers how many threads share its locations, 1 unless told otherwise; the same course of events with any number.
 * @throws UnusableFileError where its sessions come from a file that cannot be used.
 */
export async function rehearse(
  scenario: Scenario,
  { workers = 1 }: { readonly workers?: number } = {},
): Promise<Rehearsal> {
  const visits = sessionsOf(scenario, scenario.seed);
  const cells = cellsOf(scenario, visits);
  const common = new Common(visits, new CellHosts(cells.length, workers));
  const { hosts } = common;
  try {
    const courses = await allOrNone(cells.map((cell, place) => Course.begin(cell, { hosts, place })));
    const lanes = courses.map((course) => ({ course, now: course.end }));
    return new RecordedRehearsal(scenario, lanes, common);
  } catch (error) {
    await common.leave();
    throw error;
  }
}

/** All `courses`, or none of them. @throws what the first that failed threw */
async function allOrNone(
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

class RecordedRehearsal implements Rehearsal {
  readonly #scenario: Scenario;
  readonly #homes: Homes;
  readonly #common: Common;
  readonly #queue = new Queue();
  /** In the order of the scenario's locations. */
  #lanes: readonly Lane[];
  /** Its locations before something was done by hand that concerns several. */
  #apart: { readonly lanes: readonly Lane[]; readonly untilMs: EpochMs } | undefined;
  #isClosed = false;

  constructor(scenario: Scenario, lanes: readonly Lane[], common: Common) {
    this.#scenario = scenario;
    this.#homes = new Homes(scenario);
    this.#lanes = lanes;
    this.#common = common;
  }

  get startsAtMs(): EpochMs {
    return this.#scenario.startsAtMs;
  }

  get endsAtMs(): EpochMs {
    return this.#scenario.endsAtMs;
  }

  nowMs(): EpochMs {
    return this.#lanes[0]?.now.atMs ?? this.startsAtMs;
  }

  travelTo(instant: EpochMs): Promise<void> {
    return this.#inTurn(async () => {
      if (instant < this.nowMs())
        throw new RangeError(`${toInstant(instant)} has passed: rewindTo goes back`);
      this.#lanes = await Promise.all(
        this.#lanes.map(async ({ course }) => ({ course, now: await course.reach(instant) })),
      );
    });
  }

  advance(ms: number): Promise<void> {
    return this.travelTo(this.nowMs() + ms);
  }

  call(method: string, path: string, body?: unknown, tenantUuid?: string): Promise<RestAnswer> {
    return this.#inTurn(async () => {
      const home = this.#homes.ofPath(path);
      if (home === undefined) await this.#couple();
      const deed: Deed = { kind: 'call', method, path, body, tenantUuid };
      const isAt = ({ locationIds }: Cell) => home === undefined || locationIds.has(home);
      return (await this.#do(deed, isAt)) ?? { status: 0, body: undefined };
    });
  }

  inflict(fault: FaultInput): Promise<void> {
    return this.#inTurn(async () => {
      const text = JSON.stringify({ faults: [fault] });
      const { faults } = parseBranch(text, 'inflict', this.#scenario, this.nowMs());
      const plan = faultPlanOf({ faults }, this.#scenario.seed);
      const isOf =
        ({ locationIds }: Cell) =>
        ({ charger }: FaultEpisode) =>
          charger === undefined || locationIds.has(charger.locationId);
      await this.#do({ kind: 'faults', plan }, (cell) => plan.some(isOf(cell)));
    });
  }

  rewindTo(instant: EpochMs): Promise<void> {
    return this.#inTurn(async () => {
      this.#requireBeen(instant);
      if (this.#apart !== undefined && instant <= this.#apart.untilMs) {
        await leaveAll(this.#lanes);
        this.#lanes = this.#apart.lanes;
        this.#apart = undefined;
      }
      this.#lanes = await Promise.all(
        this.#lanes.map(async (lane) => {
          const course = await lane.course.forgetting(instant);
          return { course, now: course.markOf(instant) };
        }),
      );
    });
  }

  branch(otherwise: BranchInput): Promise<Rehearsal> {
    return this.#inTurn(async () => {
      const added = parseBranch(JSON.stringify(otherwise), 'branch', this.#scenario, this.nowMs());
      const scenario = branched(this.#scenario, added);
      const { visits } = this.#common;
      const [all, lanes] = [undivided(scenario, visits), this.#lanes];
      const cells = lanes.length === 1 ? [all] : cellsOf(scenario, visits);
      if (cells.length < lanes.length)
        return new RecordedRehearsal(scenario, [await this.#coupled(all)], this.#common.use());
      const branches = lanes.map(({ course, now }, place) => {
        const cell = cells[place] ?? course.cell;
        return { course: hasMore(cell, course.cell) ? course.branched(cell, now) : course.follow(), now };
      });
      return new RecordedRehearsal(scenario, branches, this.#common.use());
    });
  }

  at(instant: EpochMs, connector?: ConnectorName): TraceState {
    this.#requireBeen(instant);
    const newest = this.#lanes.flatMap(({ course, now }) => course.memory.newestAt(instant, now.events));
    const state = new TraceStateFold();
    // Of calls and violations the newest of all cells counts; the rest of their states has nothing in common.
    for (const event of newest.sort((a, b) => rankOf(a) - rankOf(b))) state.apply(event);
    return state.at(instant, connector);
  }

  violations(): readonly EventOf<'violation'>[] {
    return [...this.#events()].filter((event) => event.kind === 'violation');
  }

  summary(): Summary {
    const summary = new SummaryFold(this.startsAtMs);
    for (const event of this.#events()) summary.add(event);
    return summary.finish(this.nowMs());
  }

  hash(): string {
    const [alone, ...others] = this.#lanes;
    if (alone !== undefined && others.length === 0) return alone.course.memory.hash(alone.now.events);
    const hash = createTraceHash();
    for (const event of this.#events()) hash.add(event);
    return hash.digest();
  }

  close(): Promise<void> {
    return this.#queue.add(async () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      await leaveAll([...this.#lanes, ...(this.#apart?.lanes ?? [])]);
      await this.#common.leave();
    });
  }

  async #do(deed: Deed, concerns: (cell: Cell) => boolean): Promise<RestAnswer | undefined> {
    const lanes = this.#lanes;
    const nth = 1 + Math.max(-1, ...lanes.flatMap(({ course }) => course.done.map((done) => done.nth)));
    const courses = await allOrNone(
      lanes.map(async ({ course, now }) => (concerns(course.cell) ? course.standingAt(now) : course)),
      (course) => lanes.every((lane) => lane.course !== course),
    );
    const done = await Promise.all(
      courses.map(async (course, i) => {
        const now = lanes[i]?.now ?? course.end;
        if (!concerns(course.cell)) return { lane: { course, now }, answer: undefined };
        const answer = await course.do(deed, nth);
        return { lane: { course, now: course.end }, answer };
      }),
    );
    this.#lanes = done.map(({ lane }) => lane);
    await leaveAll(lanes.filter(({ course }, i) => course !== courses[i]));
    return done.find(({ answer }) => answer !== undefined)?.answer;
  }

  /** From now on its locations run in one world. */
  async #couple(): Promise<void> {
    const lanes = this.#lanes;
    if (lanes.length === 1) return;
    this.#lanes = [await this.#coupled(undivided(this.#scenario, this.#common.visits))];
    this.#apart = { lanes, untilMs: this.nowMs() };
    await Promise.all(lanes.map(({ course }) => course.rest()));
  }

  /** Its past in one world, which runs `cell`. */
  async #coupled(cell: Cell): Promise<Lane> {
    const memory = new EventMemory();
    for (const event of this.#events()) memory.add(event);
    const end = { atMs: this.nowMs(), events: memory.count };
    const byNumber = new Map(
      this.#lanes.flatMap(({ course }) => course.done.map((done) => [done.nth, done])),
    );
    const done = [...byNumber.values()].sort((a, b) => a.nth - b.nth);
    const course = new Course(cell, { hosts: this.#common.hosts, place: 0 }, { memory, end, done });
    await course.standingAt(end);
    return { course, now: course.end };
  }

  /** Until now, in order. */
  #events(): Iterable<TraceEvent> {
    return inOrder(this.#lanes.map(({ course, now }) => course.memory.events(now.events)));
  }

  #requireBeen(instant: EpochMs): void {
    const nowMs = this.nowMs();
    if (instant >= this.startsAtMs && instant <= nowMs) return;
    throw new RangeError(
      `${toInstant(instant)} has not been: it is ${toInstant(nowMs)}, and the beginning was ${toInstant(this.startsAtMs)}`,
    );
  }

  /** What is asked of it is done one after another. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    return this.#queue.add(() => {
      if (this.#isClosed) throw new Error('this rehearsal is closed; what has been can still be read');
      return task();
    });
  }
}

function rankOf({ kind, atMs }: TraceEvent): number {
  return kind === 'action' || kind === 'violation' ? atMs : 0;
}

async function leaveAll(lanes: readonly Lane[]): Promise<void> {
  await Promise.all(lanes.map(({ course }) => course.leave()));
}
