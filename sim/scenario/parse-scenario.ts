// Reads a scenario file, and reports all its problems at once, each with its line and field.
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import type { EpochMs } from '../../machines/values/time.js';
import type { FieldPath } from '../../src/provisioning/cross-checks.js';
import { GROUP_RULE, listSchema } from '../../src/provisioning/field-schemas.js';
import { SECRET_FIELDS } from '../../src/provisioning/parse-provisioning.js';
import { parseYaml } from '../../src/provisioning/parse-yaml.js';
import { type ActionEntry, type ActionInput, actionSchema, bodyAt, OPERATIONS } from './action-schema.js';
import { buildingsOf } from './building-schema.js';
import { type ExpectationEntry, measuresOf } from './expectation-schema.js';
import { type FaultEntry, type FaultInput, type FaultLevel, faultsSchema } from './fault-schema.js';
import { fillSecrets } from './fill-secrets.js';
import { gridOf } from './grid-schema.js';
import { DAY_MS, type Moment, resolveMoment, type ScenarioSpan } from './moment.js';
import { ocppMembersOf } from './ocpp-schema.js';
import {
  type Action,
  type Departures,
  type Expectation,
  type Fault,
  type Scenario,
  SERVICE_FAULTS,
  type Sessions,
  type Transport,
  type VehicleClass,
} from './scenario.js';
import {
  additionProblems,
  provisionCrossCheck,
  type ScenarioFile,
  scenarioProblems,
  scenarioSchema,
  spanOf,
} from './scenario-schema.js';
import type { DeparturesEntry, SessionsEntry, VehicleEntry } from './session-schema.js';
import { provisionSites } from './site-generator.js';
import { type SitePlan, sitePlanOf } from './site-plan.js';

/** Command-line flags that replace values of the file. */
export interface ScenarioOverrides {
  readonly seed?: number;
  /**
   * The run omits planned events after this duration. A run shorter than the file's duration also omits expectations of
   * totals.
   */
  readonly durationMs?: number;
  /** Offsets and times of day count from it; instants in the file stay. */
  readonly startsAtMs?: EpochMs;
  readonly transport?: Transport;
  /** With another fault level, the run omits expectations of totals. */
  readonly faults?: FaultLevel;
}

const ORDINARY_CAR: VehicleEntry = { name: 'car', share: 1, maxKw: 11, phases: 3, ideal: false };
const ORDINARY = { taper: 0.8, reaction: [500, 2000], stubborn: 0 } as const;
const WH_PER_KWH = 1000;
/** Measures that depend on the duration of a run and on its faults. The rule that no limit is exceeded does not. */
const TOTALS: ReadonlySet<Expectation['measure']> = new Set([
  'energyShare',
  'energyKwh',
  'startsPerSession',
  'lockedThrottledS',
]);

function vehicleOf({ name, share, maxKw, phases, ideal, ...habits }: VehicleEntry): VehicleClass {
  const { taper = ORDINARY.taper, reaction = ORDINARY.reaction, stubborn = ORDINARY.stubborn } = habits;
  return {
    name,
    share,
    maxKw,
    phases,
    isIdeal: ideal,
    taperFrom: ideal ? 1 : taper,
    reactionMs: ideal ? [0, 0] : reaction,
    stubbornShare: stubborn,
  };
}

function departuresOf(entry: DeparturesEntry): Departures | undefined {
  if (entry === undefined) return undefined;
  const { declared, timeError, needError, minimumKwh } = entry;
  return { share: declared, timeErrorMs: timeError, needError, minimumWh: minimumKwh * WH_PER_KWH };
}

function sessionsOfFile(
  { csv, generate, visits = [] }: SessionsEntry,
  path: string,
  span: ScenarioSpan,
): Sessions {
  if (csv !== undefined) {
    const { file, fromMs = span.startsAtMs, energy, timeZone, stations } = csv;
    return {
      kind: 'csv',
      path: resolve(dirname(path), file),
      fromMs,
      energy,
      timeZone,
      stations: stations === 'inOrder' ? undefined : new Map(Object.entries(stations)),
    };
  }
  if (generate !== undefined) {
    const { perDay, shape, energyKwh, stay } = generate;
    const energyWh = [energyKwh[0] * WH_PER_KWH, energyKwh[1] * WH_PER_KWH] as const;
    return { kind: 'generate', perDay, hourWeights: shape, energyWh, stayMs: stay };
  }
  return {
    kind: 'visits',
    visits: visits.map(({ connector, arrives, leaves, energyKwh, vehicle }) => ({
      connectorKey: connector,
      arrivesAtMs: resolveMoment(arrives, span),
      // A car without a departure leaves a day after the end of the run.
      leavesAtMs: leaves === undefined ? span.endsAtMs + DAY_MS : resolveMoment(leaves, span),
      requestedWh: Math.round(energyKwh * WH_PER_KWH),
      vehicle,
    })),
  };
}

