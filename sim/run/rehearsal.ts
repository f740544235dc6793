// Time travel through a scenario: on to any instant, back to any that has been, and a look at what was.
import type { EpochMs } from '../../machines/values/time.js';
import { toInstant } from '../../src/wire/instants.js';
import { type Summary, SummaryFold } from '../report/summary.js';
import { faultPlanOf } from '../scenario/fault-plan.js';
import type { FaultInput } from '../scenario/fault-schema.js';
import { type BranchInput, branched, parseBranch } from '../scenario/parse-branch.js';
import type { Scenario } from '../scenario/scenario.js';
import type { ConnectorName, EventOf, TraceState } from '../trace/trace-state.js';
import type { RestAnswer } from '../world/rest-client.js';
import { type EventMemory, firstDifference, type Mark } from './event-memory.js';
import { Play } from './play.js';

/**
 * A scenario on its way through time. Going back and branching cost next to nothing: what was recorded is read, and lived
 * through again as it was recorded, until something is done otherwise. Only then is a world of the same seed run up to that
 * instant again, what was done by hand before it is done again, and every event is held against the recording.
 */
export interface Rehearsal {
  /** The first instant of the scenario, and the last that it plans for: epoch ms, as all instants here. */
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  nowMs(): EpochMs;
  /** Lets time pass until `instant`; the scenario's calls and faults happen on the way. @throws RangeError back in time */
  travelTo(instant: EpochMs): Promise<void>;
  /** Lets `ms` pass. */
  advance(ms: number): Promise<void>;
  /**
   * A request of a tenant to the service, now. `path` begins after `/v1`; `tenantUuid` is the first of the scenario where it
   * is left out. The answer has status 0 while the service is down.
   * @throws Error where what was recorded before does not come again, as everything does that acts on a past entered again.
   */
  call(method: string, path: string, body?: unknown, tenantUuid?: string): Promise<RestAnswer>;
  /**
   * A fault, from now on, as a scenario writes it: `{ kind: 'serviceCrash', for: '5s' }`. Offsets such as `until: '+10m'` count
   * from now.
   * @throws UnusableFileError with what is wrong with it.
   */
  inflict(fault: FaultInput): Promise<void>;
  /**
   * Goes back to `instant`, as it was on arriving there. What was done by hand from then on is forgotten.
   * @throws RangeError where it has not been.
   */
  rewindTo(instant: EpochMs): Promise<void>;
  /**
   * Another future from now on, with these calls and faults besides those of the scenario, as a scenario writes them. It is a
   * rehearsal of its own, to be closed by itself; this one stays as it is.
   * @throws UnusableFileError with everything that is wrong with them.
   */
  branch(otherwise: BranchInput): Promise<Rehearsal>;
  /** What was recorded of `instant`, everything that happened at it included. @throws RangeError where it has not been */
  at(instant: EpochMs, connector?: ConnectorName): TraceState;
  /** What must never happen, and did, in the order of time. */
  violations(): readonly EventOf<'violation'>[];
  /** Energy, limits and starts from the beginning until now, per location and connector. */
  summary(): Summary;
  /** SHA-256 in hex of all that happened until now. */
  hash(): string;
  close(): Promise<void>;
}

/** What somebody did by hand: done again where that past is entered again. */
interface DoneByHand {
  readonly at: Mark;
  readonly deed: (play: Play) => unknown;
}

/** A past that a rehearsal was not there for: of the one it branched off. */
interface Past {
  readonly memory: EventMemory;
  readonly now: Mark;
  readonly done: readonly DoneByHand[];
}

/** Begins at the first instant of `scenario`. @throws UnusableFileError where its sessions come from a file that cannot be used. */
export async function rehearse(scenario: Scenario): Promise<Rehearsal> {
  const play = await Play.open(scenario);
  const now = { atMs: play.nowMs, events: play.past.count };
  return new RecordedRehearsal(scenario, { memory: play.past, now, done: [] }, play);
}

class RecordedRehearsal implements Rehearsal {
  readonly #scenario: Scenario;
  /** Where the recording ends; undefined where there is no such world, or one in which too much was done. */
  #play: Play | undefined;
  #memory: EventMemory;
  /** Until there, what is in memory is of this rehearsal. */
  #end: Mark;
  #now: Mark;
  #done: readonly DoneByHand[];
  /** Where time stood still, how much had happened: not all of that instant need have. */
  readonly #arrivals = new Map<EpochMs, number>();

  constructor(scenario: Scenario, { memory, now, done }: Past, play?: Play) {
    this.#scenario = scenario;
    this.#play = play;
    this.#memory = memory;
    this.#now = now;
    this.#end = now;
    this.#done = done;
  }

  get startsAtMs(): EpochMs {
    return this.#scenario.startsAtMs;
  }

  get endsAtMs(): EpochMs {
    return this.#scenario.endsAtMs;
  }

