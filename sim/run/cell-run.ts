// Runs one cell of a scenario: its world with faults, calls and questions, up to the requested instant.

import FlatQueue from 'flatqueue';
import { connectorKey } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Misbehaviour } from '../charger/traits.js';
import type { BilledPeak, ImportOver } from '../checks/import-watch.js';
import type { TraceEvent } from '../log/trace-event.js';
import { parseKept } from '../scenario/action-schema.js';
import { type FaultEpisode, faultPlanOf } from '../scenario/fault-plan.js';
import type { Action, Scenario } from '../scenario/scenario.js';
import type { Visit } from '../sessions/visit.js';
import { createArrivals } from '../sessions/visit.js';
import type { FuseLoad } from '../world/power-watch.js';
import type { RestAnswer } from '../world/rest-client.js';
import { createWorld, type World } from '../world/world.js';
import type { Violation } from '../world/world-record.js';
import type { Cell } from './cells.js';
import { ExpectationJudge, type Failure, isAsked, type LimitsOf } from './expectation-judge.js';
import { FaultPlayer } from './fault-player.js';

// Creates the world of a scenario before its first instant: sites, visits and settings of the service.

/** For heartbeats slower than usual, a lease lasts this many heartbeats. */
const HEARTBEATS_PER_LEASE = 6;
const USUAL_HEARTBEAT_MS = 10_000;

function createScenarioWorld(
  scenario: Scenario,
  visits: readonly Visit[],
  onEvent: (event: TraceEvent) => void,
  { environment = {}, newId }: CellSettings,
): Promise<World> {
  const { provision, ocpp, grid, buildings, seed, startsAtMs, meterPeriodMs, transport } = scenario;
  const { keepsThen, endsWithSession, switchesPhases, policy } = scenario;
  const misbehaviours: readonly Misbehaviour[] = keepsThen ? [] : ['forget-then'];
  const members = new Map(ocpp.map((member) => [member.controllerUuid, member]));
  const arrivals = createArrivals(visits, startsAtMs);
  const drift = new Map(
    faultPlanOf(scenario, seed)
      .filter(({ kind }) => kind === 'clockDrift')
      .map(({ charger, share }) => [charger?.controllerUuid, share]),
  );
  return createWorld({
    tenants: provision.tenants,
    grid,
    buildings,
    seed,
    startMs: startsAtMs,
    transport: transport === 'ocpp' ? 'inProcess' : transport,
    onEvent,
    policy,
    ocppOf: ({ controllerUuid }) => {
      const member = members.get(controllerUuid);
      return member && { ...member, driftShare: drift.get(controllerUuid) ?? 0 };
    },
    visitorsOf:
      ({ controllerUuid }) =>
      (connectorId) =>
        arrivals(connectorKey({ controllerUuid, connectorId })),
    traitsOf: ({ controllerUuid }) => ({
      driftShare: drift.get(controllerUuid) ?? 0,
      meterPeriodMs,
      misbehaviours,
      endsWithSession,
      switchesPhases,
    }),
    environment: { ...timingOf(meterPeriodMs), ...environment },
    ...(newId && { seams: { newId } }),
  });
}

/** The service expects heartbeats at the interval at which chargers send them. */
function timingOf(meterPeriodMs: number): Readonly<Record<string, string>> {
  if (meterPeriodMs <= USUAL_HEARTBEAT_MS) return {};
  return {
    HEADROOM_HEARTBEAT_S: String(meterPeriodMs / 1000),
    HEADROOM_LEASE_TTL_S: String((HEARTBEATS_PER_LEASE * meterPeriodMs) / 1000),
  };
}

/** Start and end of each window in the calls of the scenario. */
function boundariesOf({ actions }: Scenario): readonly EpochMs[] {
  return actions.flatMap(({ body }) => {
    if (typeof body !== 'object' || body === null) return [];
    return ['startTime', 'endTime'].flatMap((field) => {
      const value: unknown = Reflect.get(body, field);
      const atMs = typeof value === 'string' ? Date.parse(value) : Number.NaN;
      return Number.isNaN(atMs) ? [] : [atMs];
    });
  });
}

// Makes the REST calls of a scenario, fills in values of earlier answers, and records unexpected answers.
interface ActionCaller {
  /**
   * Resolves to false if the service could not take the call: the outcome is unknown, and the caller must repeat the
   * call.
   */
  make(action: Action): Promise<boolean>;
  /** Calls with another answer than the scenario expects. */
  readonly failures: readonly Failure[];
}

