// Time travel through a scenario on its recorded timelines, one for each cell. A cell runs again only after a change.
import type { Policy } from '../../machines/policy/policies.js';
import type { EpochMs } from '../../machines/values/time.js';
import { toInstant } from '../../src/wire/instants.js';
import { createTraceHash } from '../log/event-codec.js';
import { EventLog, type Mark } from '../log/event-log.js';
import type { TraceEvent } from '../log/trace-event.js';
import { type ConnectorName, type EventOf, type TraceState, TraceStateFold } from '../log/trace-state.js';
import { type Summary, SummaryFold } from '../report/summary.js';
import { type FaultEpisode, faultPlanOf } from '../scenario/fault-plan.js';
import type { FaultInput } from '../scenario/fault-schema.js';
import { type BranchInput, branched, parseBranch } from '../scenario/parse-scenario.js';
import type { Scenario } from '../scenario/scenario.js';
import { sessionsOf } from '../sessions/sessions-of.js';
import type { Visit } from '../sessions/visit.js';
import type { RestAnswer } from '../world/rest-client.js';
import { CellHosts, ThreadCells } from './cell-hosts.js';
import type { Deed } from './cell-run.js';
import { type Cell, cellsAround, cellsOf, Homes, hasMore } from './cells.js';
import { inOrder } from './merged-events.js';
import { PrewarmedWorlds } from './prewarmed-worlds.js';
import { Queue } from './queue.js';
import type { Rehearsal } from './rehearsal.js';
import { RunTimeline } from './run-timeline.js';

// The parts of rehearsals: one timeline for each cell, and the resources that several rehearsals share.

/** A timeline, and the position of a rehearsal in it. */
interface Lane {
  readonly timeline: RunTimeline;
  readonly now: Mark;
}

/** Lanes that ran apart until `untilMs`. Since then they run as one, because a step by hand concerned them together. */
interface Joined {
  readonly lanes: readonly Lane[];
  readonly untilMs: EpochMs;
}

/** Resources that a rehearsal shares with its branches. */
class Common {
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

/** Resolves to all `timelines`; after a failure, the rehearsal leaves all new ones. @throws the first error */
async function allOrNone(
  timelines: readonly Promise<RunTimeline>[],
  isNew: (timeline: RunTimeline) => boolean = () => true,
): Promise<readonly RunTimeline[]> {
  const settled = await Promise.allSettled(timelines);
  const done = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed === undefined) return done;
  await Promise.all(done.filter(isNew).map((timeline) => timeline.leave()));
  throw failed.reason;
}

/** Events of all lanes, in order. */
function eventsOf(lanes: readonly Lane[]): Iterable<TraceEvent> {
  return inOrder(lanes.map(({ timeline, now }) => timeline.memory.events(now.events)));
}

async function leaveAll(lanes: readonly Lane[]): Promise<void> {
  await Promise.all(lanes.map(({ timeline }) => timeline.leave()));
}

interface RehearseOptions {
  readonly workers?: number;
  readonly spares?: number;
  readonly policy?: Policy;
}

/**
 * Begins at the first instant of `scenario`.
 * @param options.workers number of threads that share the locations, 1 by default; the events are the same with any
 * number.
 * @param options.spares number of prewarmed worlds for each cell, 0 by default. A step after going back then runs at
 * most the time between two of these worlds again. They run on a thread of their own.
 * @param options.policy orders the declared cars of all locations in place of the policies in their file. It must be
 * a pure function, and runs in this thread.
 * @throws RangeError if a policy comes with other threads
 * @throws UnusableFileError if its sessions come from a file that cannot be used.
 */
export async function rehearse(
  scenario: Scenario,
  { workers = 1, spares = 0, policy }: RehearseOptions = {},
): Promise<Rehearsal> {
  if (policy !== undefined && (workers > 1 || spares > 0))
    throw new RangeError('a policy runs in this thread alone: leave workers and spares out');
  const ordered = policy === undefined ? scenario : { ...scenario, policy };
  const visits = sessionsOf(ordered, ordered.seed);
  const cells = cellsOf(ordered, visits);
  const common = new Common(visits, new CellHosts(cells.length, workers));
  const { hosts } = common;
  try {
    const timelines = await allOrNone(
      cells.map((cell, place) =>
        RunTimeline.begin(cell, { hosts, place, spares: common.sparesOf(cell, spares) }),
      ),
    );
    const lanes = timelines.map((timeline) => ({ timeline, now: timeline.end }));
    return new RecordedRehearsal(ordered, lanes, common);
  } catch (error) {
    await common.leave();
    throw error;
  }
}

