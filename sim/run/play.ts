// A world that is taken through its scenario, with all that happened in it.
import type { EpochMs } from '../../machines/values/time.js';
import { toInstant } from '../../src/wire/instants.js';
import { type FaultEpisode, faultPlanOf } from '../scenario/fault-plan.js';
import type { Scenario } from '../scenario/scenario.js';
import { sessionsOf } from '../sessions/sessions-of.js';
import type { RestAnswer } from '../world/rest-client.js';
import type { World } from '../world/world.js';
import { type ActionCaller, createActionCaller } from './action-caller.js';
import { EventMemory } from './event-memory.js';
import type { Failure } from './expectation-judge.js';
import { FaultPlayer } from './fault-player.js';
import { createScenarioWorld } from './scenario-world.js';
import { CALL_AGAIN_MS, createStops, type Stop, type Stops } from './stops.js';

export class Play {
  readonly past: EventMemory;
  readonly #world: World;
  readonly #faults: FaultPlayer;
  readonly #caller: ActionCaller;
  readonly #stops: Stops;
  #next: Stop | undefined;

  /** At the first instant of `scenario`. @throws UnusableFileError where its sessions come from a file that cannot be used. */
  static async open(scenario: Scenario): Promise<Play> {
    const past = new EventMemory();
    const visits = sessionsOf(scenario, scenario.seed);
    const world = await createScenarioWorld(scenario, visits, (event) => past.add(event));
    return new Play(scenario, world, past);
  }

  private constructor(scenario: Scenario, world: World, past: EventMemory) {
    this.past = past;
    this.#world = world;
    this.#faults = new FaultPlayer(world);
    this.#faults.play(faultPlanOf(scenario, scenario.seed));
    this.#caller = createActionCaller(world);
    this.#stops = createStops(scenario, []);
    this.#next = this.#stops.next();
  }

  get nowMs(): EpochMs {
    return this.#world.nowMs();
  }

  /** What has to happen in the world yet, by number. */
  get waiting(): number {
    return this.#world.agenda.length;
  }

  /** Calls of the scenario that were not answered as it says. */
  get failures(): readonly Failure[] {
    return this.#caller.failures;
  }

  /** Lets time pass until `instant`; the scenario's calls and faults happen on the way. @throws RangeError back in time */
  async travelTo(instant: EpochMs): Promise<void> {
    for (; this.#next !== undefined && this.#next.atMs <= instant; this.#next = this.#stops.next()) {
      const { atMs, actions } = this.#next;
      await this.#travel(atMs);
      for (const action of actions)
        if (!(await this.#caller.make(action))) this.#stops.repeat(action, atMs + CALL_AGAIN_MS);
    }
    await this.#travel(instant);
  }

  call(method: string, path: string, body?: unknown, tenantUuid?: string): Promise<RestAnswer> {
    return this.#world.call(method, path, body, tenantUuid);
  }

  /** From now on, besides what the scenario says. */
  inflict(episodes: readonly FaultEpisode[]): void {
    this.#faults.play(episodes);
  }

  close(): Promise<void> {
    return this.#world.close();
  }

  async #travel(instant: EpochMs): Promise<void> {
    if (instant < this.nowMs) throw new RangeError(`${toInstant(instant)} has passed: rewindTo goes back`);
    if (instant > this.nowMs) await this.#world.travelTo(instant);
  }
}
