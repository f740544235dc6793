// Runs one cell of a scenario: its world with faults, calls and questions, up to the requested instant.
import type { EpochMs } from '../../machines/values/time.js';
import type { BilledPeak } from '../checks/billed-watch.js';
import type { ImportOver } from '../checks/import-watch.js';
import { type FaultEpisode, faultPlanOf } from '../scenario/fault-plan.js';
import type { Scenario } from '../scenario/scenario.js';
import type { TraceEvent } from '../trace/trace-event.js';
import type { FuseLoad } from '../world/fuse-watch.js';
import type { Violation } from '../world/power-watch.js';
import type { RestAnswer } from '../world/rest-client.js';
import type { World } from '../world/world.js';
import { type ActionCaller, createActionCaller } from './action-caller.js';
import type { Cell } from './cells.js';
import { ExpectationJudge, type Failure, isAsked, type LimitsOf } from './expectation-judge.js';
import { FaultPlayer } from './fault-player.js';
import { boundariesOf, createScenarioWorld } from './scenario-world.js';
import { CALL_AGAIN_MS, createStops, type Stop, type Stops } from './stops.js';

/** Events since the previous request, in order. */
export interface CellNews {
  readonly events: readonly TraceEvent[];
  /** Total number so far. */
  readonly violations: number;
}

/** A step by hand, in addition to the scenario. Plain data, because another thread may have to run it. */
export type Deed =
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly method: string;
      readonly path: string;
      readonly body: unknown;
      readonly tenantUuid: string | undefined;
    }
  | { readonly kind: 'faults'; readonly plan: readonly FaultEpisode[] };

export interface DeedNews extends CellNews {
  /** Answer to a call. */
  readonly answer: RestAnswer | undefined;
}

export interface CellEnd {
  readonly violations: readonly Violation[];
  /** Failed calls. */
  readonly failures: readonly Failure[];
  /** Failed expectations about answers of the service. */
  readonly unmet: readonly Failure[];
  readonly counts: World['counts'];
  readonly imports: readonly ImportOver[];
  readonly billedPeaks: readonly BilledPeak[];
  readonly fuses: readonly FuseLoad[];
}

export interface CellSettings {
  /** Settings of the service, as environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** If true, the run judges the expectations of the scenario. */
  readonly isJudged?: boolean;
}

export class CellRun {
  readonly #world: World;
  readonly #faults: FaultPlayer;
  readonly #chargers: ReadonlySet<string>;
  readonly #caller: ActionCaller;
  readonly #judge: ExpectationJudge;
  readonly #limitsOf: LimitsOf;
  readonly #stops: Stops;
  #next: Stop | undefined;
  readonly #events: TraceEvent[];

  /** Opens the cell at the first instant of its scenario. */
  static async open(cell: Cell, { environment, isJudged = true }: CellSettings = {}): Promise<CellRun> {
    const { scenario, visits, isFirst } = cell;
    const events: TraceEvent[] = [];
    const onEvent = (event: TraceEvent) => {
      if (isFirst || !isOfTheService(event)) events.push(event);
    };
    const world = await createScenarioWorld(scenario, visits, onEvent, environment);
    const expectations = isJudged ? scenario.expectations.filter(isAsked) : [];
    return new CellRun(scenario, world, events, new ExpectationJudge(expectations, boundariesOf(scenario)));
  }

  /** @param events the world appends its events to this list; the run takes them from there. */
  private constructor(scenario: Scenario, world: World, events: TraceEvent[], judge: ExpectationJudge) {
    this.#world = world;
    this.#events = events;
    this.#judge = judge;
    this.#chargers = new Set(world.runs.map((run) => run.charger.address.controllerUuid as string));
    this.#caller = createActionCaller(world);
    this.#limitsOf = createLimitsOf(world, scenario);
    this.#stops = createStops(scenario, this.#judge.questions);
    this.#next = this.#stops.next();
    this.#faults = new FaultPlayer(world);
    this.#faults.play(faultPlanOf(scenario, scenario.seed));
  }

  /** Number of open entries on the agenda of the world. */
  get waiting(): number {
    return this.#world.agenda.length;
  }

  /** Events since the previous request. */
  news(): CellNews {
    return { events: this.#events.splice(0), violations: this.#world.violations.length };
  }

  /** Advances to `instant`, and makes the calls of that instant. */
  async advance(instant: EpochMs): Promise<CellNews> {
    for (; this.#next !== undefined && this.#next.atMs <= instant; this.#next = this.#stops.next()) {
      const { atMs, actions, isQuestion } = this.#next;
      await this.#travelTo(atMs);
      for (const action of actions)
        if (!(await this.#caller.make(action))) this.#stops.repeat(action, atMs + CALL_AGAIN_MS);
      if (isQuestion) await this.#judge.ask(atMs, this.#limitsOf);
    }
    await this.#travelTo(instant);
    return this.news();
  }

  /** Runs a step by hand now. Of a list of faults, the cell takes the ones that concern it. */
  async do(deed: Deed): Promise<DeedNews> {
    if (deed.kind === 'call') {
      const { method, path, body, tenantUuid, name } = deed;
      const answer = await this.#world.call(method, path, body, tenantUuid, name);
      return { ...this.news(), answer };
    }
    const isOwn = ({ charger }: FaultEpisode) =>
      charger === undefined || this.#chargers.has(charger.controllerUuid);
    this.#faults.play(deed.plan.filter(isOwn));
    return { ...this.news(), answer: undefined };
  }

  end(): CellEnd {
    const { violations, counts, imports, billedPeaks, fuses } = this.#world;
    const [{ failures }, { failures: unmet }] = [this.#caller, this.#judge];
    return { violations, counts, imports, billedPeaks, fuses, failures, unmet };
  }

  close(): Promise<void> {
    return this.#world.close();
  }

  async #travelTo(instant: EpochMs): Promise<void> {
    if (instant > this.#world.nowMs()) await this.#world.travelTo(instant);
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
