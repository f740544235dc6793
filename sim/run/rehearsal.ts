// Time travel through a scenario: on to any instant, back to any that has been, and a look at what was.
import type { EpochMs } from '../../machines/values/time.js';
import { toInstant } from '../../src/wire/rest.js';
import { faultPlanOf } from '../scenario/fault-plan.js';
import type { Scenario } from '../scenario/scenario.js';
import { sessionsOf } from '../sessions/sessions-of.js';
import type { TraceEvent } from '../trace/trace-event.js';
import type { ConnectorName, TraceState } from '../trace/trace-state.js';
import type { RestAnswer } from '../world/rest-client.js';
import { createWorld, type World, type WorldOptions } from '../world/world.js';
import { createActionCaller } from './action-caller.js';
import { EventMemory, firstDifference } from './event-memory.js';
import { playFaults } from './fault-player.js';
import { CALL_AGAIN_MS, createScenarioWorld } from './run-scenario.js';
import { createStops } from './stops.js';

/** What somebody does to a world by hand, now. */
export type Deed = (world: World) => unknown;

export interface Rehearsal {
  /** As it is now; a rewind puts another in its place, so keep none. */
  readonly world: World;
  nowMs(): EpochMs;
  /** Lets time pass until `instant`; the scenario's calls and faults happen on the way. @throws RangeError back in time */
  travelTo(instant: EpochMs): Promise<void>;
  advance(ms: number): Promise<void>;
  /** A request of the tenant, now; `path` begins after `/v1`. */
  call(method: string, path: string, body?: unknown, tenantUuid?: string): Promise<RestAnswer>;
  /** Anything else done by hand, now: a charger restarted, a wire cut. It is done again after a rewind. */
  inflict(deed: Deed): Promise<void>;
  /**
   * Goes back to `instant`, as it was on arriving there: a new world of the same seed is run up to it, and what was done by
   * hand before it is done again; what was done from then on is forgotten.
   * @throws Error where that past is another than the one that was recorded.
   */
  rewindTo(instant: EpochMs): Promise<void>;
  /** What was recorded of `instant`, everything that happened at it included. @throws RangeError where it has not been */
  at(instant: EpochMs, connector?: ConnectorName): TraceState;
  /** SHA-256 of all that happened so far. */
  hash(): string;
  close(): Promise<void>;
}

/** A world that is taken through its scenario. */
interface Play {
  readonly world: World;
  readonly past: EventMemory;
  travelTo(instant: EpochMs): Promise<void>;
}

interface DoneByHand {
  readonly atMs: EpochMs;
  readonly deed: Deed;
}

/** Begins at the first instant of a scenario, or of a world without one. */
export async function rehearse(subject: Scenario | WorldOptions): Promise<Rehearsal> {
  const startsAtMs = 'startsAtMs' in subject ? subject.startsAtMs : subject.startMs;
  let play = await openPlay(subject);
  let done: readonly DoneByHand[] = [];

  async function inflict(deed: Deed): Promise<void> {
    done = [...done, { atMs: play.world.nowMs(), deed }];
    await deed(play.world);
  }

  /** Again to `instant`, with what was done by hand before it. */
  async function playAgain(instant: EpochMs, earlier: readonly DoneByHand[]): Promise<Play> {
    const again = await openPlay(subject);
    try {
      for (const { atMs, deed } of earlier) {
        await again.travelTo(atMs);
        await deed(again.world);
      }
      await again.travelTo(instant);
      return again;
    } catch (error) {
      await again.world.close();
      throw error;
    }
  }

  const rehearsal: Rehearsal = {
    get world() {
      return play.world;
    },
    nowMs: () => play.world.nowMs(),
    travelTo: (instant) => play.travelTo(instant),
    advance: (ms) => play.travelTo(play.world.nowMs() + ms),
    async call(method, path, body, tenantUuid) {
      let answer: RestAnswer = { status: 0, body: undefined };
      await inflict(async (world) => {
        answer = await world.call(method, path, body, tenantUuid);
      });
      return answer;
    },
    inflict,
    async rewindTo(instant) {
      requireBetween(instant, startsAtMs, play.world.nowMs());
      const earlier = done.filter(({ atMs }) => atMs < instant);
      const again = await playAgain(instant, earlier);
      const differsAtMs = firstDifference(play.past, again.past, instant);
      if (differsAtMs !== undefined) {
        await again.world.close();
        throw new Error(`The past cannot be entered again: it differs at ${toInstant(differsAtMs)}`);
      }
      await play.world.close();
      play = again;
      done = earlier;
    },
    at(instant, connector) {
      requireBetween(instant, startsAtMs, play.world.nowMs());
      return play.past.at(instant, connector);
    },
    hash: () => play.past.hash(),
    close: () => play.world.close(),
  };
  return rehearsal;
}

function requireBetween(instant: EpochMs, startsAtMs: EpochMs, nowMs: EpochMs): void {
  if (instant >= startsAtMs && instant <= nowMs) return;
  throw new RangeError(
    `${toInstant(instant)} has not been: it is ${toInstant(nowMs)}, and the beginning was ${toInstant(startsAtMs)}`,
  );
}

async function openPlay(subject: Scenario | WorldOptions): Promise<Play> {
  const past = new EventMemory();
  if ('startsAtMs' in subject) return openScenario(subject, past);
  const world = await createWorld({
    ...subject,
    onEvent(event) {
      past.add(event);
      subject.onEvent?.(event);
    },
  });
  return { world, past, travelTo: (instant) => travel(world, instant) };
}

async function openScenario(scenario: Scenario, past: EventMemory): Promise<Play> {
  const visits = sessionsOf(scenario, scenario.seed);
  const world = await createScenarioWorld(scenario, visits, (event: TraceEvent) => past.add(event));
  playFaults(world, faultPlanOf(scenario, scenario.seed), scenario.startsAtMs);
  const caller = createActionCaller(world);
  const stops = createStops(scenario, []);
  let next = stops.next();
  return {
    world,
    past,
    async travelTo(instant) {
      for (; next !== undefined && next.atMs <= instant; next = stops.next()) {
        await travel(world, next.atMs);
        for (const action of next.actions)
          if (!(await caller.make(action))) stops.repeat(action, next.atMs + CALL_AGAIN_MS);
      }
      await travel(world, instant);
    },
  };
}

async function travel(world: World, instant: EpochMs): Promise<void> {
  if (instant < world.nowMs()) throw new RangeError(`${toInstant(instant)} has passed: rewindTo goes back`);
  if (instant > world.nowMs()) await world.travelTo(instant);
}
