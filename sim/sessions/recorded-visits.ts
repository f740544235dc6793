// Turns recorded sessions into visits: each station becomes a connector, and all times move to those of the scenario.
import { counted } from '../../machines/values/counted.js';
import { compareNaturally } from '../../machines/values/natural-order.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';
import { quote } from '../../src/provisioning/quote.js';
import { toInstant } from '../../src/wire/instants.js';
import type { RecordedSessions, Scenario, ScenarioConnector } from '../scenario/scenario.js';
import { type RecordedSession, readSessionFile } from './session-file.js';

/** A session with its connector, at the times of the scenario. */
export interface PlacedSession extends RecordedSession {
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
    `${path}: none of its ${counted(sessions.length, 'session')} arrives in the time that is simulated, from ${from} to ${until}; ` +
    `the first arrives at ${toInstant(earliest)}, the last at ${toInstant(latest)}. ` +
    'Let start, or "from" beside the file, be a time when cars came, and duration reach one'
  );
}

/**
 * The sessions that arrive during the scenario. All move by the same duration. Intervals between sessions therefore
 * stay as recorded, even if the clocks changed to summer time in between.
 * @throws UnusableFileError if the file cannot be used, a station has no connector, cars overlap, or no car arrives.
 */
export function placeRecorded(recorded: RecordedSessions, scenario: Scenario): readonly PlacedSession[] {
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
