import { counted } from '../../machines/values/counted.js';
import { compareNaturally } from '../../machines/values/natural-order.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { TimeZone } from '../../machines/values/time-zone.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';
import { quote } from '../../src/provisioning/quote.js';
import type { ChargingPreferences } from '../../src/wire/charging-preferences.js';
import { toInstant } from '../../src/wire/instants.js';
import { createDraw, type Draw } from '../scenario/draw.js';
import { DAY_MS } from '../scenario/moment.js';
import type {
  Departures,
  GeneratedSessions,
  RecordedSessions,
  Scenario,
  ScenarioConnector,
  VehicleClass,
} from '../scenario/scenario.js';
import { type CsvFields, LineError, readCsv } from './csv-table.js';
import { carOf, type Visit } from './visit.js';

// Reads recorded sessions from a CSV file with the columns of public data sets.

/** One line of the file, at its original times. Energy in Wh; `maxKw` only if the file has this column. */
export interface RecordedSession {
  readonly line: number;
  readonly station: string;
  readonly sessionId: string;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly energyWh: number;
  readonly maxKw: number | undefined;
}

/** The energy column that a session uses. */
export type SessionEnergy = 'requested' | 'delivered';

/** `timeZone` applies to times without an offset. */
interface SessionFileReading {
  readonly energy: SessionEnergy;
  readonly timeZone?: TimeZone | undefined;
}

const COLUMNS = {
  arrival: ['arrival'],
  departure: ['departure'],
  station: ['stationId', 'station_id'],
  session: ['sessionId', 'session_id'],
  requested: ['requestedKwh', 'requested_energy (kWh)'],
  delivered: ['deliveredKwh', 'delivered_energy (kWh)'],
  maxKw: ['maxKw'],
} as const;
type Column = keyof typeof COLUMNS;

const LEAST_KWH = 0.001;
const MOST_KWH = 10_000;
const MOST_KW = 1000;

/**
 * The sessions of a file, in its order.
 * @throws UnusableFileError with up to twenty problems, each with its line and, if one column is wrong, with the
 * column.
 */
export function readSessionFile(
  path: string,
  { energy, timeZone }: SessionFileReading,
): readonly RecordedSession[] {
  const lineOfId = new Map<string, number>();
  return readCsv<Column, RecordedSession>(path, {
    columns: COLUMNS,
    needed: ['arrival', 'departure', 'station', 'session', energy],
    optional: ['maxKw'],
    timeZone,
    content: 'session',
    lineOf(fields, line) {
      const session = sessionOf(fields, line, energy);
      const { sessionId } = session;
      const first = lineOfId.get(sessionId);
      lineOfId.set(sessionId, line);
      if (first !== undefined) throw new LineError(`session ${quote(sessionId)} is that of line ${first}`);
      return session;
    },
  });
}

function sessionOf(fields: CsvFields<Column>, line: number, energy: SessionEnergy): RecordedSession {
  const arrivesAtMs = fields.instantAfter('arrival', Number.NEGATIVE_INFINITY, '');
  return {
    line,
    arrivesAtMs,
    leavesAtMs: fields.instantAfter('departure', arrivesAtMs, 'must be after the arrival'),
    station: fields.text('station'),
    sessionId: fields.text('session'),
    energyWh: Math.round(1000 * fields.number(energy, LEAST_KWH, MOST_KWH, 'kWh')),
    maxKw: fields.isGiven('maxKw') ? fields.number('maxKw', LEAST_KWH, MOST_KW, 'kW') : undefined,
  };
}

// Turns recorded sessions into visits: each station becomes a connector, and all times move to those of the scenario.

/** A session with its connector, at the times of the scenario. */
interface PlacedSession extends RecordedSession {
  readonly connector: ScenarioConnector;
}

function stationMap(
  { stations, path }: RecordedSessions,
  sessions: readonly RecordedSession[],
  connectors: readonly ScenarioConnector[],
): ReadonlyMap<string, ScenarioConnector> {
  const names = [...new Set(sessions.map(({ station }) => station))].sort(compareNaturally);
  const byKey = new Map(connectors.map((connector) => [connector.key, connector]));
  const pairs = names.map(
    (name, i) =>
      [name, stations === undefined ? connectors[i] : byKey.get(stations.get(name) ?? '')] as const,
  );
  const homeless = pairs.filter(([, connector]) => connector === undefined).map(([name]) => name);
  if (homeless.length > 0) {
    const some = homeless.slice(0, 10).join(', ');
    throw new UnusableFileError([
      `${path}: ${homeless.length} of its ${counted(names.length, 'station has', 'stations have')} no connector in the scenario: ${some}`,
    ]);
  }
  return new Map(pairs.flatMap(([name, connector]) => (connector === undefined ? [] : [[name, connector]])));
}

