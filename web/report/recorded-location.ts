// A location of a recorded run, in the shapes that the views of a running service show, at any instant.
import type { AlarmKind } from '../../machines/ledger/grant.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { ConnectorSummary } from '../../sim/report/connector-account.js';
import type {
  ConnectorMode,
  LimitRule,
  LocationTrack,
  Mark,
  ProfileBar,
  ReportData,
  Track,
} from '../../sim/report/report-data.js';
import type { LocationSummary } from '../../sim/report/summary.js';
import type { GridLimitCause } from '../../src/wire/limit-cause.js';
import type { LocationState, ShownConnector } from '../location/location-state.js';
import { combined, highestOfLast, type Step, type StepLine, valueAt } from '../location/step-line.js';
import type { ChartLines } from '../location/use-chart-lines.js';
import { type SourceLine, sourceLines } from './source-lines.js';

const UNLIMITED_W = Number.MAX_SAFE_INTEGER;
/** Chargers follow an unannounced decrease within their lease and settling time. */
const FOLLOWED_WITHIN_MS = 120_000;

export interface RecordedLocation {
  readonly locationId: string;
  readonly lines: ChartLines;
  /** Sources of limits other than the location's own profiles. */
  readonly sources: readonly SourceLine[];
  /** Power while it is above the limit that it must not exceed; null otherwise. */
  readonly overKw: StepLine;
  /** The same location in the run beside this one; undefined without one. */
  readonly compared: { readonly powerKw: StepLine; readonly inForceKw: StepLine } | undefined;
  /** In order of time; empty if the trace lacks the rules. */
  readonly rules: readonly (LimitRule & { readonly atMs: EpochMs })[];
  readonly connectors: readonly RecordedConnector[];
  /** Profiles of the location, of its chargers and connectors, and of targets that span several locations. */
  readonly profiles: readonly ProfileBar[];
  readonly marks: readonly Mark[];
  readonly summary: LocationSummary | undefined;
  /** Lines that feed the location; all lines if the trace lacks this assignment. */
  readonly grid: readonly {
    readonly name: string;
    readonly highestV: StepLine;
    readonly lowestV: StepLine;
  }[];
}

export interface RecordedConnector {
  readonly name: string;
  readonly controllerUuid: string;
  readonly connectorId: string;
  /** Ascending; each other column has one value for each instant. */
  readonly atMs: Float64Array;
  readonly powerW: Float64Array;
  readonly limitTenthsA: Float64Array;
  readonly modes: readonly ConnectorMode[];
  /** Never 0, because it is a divisor. */
  readonly peakW: number;
  readonly summary: ConnectorSummary | undefined;
}

/** A connector at an instant. */
export interface ConnectorAt extends ShownConnector {
  readonly isLeased: boolean;
  readonly recorded: RecordedConnector;
}

/** The location at this place of the report; undefined if there is none. */
export function recordedLocation(data: ReportData, place: number): RecordedLocation | undefined {
  const track = data.locations[place];
  if (track === undefined) return undefined;
  const { locationId } = track;
  const summary = data.summary.locations.find((each) => each.locationId === locationId);
  const concerns = concernOf(data, locationId);
  const compared = data.compared?.locations.find((each) => each.locationId === locationId);
  return {
    locationId,
    ...linesOf(track),
    rules: rulesOf(track, data.rules),
    compared: compared && { powerKw: kwLine(compared.powerW), inForceKw: kwLine(compared.limitW) },
    connectors: track.connectors.map((connector) => recordedConnector(connector, data.modes, summary)),
    profiles: data.profiles.filter(({ target }) => concerns(target)),
    marks: data.marks.filter(({ target }) => concerns(target)),
    summary,
    grid: data.lines
      .filter(({ locationIds }) => locationIds?.includes(locationId) ?? true)
      .map(({ name, highestTenthsV, lowestTenthsV }) => ({
        name,
        highestV: lineOf(highestTenthsV, (tenths) => tenths / 10),
        lowestV: lineOf(lowestTenthsV, (tenths) => tenths / 10),
      })),
  };
}