const API_ROOT = '/v1';
/** 0: no answer; 503: the service cannot write. */
const UNAVAILABLE: readonly number[] = [0, 503];
const GIVEN_UP_MS = 600_000;

function createActionCaller(world: World): ActionCaller {
  const kept = new Map<string, unknown>();
  const failures: Failure[] = [];

  /** The field to which `$name.field` refers, or `value` itself. */
  function filledIn(value: string): string {
    const reference = parseKept(value);
    if (reference === undefined) return value;
    const answer = kept.get(reference.name);
    const field: unknown =
      typeof answer === 'object' && answer !== null ? Reflect.get(answer, reference.field) : '';
    return String(field);
  }

  function pathOf({ path, params, query }: Action): string {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(filledIn(params[name] ?? '')),
    );
    const search = new URLSearchParams(query).toString();
    const below = filled.startsWith(API_ROOT) ? filled.slice(API_ROOT.length) : filled;
    return search === '' ? below : `${below}?${search}`;
  }

  return {
    failures,
    async make(action) {
      const { method, operationId, body, tenantUuid, status, keepAs, where, nth } = action;
      const answer = await world.call(method, pathOf(action), body, tenantUuid, `call${nth}`);
      const isLate = world.nowMs() - action.atMs >= GIVEN_UP_MS;
      if (UNAVAILABLE.includes(answer.status) && answer.status !== status && !isLate) return false;
      world.noteAction(operationId, answer);
      if (keepAs !== undefined) kept.set(keepAs, answer.body);
      if (answer.status !== status) {
        const said =
          answer.status === 0
            ? 'no answer: the service was down'
            : `${answer.status} ${errorOf(answer.body)}`;
        const message = `${operationId} had the answer ${said}, expected ${status}`;
        failures.push({ where, atMs: world.nowMs(), message });
      }
      return true;
    },
  };
}

function errorOf(body: unknown): string {
  const error: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
  const message: unknown =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : undefined;
  return message === undefined ? '' : `(${String(message)})`;
}

// Instants at which a run stops: for a call, for a question to the service, and for a progress report.
interface Stop {
  readonly atMs: EpochMs;
  readonly actions: readonly Action[];
  readonly isQuestion: boolean;
}

interface Stops {
  /** The next stop in order of time; undefined after the last. */
  next(): Stop | undefined;
  /** Repeats the call at `atMs`, after all other stops of that instant. */
  repeat(action: Action, atMs: EpochMs): void;
}

/** Interval at which a back end repeats a call to a service that is down. */
const CALL_AGAIN_MS = 5_000;
/** Interval of progress reports, and of writes to the trace. */
const PROGRESS_EVERY_MS = 60_000;

type Reason = { readonly action: Action } | 'question' | 'progress';

function createStops({ startsAtMs, endsAtMs, actions }: Scenario, questions: readonly EpochMs[]): Stops {
  const heap = new FlatQueue<Reason>();
  for (const action of actions) heap.push({ action }, action.atMs);
  for (const atMs of questions) heap.push('question', atMs);
  for (let atMs = startsAtMs; atMs < endsAtMs; atMs += PROGRESS_EVERY_MS) heap.push('progress', atMs);
  heap.push('progress', endsAtMs);

  return {
    next() {
      const atMs = heap.peekValue();
      if (atMs === undefined || atMs > endsAtMs) return undefined;
      const due: Action[] = [];
      let isQuestion = false;
      while (heap.peekValue() === atMs) {
        const reason = heap.pop();
        if (reason === 'question') isQuestion = true;
        else if (typeof reason === 'object') due.push(reason.action);
      }
      // Calls of one instant run in the order of the file.
      due.sort((a, b) => actions.indexOf(a) - actions.indexOf(b));
      return { atMs, actions: due, isQuestion };
    },
    repeat: (action, atMs) => void heap.push({ action }, atMs),
  };
}

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
  /** Replaces the ids that depend on the calls alone. */
  readonly newId?: () => string;
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
  static async open(cell: Cell, settings: CellSettings = {}): Promise<CellRun> {
    const { isJudged = true } = settings;
    const { scenario, visits, isFirst } = cell;
    const events: TraceEvent[] = [];
    const onEvent = (event: TraceEvent) => {
      if (isFirst || !isOfTheService(event)) events.push(event);
    };
    const world = await createScenarioWorld(scenario, visits, onEvent, settings);
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

  /** Address and keys of the service, for requests from outside. */
  get access(): Pick<World, 'httpUrl' | 'apiKeys'> {
    return this.#world;
  }

  nowMs(): EpochMs {
    return this.#world.nowMs();
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