class RecordedRehearsal implements Rehearsal {
  readonly #scenario: Scenario;
  readonly #homes: Homes;
  readonly #common: Common;
  readonly #queue = new Queue();
  /** In the order of the scenario's locations. */
  #lanes: readonly Lane[];
  /** In order of time. */
  readonly #joined: Joined[] = [];
  #isClosed = false;

  /** @param known the clusters that the original rehearsal of a branch knows. */
  constructor(scenario: Scenario, lanes: readonly Lane[], common: Common, known?: Homes) {
    this.#scenario = scenario;
    this.#homes = new Homes(scenario, known);
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
        this.#lanes.map(async ({ timeline }) => ({ timeline, now: await timeline.reach(instant) })),
      );
    });
  }

  advance(ms: number): Promise<void> {
    return this.travelTo(this.nowMs() + ms);
  }

  call(method: string, path: string, body?: unknown, tenantUuid?: string): Promise<RestAnswer> {
    return this.#inTurn(async () => {
      const concerned = this.#homes.ofCall(path, body, tenantUuid);
      await this.#join(concerned);
      const name = `hand${this.#nextDeed()}`;
      const deed: Deed = { kind: 'call', name, method, path, body, tenantUuid };
      const isAt = ({ locationIds }: Cell) => locationIds.has(concerned[0] ?? '');
      const answer = (await this.#do(deed, isAt)) ?? { status: 0, body: undefined };
      this.#homes.learn(answer.body);
      return answer;
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
      while (instant <= (this.#joined.at(-1)?.untilMs ?? Number.NEGATIVE_INFINITY)) await this.#part();
      this.#lanes = await Promise.all(
        this.#lanes.map(async (lane) => {
          const timeline = await lane.timeline.forgetting(instant);
          return { timeline, now: timeline.markOf(instant) };
        }),
      );
    });
  }

  branch(otherwise: BranchInput): Promise<Rehearsal> {
    return this.#inTurn(async () => {
      const added = parseBranch(JSON.stringify(otherwise), 'branch', this.#scenario, this.nowMs());
      const scenario = branched(this.#scenario, added);
      const { visits } = this.#common;
      const apart = this.#lanes.map(({ timeline }) => timeline.cell.locationIds);
      const branches: Lane[] = [];
      try {
        for (const cell of cellsAround(scenario, visits, apart)) branches.push(await this.#branchLane(cell));
      } catch (error) {
        await leaveAll(branches);
        throw error;
      }
      return new RecordedRehearsal(scenario, branches, this.#common.use(), this.#homes);
    });
  }

  ready(): Promise<void> {
    return this.#common.ready();
  }

  at(instant: EpochMs, connector?: ConnectorName): TraceState {
    this.#requireBeen(instant);
    const newest = this.#lanes.flatMap(({ timeline, now }) =>
      timeline.memory.stateAt(instant, now.events).newest(),
    );
    const state = new TraceStateFold();
    // All cells have calls and violations, of which the newest one counts; otherwise the states of two cells have
    // nothing in common.
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
    if (alone !== undefined && others.length === 0) return alone.timeline.memory.hash(alone.now.events);
    const hash = createTraceHash();
    for (const event of this.#events()) hash.add(event);
    return hash.digest();
  }

  close(): Promise<void> {
    return this.#queue.add(async () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      await leaveAll([...this.#lanes, ...this.#joined.flatMap(({ lanes }) => lanes)]);
      await this.#common.leave();
    });
  }

  async #do(deed: Deed, concerns: (cell: Cell) => boolean): Promise<RestAnswer | undefined> {
    const lanes = this.#lanes;
    const nth = this.#nextDeed();
    const timelines = await allOrNone(
      lanes.map(async ({ timeline, now }) => (concerns(timeline.cell) ? timeline.standingAt(now) : timeline)),
      (timeline) => lanes.every((lane) => lane.timeline !== timeline),
    );
    const done = await Promise.all(
      timelines.map(async (timeline, i) => {
        const now = lanes[i]?.now ?? timeline.end;
        if (!concerns(timeline.cell)) return { lane: { timeline, now }, answer: undefined };
        const answer = await timeline.do(deed, nth);
        return { lane: { timeline, now: timeline.end }, answer };
      }),
    );
    this.#lanes = done.map(({ lane }) => lane);
    await leaveAll(lanes.filter(({ timeline }, i) => timeline !== timelines[i]));
    return done.find(({ answer }) => answer !== undefined)?.answer;
  }

  /** Number of steps by hand so far. */
  #nextDeed(): number {
    const before = this.#lanes.flatMap(({ timeline }) => timeline.done.map(({ nth }) => nth));
    return 1 + Math.max(-1, ...before);
  }

  /** From now on these locations run in one world, with all locations of their cells. */
  async #join(locationIds: readonly string[]): Promise<void> {
    const apart = this.#lanes.map(({ timeline }) => timeline.cell.locationIds);
    const joined = this.#homes.joined(apart, [locationIds]);
    if (joined.length === apart.length) return;
    for (const cell of cellsAround(this.#scenario, this.#common.visits, joined)) {
      const lanes = this.#lanesIn(cell);
      if (lanes.length === 1) continue;
      const together = await this.#together(lanes, cell);
      this.#joined.push({ lanes, untilMs: this.nowMs() });
      this.#lanes = this.#lanes.flatMap((lane) =>
        lane === lanes[0] ? [together] : lanes.includes(lane) ? [] : [lane],
      );
      await Promise.all(lanes.map(({ timeline }) => timeline.rest()));
    }
  }

  /** Separates the lanes that were joined last. */
  async #part(): Promise<void> {
    const { lanes = [] } = this.#joined.pop() ?? {};
    const [first = ''] = lanes[0]?.timeline.cell.locationIds ?? [];
    const together = this.#lanes.filter(({ timeline }) => timeline.cell.locationIds.has(first));
    const all = [...this.#lanes.filter((lane) => !together.includes(lane)), ...lanes];
    const order = this.#homes.joined(
      all.map(({ timeline }) => timeline.cell.locationIds),
      [],
    );
    this.#lanes = order.flatMap(([id = '']) =>
      all.filter(({ timeline }) => timeline.cell.locationIds.has(id)),
    );
    await leaveAll(together);
  }

  #lanesIn({ locationIds }: Cell): readonly Lane[] {
    return this.#lanes.filter(({ timeline }) =>
      [...timeline.cell.locationIds].some((id) => locationIds.has(id)),
    );
  }

  /** The lane of a branch for `cell`. */
  async #branchLane(cell: Cell): Promise<Lane> {
    const lanes = this.#lanesIn(cell);
    const [lane] = lanes;
    if (lane === undefined || lanes.length > 1) return this.#together(lanes, cell);
    const { timeline, now } = lane;
    return { timeline: hasMore(cell, timeline.cell) ? timeline.branched(cell, now) : timeline.follow(), now };
  }

  /** Combines the past of `lanes` into one world, which runs `cell`. */
  async #together(lanes: readonly Lane[], cell: Cell): Promise<Lane> {
    const memory = new EventLog();
    for (const event of eventsOf(lanes)) memory.add(event);
    const end = { atMs: this.nowMs(), events: memory.count };
    const byNumber = new Map(lanes.flatMap(({ timeline }) => timeline.done.map((done) => [done.nth, done])));
    const done = [...byNumber.values()].sort((a, b) => a.nth - b.nth);
    const at = lanes[0]?.timeline.at ?? { hosts: this.#common.hosts, place: 0 };
    const timeline = new RunTimeline(cell, at, { memory, end, done });
    await timeline.standingAt(end);
    return { timeline, now: timeline.end };
  }

  /** All events until now, in order. */
  #events(): Iterable<TraceEvent> {
    return eventsOf(this.#lanes);
  }

  #requireBeen(instant: EpochMs): void {
    const nowMs = this.nowMs();
    if (instant >= this.startsAtMs && instant <= nowMs) return;
    throw new RangeError(
      `${toInstant(instant)} is outside the run so far: it is ${toInstant(nowMs)}, and the run began at ${toInstant(this.startsAtMs)}`,
    );
  }

  /** Runs the requests to a rehearsal one after another. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    return this.#queue.add(() => {
      if (this.#isClosed) throw new Error('this rehearsal is closed; its past can still be read');
      return task();
    });
  }
}

function rankOf({ kind, atMs }: TraceEvent): number {
  return kind === 'action' || kind === 'violation' ? atMs : 0;
}