function linesOf({ powerW, allowedW, limits }: LocationTrack) {
  const powerKw = kwLine(powerW);
  const allowedKw = kwLine(allowedW);
  const inForceKw = limits === undefined ? allowedKw : kwLine(limits.limitW);
  const buildingKw = limits === undefined ? [] : buildingLine(kwLine(limits.buildingW));
  const reserveKw = limits === undefined ? [] : kwLine(limits.reserveW);
  const sources = sourceLines(
    (limits?.sources ?? []).map(({ name, limitW }) => ({ name, line: kwLine(limitW) })),
  );
  const lines: ChartLines = {
    powerKw,
    effectiveKw: limits === undefined ? [] : kwLine(limits.effectiveW),
    inForceKw,
    lowestKw: [],
    allowedKw: highestOfLast(inForceKw, FOLLOWED_WITHIN_MS),
    buildingKw,
    occupiedKw: combined(buildingKw, buildingKw.length === 0 ? [] : reserveKw, (load, reserve) =>
      load === null ? null : load + (reserve ?? 0),
    ),
    operatorKw: sources.find(({ chartLine }) => chartLine === 'operatorKw')?.line ?? [],
    phasesA: [],
    phasesOf: null,
  };
  return {
    lines,
    sources,
    overKw: combined(powerKw, allowedKw, (drawn, most) =>
      drawn !== null && most !== null && drawn > most + OVER_KW ? drawn : null,
    ),
  };
}

/** A tenth of an ampere is rounded down, a car's current is not. */
const OVER_KW = 0.001;

/** Empty for a location without a meter, whose building counts as 0 at all times. */
function buildingLine(line: StepLine): StepLine {
  return line.some(({ value }) => value !== 0) ? line : [];
}

function kwLine(track: Track): StepLine {
  return lineOf(track, (watts) => (watts >= UNLIMITED_W ? null : watts / 1000));
}

function lineOf({ atMs, values }: Track, convert: (value: number) => number | null): StepLine {
  const [instants, each] = [summed(atMs), summed(values)];
  return Array.from(instants, (instant, i): Step => ({ atMs: instant, value: convert(each[i] ?? 0) }));
}

function rulesOf({ limits }: LocationTrack, all: readonly LimitRule[]): RecordedLocation['rules'] {
  if (limits === undefined) return [];
  return lineOf(limits.rules, (place) => place).flatMap(({ atMs, value }) => {
    const rule = all[value ?? -1];
    return rule === undefined ? [] : [{ ...rule, atMs }];
  });
}

function recordedConnector(
  connector: LocationTrack['connectors'][number],
  modes: readonly ConnectorMode[],
  summary: LocationSummary | undefined,
): RecordedConnector {
  const { controllerUuid, connectorId } = connector;
  const powerW = summed(connector.powerW);
  return {
    controllerUuid,
    connectorId,
    name: `${controllerUuid}/${connectorId}`,
    powerW,
    atMs: summed(connector.atMs),
    limitTenthsA: summed(connector.limitTenthsA),
    modes: Array.from(summed(connector.modes), (place) => {
      const mode = modes[place];
      if (mode === undefined) throw new RangeError(`The report has no mode ${place}`);
      return mode;
    }),
    peakW: powerW.reduce((peak, value) => Math.max(peak, value), 1),
    summary: summary?.connectors.find(
      (held) => held.controllerUuid === controllerUuid && held.connectorId === connectorId,
    ),
  };
}

function summed(differences: readonly number[]): Float64Array {
  let value = 0;
  return Float64Array.from(differences, (difference) => (value += difference));
}

