// Visits drawn from the seed: so many a day and connector, at hours that a kind of site knows.
import type { EpochMs } from '../../machines/values/time.js';
import { createDraw, type Draw } from '../scenario/draw.js';
import { DAY_MS } from '../scenario/moment.js';
import type { GeneratedSessions, Scenario, ScenarioConnector } from '../scenario/scenario.js';

/** A visit without its car. */
export interface DrawnVisit {
  readonly connector: ScenarioConnector;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly requestedWh: number;
}

const HOUR_MS = 3_600_000;
/** The time between one car's departure and the next car that waited for the place. */
const CHANGEOVER_MS = 60_000;

function timeOfDayMs(hourWeights: readonly number[], draw: Draw): number {
  const hours = hourWeights.map((weight, hour) => ({ weight, hour }));
  const hour = draw.weighted(hours, ({ weight }) => weight)?.hour ?? 0;
  return hour * HOUR_MS + Math.floor(HOUR_MS * draw.share());
}

/** Whole days of the site's clock that the scenario touches, each by its midnight. */
function midnights({ startsAtMs, endsAtMs, utcOffsetMs }: Scenario): readonly EpochMs[] {
  const first = Math.floor((startsAtMs + utcOffsetMs) / DAY_MS) * DAY_MS - utcOffsetMs;
  return Array.from({ length: Math.ceil((endsAtMs - first) / DAY_MS) }, (_, day) => first + day * DAY_MS);
}

/** What a driver wishes for; when there is a place is another question. */
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

/** Visits of every connector; who finds it taken waits until it is free, and not beyond the end of the run. */
export function drawVisits(
  sessions: GeneratedSessions,
  scenario: Scenario,
  seed: number,
): readonly DrawnVisit[] {
  return scenario.connectors.flatMap((connector) => {
    const wishes = wishesOf(sessions, scenario, createDraw(seed, 'visits', connector.key));
    return visitsOf(connector, wishes, scenario);
  });
}
