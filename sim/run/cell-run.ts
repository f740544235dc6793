// One cell of a scenario on its way: its world with its faults, calls and questions, as far as it was asked to go.
import type { EpochMs } from '../../machines/values/time.js';
import type { BilledPeak } from '../checks/billed-watch.js';
import type { ImportOver } from '../checks/import-watch.js';
import { faultPlanOf } from '../scenario/fault-plan.js';
import type { Scenario } from '../scenario/scenario.js';
import type { TraceEvent } from '../trace/trace-event.js';
import type { FuseLoad } from '../world/fuse-watch.js';
import type { Violation } from '../world/power-watch.js';
import type { World } from '../world/world.js';
import { type ActionCaller, createActionCaller } from './action-caller.js';
import type { Cell } from './cells.js';
import { ExpectationJudge, type Failure, isAsked, type LimitsOf } from './expectation-judge.js';
import { FaultPlayer } from './fault-player.js';
import { boundariesOf, createScenarioWorld } from './scenario-world.js';
import { CALL_AGAIN_MS, createStops, type Stop, type Stops } from './stops.js';

/** What happened since it was asked last, in order. */
export interface CellNews {
  readonly events: readonly TraceEvent[];
  /** So far. */
  readonly violations: number;
}

export interface CellEnd {
  readonly violations: readonly Violation[];
  /** Of calls and questions. */
  readonly failures: readonly Failure[];
  readonly counts: World['counts'];
  readonly imports: readonly ImportOver[];
  readonly billedPeaks: readonly BilledPeak[];
  readonly fuses: readonly FuseLoad[];
}

export class CellRun {
  readonly #world: World;
  readonly #caller: ActionCaller;
  readonly #judge: ExpectationJudge;
  readonly #limitsOf: LimitsOf;
  readonly #stops: Stops;
  #next: Stop | undefined;
  readonly #events: TraceEvent[];

  /** @param settings of the service, as environment variables. */
  static async open(cell: Cell, settings: Readonly<Record<string, string>> = {}): Promise<CellRun> {
    const { scenario, visits, isFirst } = cell;
    const events: TraceEvent[] = [];
    const onEvent = (event: TraceEvent) => {
      if (isFirst || !isOfTheService(event)) events.push(event);
    };
    const world = await createScenarioWorld(scenario, visits, onEvent, settings);
    return new CellRun(scenario, world, events);
  }

  /** @param events where the world puts what happens, to be taken from there. */
  private constructor(scenario: Scenario, world: World, events: TraceEvent[]) {
    this.#world = world;
    this.#events = events;
    this.#judge = new ExpectationJudge(scenario.expectations.filter(isAsked), boundariesOf(scenario));
    this.#caller = createActionCaller(world);
    this.#limitsOf = createLimitsOf(world, scenario);
    this.#stops = createStops(scenario, this.#judge.questions);
    this.#next = this.#stops.next();
    new FaultPlayer(world).play(faultPlanOf(scenario, scenario.seed));
  }

  /** Goes on to `instant`, and makes the calls of that instant. */
  async advance(instant: EpochMs): Promise<CellNews> {
    for (; this.#next !== undefined && this.#next.atMs <= instant; this.#next = this.#stops.next()) {
      const { atMs, actions, isQuestion } = this.#next;
      await this.#world.travelTo(atMs);
      for (const action of actions)
        if (!(await this.#caller.make(action))) this.#stops.repeat(action, atMs + CALL_AGAIN_MS);
      if (isQuestion) await this.#judge.ask(atMs, this.#limitsOf);
    }
    await this.#world.travelTo(instant);
    return { events: this.#events.splice(0), violations: this.#world.violations.length };
  }

  end(): CellEnd {
    const { violations, counts, imports, billedPeaks, fuses } = this.#world;
    const failures = [...this.#caller.failures, ...this.#judge.failures];
    return { violations, counts, imports, billedPeaks, fuses, failures };
  }

  close(): Promise<void> {
    return this.#world.close();
  }
}

function isOfTheService(event: TraceEvent): boolean {
  return event.kind === 'fault' && event.target === '';
}

function createLimitsOf(world: World, { provision }: Scenario): LimitsOf {
  const tenantOf = new Map(
    provision.tenants.flatMap(({ tenantUuid, locations }) =>
      locations.map(({ locationId }) => [locationId as string, tenantUuid as string]),
    ),
  );
  return async (locationId) => {
    const answer = await world.call(
      'GET',
      `/locations/${locationId}/live`,
      undefined,
      tenantOf.get(locationId),
    );
    const { body } = answer;
    if (answer.status !== 200 || typeof body !== 'object' || body === null) return undefined;
    return {
      effectiveLimitKw: Number(Reflect.get(body, 'effectiveLimitKw')),
      gridLimitKw: Number(Reflect.get(body, 'gridLimitKw')),
    };
  };
}