function overlapProblems(sessions: readonly RecordedSession[], path: string): readonly string[] {
  const last = new Map<string, RecordedSession>();
  const inTime = [...sessions].sort((a, b) => a.arrivesAtMs - b.arrivesAtMs);
  return inTime.flatMap((session) => {
    const before = last.get(session.station);
    last.set(session.station, session);
    if (before === undefined || session.arrivesAtMs >= before.leavesAtMs) return [];
    return [
      `${path}:${session.line} column arrival: comes to station ${quote(session.station)} before the car of line ${before.line} has left`,
    ];
  });
}

/** An error for a file without arrivals during the scenario: such a run would keep every limit and prove nothing. */
function absenceProblem(
  { path, fromMs }: RecordedSessions,
  sessions: readonly RecordedSession[],
  { startsAtMs, endsAtMs }: Scenario,
): string {
  const arrivals = sessions.map(({ arrivesAtMs }) => arrivesAtMs);
  const earliest = arrivals.reduce((least, atMs) => Math.min(least, atMs), Number.POSITIVE_INFINITY);
  const latest = arrivals.reduce((most, atMs) => Math.max(most, atMs), Number.NEGATIVE_INFINITY);
  const [from, until] = [fromMs, fromMs + endsAtMs - startsAtMs].map(toInstant);
  return (
    `${path}: none of its ${counted(sessions.length, 'session')} arrives in the simulated time, from ${from} to ${until}; ` +
    `the first arrives at ${toInstant(earliest)}, the last at ${toInstant(latest)}. ` +
    'Choose start, or "from" beside the file, and duration so that cars arrive'
  );
}

/**
 * The sessions that arrive during the scenario. All move by the same duration. Intervals between sessions therefore
 * stay as recorded, even if the clocks changed to summer time in between.
 * @throws UnusableFileError if the file cannot be used, a station has no connector, cars overlap, or no car arrives.
 */
function placeRecorded(recorded: RecordedSessions, scenario: Scenario): readonly PlacedSession[] {
  const { startsAtMs, endsAtMs, connectors } = scenario;
  const sessions = readSessionFile(recorded.path, recorded);
  const problems = overlapProblems(sessions, recorded.path);
  if (problems.length > 0) throw new UnusableFileError(problems.slice(0, 20));
  const connectorOf = stationMap(recorded, sessions, connectors);
  const shiftMs = startsAtMs - recorded.fromMs;
  const placed = sessions.flatMap((session) => {
    const connector = connectorOf.get(session.station);
    const arrivesAtMs = session.arrivesAtMs + shiftMs;
    if (connector === undefined || arrivesAtMs < startsAtMs || arrivesAtMs >= endsAtMs) return [];
    return [{ ...session, connector, arrivesAtMs, leavesAtMs: session.leavesAtMs + shiftMs }];
  });
  if (placed.length === 0) throw new UnusableFileError([absenceProblem(recorded, sessions, scenario)]);
  return placed;
}

// Draws visits from the seed: a number per day and connector, at the hours of a kind of site.

/** A visit without its car. */
interface DrawnVisit {
  readonly connector: ScenarioConnector;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly requestedWh: number;
}

const HOUR_MS = 3_600_000;
/** Time between the departure of a car and the arrival of the next waiting car. */
const CHANGEOVER_MS = 60_000;

function timeOfDayMs(hourWeights: readonly number[], draw: Draw): number {
  const hours = hourWeights.map((weight, hour) => ({ weight, hour }));
  const hour = draw.weighted(hours, ({ weight }) => weight)?.hour ?? 0;
  return hour * HOUR_MS + Math.floor(HOUR_MS * draw.share());
}

/** Midnights of all days that overlap the scenario, by the clock of the site. */
function midnights({ startsAtMs, endsAtMs, utcOffsetMs }: Scenario): readonly EpochMs[] {
  const first = Math.floor((startsAtMs + utcOffsetMs) / DAY_MS) * DAY_MS - utcOffsetMs;
  return Array.from({ length: Math.ceil((endsAtMs - first) / DAY_MS) }, (_, day) => first + day * DAY_MS);
}

/** Intended visit of a driver; a taken connector delays its arrival. */
interface Wish {
  readonly atMs: EpochMs;
  readonly requestedWh: number;
  readonly stayMs: number;
}

/** The wishes of a day are drawn together, so that a run of another length has the same ones. */
function wishesOf(sessions: GeneratedSessions, scenario: Scenario, draw: Draw): readonly Wish[] {
  const { perDay, hourWeights, energyWh, stayMs } = sessions;
  return midnights(scenario).flatMap((midnightMs) => {
    const count = Math.floor(perDay) + (draw.share() < perDay % 1 ? 1 : 0);
    return Array.from({ length: count }, () => ({
      atMs: midnightMs + timeOfDayMs(hourWeights, draw),
      requestedWh: draw.whole(energyWh),
      stayMs: draw.whole(stayMs),
    })).sort((a, b) => a.atMs - b.atMs);
  });
}