/** `entry` as a call at an instant; undefined if there is no such operation. */
export function actionOf(
  entry: ActionEntry,
  nth: number,
  place: string,
  plan: SitePlan,
  span: ScenarioSpan,
): readonly Action[] {
  const endpoint = OPERATIONS.get(entry.call);
  if (endpoint === undefined) return [];
  const { call: operationId, params, query, as: keepAs, tenant } = entry;
  return [
    {
      nth,
      where: `${place} actions[${nth}]`,
      operationId,
      params,
      query,
      keepAs,
      atMs: resolveMoment(entry.at, span),
      method: endpoint.method.toUpperCase(),
      path: endpoint.path,
      tenantUuid: tenant ?? plan.tenants[0] ?? '',
      body: bodyAt(entry.body, span),
      status: entry.status ?? endpoint.status,
    },
  ];
}

/** `entry` with its chargers, and with its window as instants. */
export function faultOf(entry: FaultEntry, { chargers }: SitePlan, span: ScenarioSpan): Fault {
  const from = 'from' in entry ? entry.from : undefined;
  const until = 'until' in entry ? entry.until : undefined;
  const locations = 'locations' in entry ? entry.locations : undefined;
  const named = 'chargers' in entry ? entry.chargers : undefined;
  const isMeant = (names: readonly string[] | undefined, name: string) => names?.includes(name) ?? true;
  return {
    kind: entry.kind,
    fromMs: from === undefined ? span.startsAtMs : resolveMoment(from, span),
    untilMs: until === undefined ? span.endsAtMs : resolveMoment(until, span),
    chargers: SERVICE_FAULTS.includes(entry.kind)
      ? []
      : chargers.filter(
          ({ locationId, controllerUuid }) =>
            isMeant(locations, locationId) && isMeant(named, controllerUuid),
        ),
    share: 'share' in entry ? entry.share : undefined,
    upToMs: 'upTo' in entry ? entry.upTo : undefined,
    lengthMs: 'for' in entry ? entry.for : undefined,
    everyMs: 'every' in entry ? entry.every : undefined,
    direction: 'direction' in entry ? entry.direction : 'both',
    link: 'link' in entry ? entry.link : 'charger',
  };
}

function expectationsOf(entry: ExpectationEntry, where: string, span: ScenarioSpan): readonly Expectation[] {
  const when = (moment: Moment | undefined, otherwiseMs: number) =>
    moment === undefined ? otherwiseMs : resolveMoment(moment, span);
  const { reason, alarmOpen, alarmClosed } = entry;
  return measuresOf(entry).flatMap((name): readonly Expectation[] => {
    const about = {
      where: `${where}.${name}`,
      fromMs: when(entry.at ?? entry.from, span.startsAtMs),
      untilMs: when(entry.at ?? entry.until, span.endsAtMs),
      locationId: entry.location,
      connectorKey: entry.connector,
    };
    if (name === 'reason') return reason === undefined ? [] : [{ ...about, measure: name, reasons: reason }];
    if (name === 'alarmOpen' || name === 'alarmClosed') {
      const alarms = name === 'alarmOpen' ? alarmOpen : alarmClosed;
      return alarms === undefined
        ? []
        : [{ ...about, measure: 'alarm', alarms, isOpen: name === 'alarmOpen' }];
    }
    const bounds = entry[name];
    return bounds === undefined ? [] : [{ ...about, measure: name, bounds }];
  });
}

