// Draws visits from the seed: a number per day and connector, at the hours of a kind of site.
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