function visitsOf(connector: ScenarioConnector, wishes: readonly Wish[], { startsAtMs, endsAtMs }: Scenario) {
  const visits: DrawnVisit[] = [];
  let freeFromMs = Number.NEGATIVE_INFINITY;
  for (const { atMs, requestedWh, stayMs } of wishes) {
    const arrivesAtMs = Math.max(atMs, freeFromMs);
    if (arrivesAtMs < startsAtMs || arrivesAtMs >= endsAtMs) continue;
    const leavesAtMs = arrivesAtMs + stayMs;
    visits.push({ connector, arrivesAtMs, leavesAtMs, requestedWh });
    freeFromMs = leavesAtMs + CHANGEOVER_MS;
  }
  return visits;
}

/** Visits of every connector. A driver waits for a taken connector, but not beyond the end of the run. */
function drawVisits(sessions: GeneratedSessions, scenario: Scenario, seed: number): readonly DrawnVisit[] {
  return scenario.connectors.flatMap((connector) => {
    const wishes = wishesOf(sessions, scenario, createDraw(seed, 'visits', connector.key));
    return visitsOf(connector, wishes, scenario);
  });
}

/** A visit before the draw of its car. */
interface PlannedVisit {
  readonly connector: ScenarioConnector;
  readonly sessionId: string;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly requestedWh: number;
  readonly maxKw?: number | undefined;
  readonly vehicle?: string | undefined;
}

function plannedVisits(scenario: Scenario, seed: number): readonly PlannedVisit[] {
  const { sessions, connectors } = scenario;
  if (sessions.kind === 'csv') {
    return placeRecorded(sessions, scenario).map(({ energyWh, ...session }) => ({
      ...session,
      requestedWh: energyWh,
    }));
  }
  if (sessions.kind === 'generate') {
    return drawVisits(sessions, scenario, seed).map((visit) => ({
      ...visit,
      sessionId: `${visit.connector.key}@${visit.arrivesAtMs}`,
    }));
  }
  const byKey = new Map(connectors.map((connector) => [connector.key, connector]));
  return sessions.visits.flatMap(({ connectorKey, ...visit }) => {
    const connector = byKey.get(connectorKey);
    return connector === undefined
      ? []
      : [{ ...visit, connector, sessionId: `${connectorKey}@${visit.arrivesAtMs}` }];
  });
}

function vehicleOf(
  name: string | undefined,
  vehicles: readonly VehicleClass[],
  drawn: VehicleClass | undefined,
) {
  return vehicles.find((vehicle) => vehicle.name === name) ?? drawn;
}

/** The needs that a session declares, with their errors; undefined if it declares none. */
function preferencesOf(
  { sessionId, arrivesAtMs, leavesAtMs, requestedWh }: PlannedVisit,
  departures: Departures | undefined,
  seed: number,
): ChargingPreferences | undefined {
  if (departures === undefined) return undefined;
  const draw = createDraw(seed, 'preferences', sessionId);
  if (draw.share() >= departures.share) return undefined;
  const { timeErrorMs, needError, minimumWh } = departures;
  const needWh = requestedWh * draw.between([1 - needError, 1 + needError]);
  const departsAtMs = leavesAtMs + draw.whole([-timeErrorMs, timeErrorMs]);
  return {
    departureTime: toInstant(Math.max(arrivesAtMs, departsAtMs)),
    energyNeedKwh: needWh / 1000,
    ...(minimumWh > 0 && { minimumEnergyKwh: Math.min(minimumWh, needWh) / 1000 }),
  };
}

function visitOf(planned: PlannedVisit, { vehicles, departures }: Scenario, seed: number): readonly Visit[] {
  const { connector, sessionId, arrivesAtMs, leavesAtMs, requestedWh, maxKw } = planned;
  const draw = createDraw(seed, 'car', sessionId);
  const drawn = draw.weighted(vehicles, ({ share }) => share);
  const vehicle = vehicleOf(planned.vehicle, vehicles, drawn);
  if (vehicle === undefined) return [];
  const preferences = preferencesOf(planned, departures, seed);
  const car = { ...carOf(vehicle, connector, { requestedWh, maxKw, draw }), preferences };
  return [
    {
      connectorKey: connector.key,
      sessionId,
      arrivesAtMs,
      leavesAtMs,
      requestedWh,
      vehicle: vehicle.name,
      car,
    },
  ];
}

/**
 * The visits that begin during `scenario`, in order of time; equal seeds give equal visits.
 * @throws UnusableFileError if they come from a file that cannot be used.
 */
export function sessionsOf(scenario: Scenario, seed: number): readonly Visit[] {
  const visits = plannedVisits(scenario, seed).flatMap((planned) => visitOf(planned, scenario, seed));
  return visits.sort((a, b) => a.arrivesAtMs - b.arrivesAtMs || (a.connectorKey < b.connectorKey ? -1 : 1));
}