/** Index of the last instant at or before `instant`; -1 if there is none. */
export function placeAt(atMs: Float64Array, instant: EpochMs): number {
  let low = 0;
  let high = atMs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((atMs[middle] ?? 0) <= instant) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The connectors at an instant. Before its first event, a connector has not connected. */
export function connectorsAt(location: RecordedLocation, instant: EpochMs): readonly ConnectorAt[] {
  return location.connectors.map((recorded) => {
    const { controllerUuid, connectorId, name } = recorded;
    const place = placeAt(recorded.atMs, instant);
    const mode = recorded.modes[place];
    const lock = deciding(location.profiles, name, instant);
    const limitTenthsA = recorded.limitTenthsA[place];
    return {
      controllerUuid,
      connectorId,
      status: 'ACTIVE',
      link: mode?.isOnline === true ? 'online' : 'offline',
      chargingStatus: mode?.status ?? null,
      powerType: 'AC',
      lastHeardSecondsAgo: mode === undefined ? null : 0,
      actualKw: (recorded.powerW[place] ?? 0) / 1000,
      isEstimated: false,
      socPercent: null,
      limitA: limitTenthsA === undefined ? null : limitTenthsA / 10,
      lockLimitKw: lock === undefined ? null : lock.limitW / 1000,
      reason: mode?.reason ?? 'idle',
      isLeased: mode?.isLeased ?? false,
      recorded,
    };
  });
}

/** The profile of the highest priority that is active at `instant`. */
export function deciding(
  profiles: readonly ProfileBar[],
  target: string,
  instant: EpochMs,
): ProfileBar | undefined {
  return profiles
    .filter((each) => each.target === target && each.startsAtMs <= instant && instant < each.endsAtMs)
    .reduce<ProfileBar | undefined>(
      (highest, each) => (highest === undefined || each.priority > highest.priority ? each : highest),
      undefined,
    );
}

/** The rule behind the limit in force; undefined before the first one. */
export function ruleAt(
  { rules }: RecordedLocation,
  instant: EpochMs,
): RecordedLocation['rules'][number] | undefined {
  return rules.findLast(({ atMs }) => atMs <= instant);
}

export function stateAt(location: RecordedLocation, instant: EpochMs): LocationState {
  const { lines, marks, locationId } = location;
  const rule = ruleAt(location, instant);
  const alarms = marks.filter(
    ({ kind, startsAtMs, endsAtMs }) => kind === 'alarm' && startsAtMs <= instant && instant < endsAtMs,
  );
  return {
    actualKw: valueAt(lines.powerKw, instant) ?? 0,
    gridLimitKw: valueAt(lines.inForceKw, instant) ?? Number.POSITIVE_INFINITY,
    gridLimitCause: causeOf(location, rule, instant),
    effectiveLimitKw:
      valueAt(lines.effectiveKw, instant) ?? valueAt(lines.inForceKw, instant) ?? Number.POSITIVE_INFINITY,
    operatorLimit: operatorAt(location, instant),
    alarms: alarms.map(({ what, target, startsAtMs }, i) => {
      const [controllerUuid = null, connectorId = null] = target === locationId ? [] : target.split('/');
      return {
        alarmId: String(i),
        // A trace has the service's own names.
        kind: what as AlarmKind,
        locationId,
        controllerUuid,
        connectorId,
        reason: '',
        firstReason: '',
        beganAt: iso(startsAtMs),
        endedAt: null,
        acknowledgement: null,
        mutedUntil: null,
        isWithheld: false,
      };
    }),
  };
}

function causeOf(
  { profiles, locationId }: RecordedLocation,
  rule: LimitRule | undefined,
  instant: EpochMs,
): GridLimitCause {
  const profile = deciding(profiles, locationId, instant);
  if (rule === undefined || rule.cause === 'profile') {
    if (profile === undefined) return { kind: 'permanentLimit' };
    const { priority, startsAtMs, endsAtMs } = profile;
    return { kind: 'profile', priority, startTime: iso(startsAtMs), endTime: iso(endsAtMs) };
  }
  if (rule.cause === 'clusterShare') return { kind: 'clusterShare', clusterId: rule.rule };
  return { kind: rule.cause };
}

/** In the names of the API, as `OPERATOR_STATE_NAMES` of the service has them. */
const STATE_NAMES = {
  init: 'INIT',
  unlimitedControlled: 'UNLIMITED_CONTROLLED',
  limited: 'LIMITED',
  failsafe: 'FAILSAFE',
  unlimitedAutonomous: 'UNLIMITED_AUTONOMOUS',
} as const satisfies Readonly<Record<Exclude<LimitRule['operator'], 'none'>, string>>;

function operatorAt({ rules, lines }: RecordedLocation, instant: EpochMs): LocationState['operatorLimit'] {
  const place = rules.findLastIndex(({ atMs }) => atMs <= instant);
  const now = rules[place];
  if (now === undefined || now.operator === 'none') return null;
  const other = rules.findLastIndex(({ operator }, i) => i < place && operator !== now.operator);
  const ordered = lines.operatorKw.findLast(({ atMs }) => atMs <= instant);
  const sinceMs = Math.max(
    rules[other + 1]?.atMs ?? now.atMs,
    now.operator === 'limited' ? (ordered?.atMs ?? 0) : 0,
  );
  return {
    state: STATE_NAMES[now.operator],
    limitKw: ordered?.value ?? null,
    source: 'The operator',
    since: iso(sinceMs),
  };
}

/** A target without a location of its own, such as a cluster or the service, concerns every location. */
function concernOf(data: ReportData, locationId: string): (target: string) => boolean {
  const elsewhere = new Set<string>();
  for (const track of data.locations) {
    if (track.locationId === locationId) continue;
    elsewhere.add(track.locationId);
    for (const { controllerUuid, connectorId } of track.connectors) {
      elsewhere.add(controllerUuid).add(`${controllerUuid}/${connectorId}`);
    }
  }
  return (target) => !elsewhere.has(target);
}

function iso(atMs: EpochMs): string {
  return new Date(atMs).toISOString();
}