  nowMs(): EpochMs {
    return this.#now.atMs;
  }

  async travelTo(instant: EpochMs): Promise<void> {
    if (instant < this.#now.atMs)
      throw new RangeError(`${toInstant(instant)} has passed: rewindTo goes back`);
    if (instant <= this.#end.atMs) {
      this.#now = this.#markOf(instant);
      return;
    }
    const play = await this.#playAt(this.#end);
    await play.travelTo(instant);
    this.#arrived(play);
  }

  advance(ms: number): Promise<void> {
    return this.travelTo(this.#now.atMs + ms);
  }

  async call(method: string, path: string, body?: unknown, tenantUuid?: string): Promise<RestAnswer> {
    let answer: RestAnswer = { status: 0, body: undefined };
    await this.#do(async (play) => {
      answer = await play.call(method, path, body, tenantUuid);
    });
    return answer;
  }

  async inflict(fault: FaultInput): Promise<void> {
    const { faults } = parseBranch(
      JSON.stringify({ faults: [fault] }),
      'inflict',
      this.#scenario,
      this.nowMs(),
    );
    const plan = faultPlanOf({ faults }, this.#scenario.seed);
    await this.#do((play) => play.inflict(plan));
  }

  async rewindTo(instant: EpochMs): Promise<void> {
    this.#requireBeen(instant);
    const forgotten = this.#done.find(({ at }) => at.atMs >= instant);
    if (forgotten !== undefined) {
      this.#end = forgotten.at;
      this.#done = this.#done.filter(({ at }) => at.atMs < instant);
      for (const atMs of this.#arrivals.keys()) if (atMs >= this.#end.atMs) this.#arrivals.delete(atMs);
      await this.#play?.close();
      this.#play = undefined;
    }
    this.#now = this.#markOf(instant);
  }

  async branch(otherwise: BranchInput): Promise<Rehearsal> {
    const added = parseBranch(JSON.stringify(otherwise), 'branch', this.#scenario, this.nowMs());
    const past = { memory: this.#memory, now: this.#now, done: this.#done };
    return new RecordedRehearsal(branched(this.#scenario, added), past);
  }

  at(instant: EpochMs, connector?: ConnectorName): TraceState {
    this.#requireBeen(instant);
    return this.#memory.at(instant, connector, this.#now.events);
  }

  violations(): readonly EventOf<'violation'>[] {
    return [...this.#memory.events(this.#now.events)].filter((event) => event.kind === 'violation');
  }

  summary(): Summary {
    const summary = new SummaryFold(this.startsAtMs);
    for (const event of this.#memory.events(this.#now.events)) summary.add(event);
    return summary.finish(this.#now.atMs);
  }

  hash(): string {
    return this.#memory.hash(this.#now.events);
  }

  async close(): Promise<void> {
    await this.#play?.close();
    this.#play = undefined;
  }

  async #do(deed: (play: Play) => unknown): Promise<void> {
    const play = await this.#playAt(this.#now);
    this.#done = [...this.#done, { at: this.#now, deed }];
    await deed(play);
    this.#arrived(play);
  }

  /** A world that has come there, and no further. */
  async #playAt({ atMs, events }: Mark): Promise<Play> {
    const held = this.#play;
    if (held !== undefined && atMs === held.nowMs && events === held.past.count) return held;
    const play = await this.#playAgain(atMs);
    await held?.close();
    this.#play = play;
    this.#memory = play.past;
    this.#arrived(play);
    return play;
  }

  /** From the first instant to `instant`, with what was done by hand. */
  async #playAgain(instant: EpochMs): Promise<Play> {
    const play = await Play.open(this.#scenario);
    try {
      for (const { at, deed } of this.#done) {
        await play.travelTo(at.atMs);
        await deed(play);
      }
      await play.travelTo(instant);
      const differsAtMs = firstDifference(this.#memory, play.past, instant);
      if (differsAtMs === undefined) return play;
      throw new Error(`The past cannot be entered again: it differs at ${toInstant(differsAtMs)}`);
    } catch (error) {
      await play.close();
      throw error;
    }
  }

  #arrived({ nowMs, past }: Play): void {
    this.#now = { atMs: nowMs, events: past.count };
    this.#end = this.#now;
    this.#arrivals.set(nowMs, past.count);
  }

  #markOf(instant: EpochMs): Mark {
    const events = this.#arrivals.get(instant) ?? this.#memory.countBefore(instant + 1);
    return { atMs: instant, events: Math.min(events, this.#end.events) };
  }

  #requireBeen(instant: EpochMs): void {
    if (instant >= this.startsAtMs && instant <= this.#now.atMs) return;
    throw new RangeError(
      `${toInstant(instant)} has not been: it is ${toInstant(this.#now.atMs)}, and the beginning was ${toInstant(this.startsAtMs)}`,
    );
  }
}