function scenarioOf(
  file: ScenarioFile,
  path: string,
  placeOf: (field: FieldPath) => string,
  {
    seed = file.seed,
    durationMs = file.duration,
    transport = file.transport,
    faults: level,
  }: ScenarioOverrides,
): Scenario {
  const span = spanOf(file, durationMs);
  const provision = fillSecrets(
    file.provision ?? (file.sites ? provisionSites(file.sites) : { tenants: [] }),
  );
  const plan = sitePlanOf(provision);
  const ocpp = ocppMembersOf(file.ocpp, { plan, isAll: transport === 'ocpp' });
  const isInTime = ({ untilMs }: { readonly untilMs: number }) => untilMs <= span.endsAtMs;
  // Expectations of totals apply to the whole run with the faults of the file.
  const isWhole = level === undefined && durationMs >= file.duration;
  const isMeant = ({ measure }: Expectation) => isWhole || !TOTALS.has(measure);
  return {
    name: file.name,
    path,
    seed,
    ...span,
    meterPeriodMs: file.meterPeriod,
    ocpp,
    keepsThen: file.keepsThen,
    // A limit for fewer phases is only allowed if it ends with its session.
    endsWithSession: file.endsWithSession || file.switchesPhases,
    switchesPhases: file.switchesPhases,
    transport,
    provision,
    connectors: [...plan.connectors.values()],
    grid: gridOf(file.grid, plan, span),
    buildings: buildingsOf(file.buildings, provision, span, path),
    sessions: sessionsOfFile(file.sessions, path, span),
    departures: departuresOf(file.departures),
    vehicles: (file.vehicles ?? [ORDINARY_CAR]).map(vehicleOf),
    actions: file.actions
      .flatMap((entry, i) => actionOf(entry, i, placeOf(['actions', i]), plan, span))
      .filter(({ atMs }) => atMs <= span.endsAtMs)
      .sort((a, b) => a.atMs - b.atMs),
    faults: (level === undefined ? file.faults : faultsSchema.parse(level))
      .map((entry) => faultOf(entry, plan, span))
      .map((fault) => ({ ...fault, untilMs: Math.min(fault.untilMs, span.endsAtMs) }))
      .filter(({ fromMs, untilMs }) => fromMs < untilMs)
      // The gateway runs only if a charger uses OCPP.
      .filter(({ kind }) => kind !== 'gatewayCrash' || ocpp.length > 0),
    expectations: file.expect
      .flatMap((entry, i) => expectationsOf(entry, `${placeOf(['expect', i])} expect[${i}]`, span))
      .filter((expectation) => isInTime(expectation) && isMeant(expectation)),
  };
}

/**
 * The scenario in a file.
 * @param text YAML 1.2.
 * @param path name of the file in error messages; other files that the scenario names are relative to its folder.
 * @throws UnusableFileError with every problem, in the order of the file.
 */
export function parseScenario(text: string, path: string, overrides: ScenarioOverrides = {}): Scenario {
  const { data, place } = parseYaml(text, path, {
    schema: scenarioSchema,
    crossCheck: provisionCrossCheck,
    check: scenarioProblems,
    secrets: SECRET_FIELDS,
  });
  const { startsAtMs: atMs = data.start.atMs } = overrides;
  return scenarioOf({ ...data, start: { ...data.start, atMs } }, path, place, overrides);
}

// Reads the differences of a branch from its scenario: calls and faults from an instant on, in the notation of a
// scenario.

/**
 * Additional calls and faults. Offsets such as `+10m`, and faults without `from`, count from the start of the branch.
 */
export interface BranchInput {
  readonly actions?: readonly ActionInput[];
  readonly faults?: FaultLevel | readonly FaultInput[];
}

interface Branch {
  readonly actions: readonly Action[];
  readonly faults: readonly Fault[];
}

const branchSchema = z.strictObject(
  { actions: listSchema(actionSchema).default([]), faults: faultsSchema },
  `${GROUP_RULE}: actions, faults`,
);

/**
 * @param text YAML 1.2, or JSON.
 * @param path name of the file in error messages.
 * @param fromMs start of the branch.
 * @throws UnusableFileError with every problem, in the order of the text.
 */
export function parseBranch(text: string, path: string, scenario: Scenario, fromMs: EpochMs): Branch {
  const { endsAtMs, utcOffsetMs, provision } = scenario;
  const span = { startsAtMs: fromMs, endsAtMs, utcOffsetMs };
  const plan = sitePlanOf(provision);
  const { data, place } = parseYaml(text, path, {
    schema: branchSchema,
    check: (file) => additionProblems(file, span, provision),
    secrets: [],
  });
  return {
    actions: data.actions
      .flatMap((entry, i) => actionOf(entry, i, place(['actions', i]), plan, span))
      .sort((a, b) => a.atMs - b.atMs),
    faults: data.faults
      .map((entry) => faultOf(entry, plan, span))
      .map((fault) => ({ ...fault, untilMs: Math.min(fault.untilMs, endsAtMs) })),
  };
}

/** `scenario` with the additions of `branch`. Until the branch begins, the same seed gives the same events. */
export function branched(scenario: Scenario, { actions, faults }: Branch): Scenario {
  const before = 1 + Math.max(-1, ...scenario.actions.map(({ nth }) => nth));
  const added = actions.map((action) => ({ ...action, nth: before + action.nth }));
  return {
    ...scenario,
    planned: scenario.planned ?? scenario.actions,
    actions: [...scenario.actions, ...added].sort((a, b) => a.atMs - b.atMs),
    faults: [...scenario.faults, ...faults],
  };
}
