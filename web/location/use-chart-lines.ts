// All lines of the location's chart on one time axis: stored minutes, then live events, then the plan.
import { useMemo } from 'preact/hooks';
import { compositeTimeline, EMPTY_STACK, putProfile } from '../../machines/limits/profile-stack.js';
import { GRID_PHASES } from '../../machines/power/fuses.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import type { LocationTimeline } from '../../src/features/locations/contract.js';
import type { OperatorHistory } from '../../src/features/operator-limit/contract.js';
import type { LocationPower } from '../../src/features/power-history/contract.js';
import type { LocationHistory } from '../../src/features/profiles/contract.js';
import { type ApiClient, path } from '../api/client.js';
import { type Resource, useResource } from '../api/resource.js';
import { higherOf, limitInForce, lowerOf, thenPlanned, UNTOLD_AT_MOST_MS } from './limit-in-force.js';
import { bridged, continued, highestOfLast, type Step, type StepLine, until } from './step-line.js';
import { type Span, spanOf, stepSecondsOf, type TimeView } from './time-view.js';
import type { LiveLines } from './use-live-lines.js';

// Converts answers of the service to lines of the chart: the past from roll-ups and submissions, the future from the
// timeline.

/**
 * From each roll-up: the mean power, kW; the load of a building, and this load with its reserve, kW; the highest
 * current on each phase of the grid, A. A line has gaps without a roll-up or a meter; without known currents there are
 * no phases.
 */
export function pastLines(power: LocationPower): {
  readonly powerKw: StepLine;
  readonly buildingKw: StepLine;
  readonly occupiedKw: StepLine;
  readonly phasesA: readonly StepLine[];
  readonly phasesOf: string | null;
} {
  const { points } = power;
  const lineOf = (pick: (point: LocationPower['points'][number]) => number | null): StepLine => {
    const line: Step[] = [];
    let endMs: EpochMs | undefined;
    for (const point of points) {
      const atMs = Date.parse(point.at);
      if (endMs !== undefined && atMs > endMs) line.push({ atMs: endMs, value: null });
      line.push({ atMs, value: pick(point) });
      endMs = atMs + power.stepSeconds * 1000;
    }
    if (endMs !== undefined) line.push({ atMs: endMs, value: null });
    return line;
  };
  const hasPhases = points.some(({ phases }) => phases.length > 0);
  return {
    powerKw: lineOf(({ meanKw }) => meanKw),
    buildingKw: lineOf(({ building }) => building?.meanKw ?? null),
    occupiedKw: lineOf(({ building }) => building && building.meanKw + building.meanReserveKw),
    phasesA: hasPhases ? GRID_PHASES.map((_, i) => lineOf(({ phases }) => phases[i]?.maxA ?? null)) : [],
    phasesOf: power.feeder,
  };
}

/** The effective limit at each instant, by the profiles and permanent limits as they were submitted then. */
export function effectiveHistory(history: LocationHistory, window: TimeWindow): StepLine {
  const submissions = history.submissions.map(
    ({ submittedAt, supersededAt, startTime, endTime, ...held }) => ({
      profile: { ...held, startsAtMs: Date.parse(startTime), endsAtMs: Date.parse(endTime) },
      fromMs: Date.parse(submittedAt),
      toMs: supersededAt === null ? Number.POSITIVE_INFINITY : Date.parse(supersededAt),
    }),
  );
  const permanent = history.permanentLimits.map(({ limitKw, setAt }) => ({
    limitKw,
    atMs: Date.parse(setAt),
  }));
  const changes = [
    ...submissions.flatMap(({ fromMs, toMs }) => [fromMs, toMs]),
    ...permanent.map(({ atMs }) => atMs),
  ];
  const instants = [...new Set([window.startsAtMs, ...changes])]
    .filter((atMs) => atMs >= window.startsAtMs && atMs < window.endsAtMs)
    .sort((a, b) => a - b);
  return instants.flatMap((startsAtMs, i) => {
    const stack = submissions
      .filter(({ fromMs, toMs }) => fromMs <= startsAtMs && startsAtMs < toMs)
      .reduce((held, { profile }) => putProfile(held, profile), EMPTY_STACK);
    const fallbackKw = permanent.findLast(({ atMs }) => atMs <= startsAtMs)?.limitKw;
    const endsAtMs = instants[i + 1] ?? window.endsAtMs;
    return compositeTimeline(stack, fallbackKw, { startsAtMs, endsAtMs }).map((segment) => ({
      atMs: segment.startsAtMs,
      value: segment.limitKw ?? null,
    }));
  });
}

/** The grid operator's limit, kW; null while there was none. */
function operatorLine({ events }: Pick<OperatorHistory, 'events'>): StepLine {
  return events.map(({ recordedAt, limitKw }) => ({ atMs: Date.parse(recordedAt), value: limitKw }));
}

/** The planned effective limit, and the planned limit in force. */
function futureLines({ segments }: Pick<LocationTimeline, 'segments'>): {
  readonly effectiveKw: StepLine;
  readonly inForceKw: StepLine;
} {
  const instants = segments.map(({ startTime }) => Date.parse(startTime));
  return {
    effectiveKw: segments.map(({ effectiveLimitKw }, i) => ({
      atMs: instants[i] ?? 0,
      value: effectiveLimitKw,
    })),
    inForceKw: segments.map(({ limitKw }, i) => ({ atMs: instants[i] ?? 0, value: limitKw })),
  };
}

const MINUTE_MS = 60_000;
/** Chargers follow an unannounced decrease within their lease and settling time: 71.2 s by default. */
const FOLLOWED_WITHIN_MS = 2 * MINUTE_MS;
const DAY_MS = 86_400_000;
/** Longest span of the timeline, less a day's margin. */
const AHEAD_AT_MOST_MS = 365 * DAY_MS;

export interface ChartLines {
  readonly powerKw: StepLine;
  readonly effectiveKw: StepLine;
  readonly inForceKw: StepLine;
  /** Lowest limit in force of roll-ups with changes at unknown instants; in these, `inForceKw` is the mean. */
  readonly lowestKw: StepLine;
  /**
   * Power up to this line is no violation: chargers may still be following a decrease. In a roll-up with a change of
   * the limit only the mean of the power is known.
   */
  readonly allowedKw: StepLine;
  /** Load of a building behind the same connection, and this load with its reserve; null without a meter value. */
  readonly buildingKw: StepLine;
  readonly occupiedKw: StepLine;
  /** The grid operator's limit; null while there is none. */
  readonly operatorKw: StepLine;
  /** Highest current of each roll-up on L1, L2 and L3 of the grid, A; empty if none is known. */
  readonly phasesA: readonly StepLine[];
  /** The feeder of these currents; null for all chargers. */
  readonly phasesOf: string | null;
}

interface Past {
  readonly powerKw: StepLine;
  readonly buildingKw: StepLine;
  readonly occupiedKw: StepLine;
  readonly operatorKw: StepLine;
  readonly phasesA: readonly StepLine[];
  readonly phasesOf: string | null;
  /** The answer of the service; limits are derived from it together with later events. */
  readonly power: LocationPower | undefined;
  readonly effectiveKw: StepLine;
  /** The location existed from this instant on. */
  readonly knownFromMs: EpochMs;
  /** Duration of one point of power. */
  readonly stepMs: number;
}

const NOTHING: Past = {
  powerKw: [],
  buildingKw: [],
  occupiedKw: [],
  operatorKw: [],
  phasesA: [],
  phasesOf: null,
  power: undefined,
  effectiveKw: [],
  knownFromMs: Number.NEGATIVE_INFINITY,
  stepMs: MINUTE_MS,
};

/**
 * Past data of the visible span, read again each minute. `hasOperator`: a grid operator may limit the location.
 * `feeder`: feeder of the shown currents.
 */
export function usePast(
  locationId: string,
  view: TimeView,
  nowMs: EpochMs,
  hasOperator: boolean,
  feeder: string | undefined,
): Resource<Past> {
  const minuteMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  const { fromMs, toMs } = spanOf(view, minuteMs);
  const untilMs = Math.min(toMs, minuteMs + MINUTE_MS);
  const step = stepSecondsOf({ fromMs, toMs });
  return useResource(
    async (client, signal) => {
      if (untilMs <= fromMs) return NOTHING;
      const asked = { locationId, fromMs, toMs: untilMs };
      const [past, operatorKw] = await Promise.all([
        readPast(client, signal, asked, { step, feeder }),
        hasOperator ? readOperator(client, signal, asked) : [],
      ]);
      return { ...past, operatorKw };
    },
    [locationId, fromMs, untilMs, step, Number(hasOperator), feeder ?? ''],
  );
}

/** The plan for at least a day. `nowMs` decides only its end, and triggers a read each minute. */
export function useTimeline(locationId: string, view: TimeView, nowMs: EpochMs): Resource<LocationTimeline> {
  const minuteMs = Math.ceil(nowMs / MINUTE_MS) * MINUTE_MS;
  const aheadMs = spanOf(view, minuteMs).toMs + 2 * MINUTE_MS - minuteMs;
  const toMs = minuteMs + Math.min(aheadMs, AHEAD_AT_MOST_MS);
  // A request without an end gets a day, so the first read does not depend on the viewer's clock.
  const query = aheadMs <= DAY_MS ? '' : path`?to=${new Date(toMs).toISOString()}`;
  return useResource(
    (client, signal) =>
      client.get<LocationTimeline>(`${path`/locations/${locationId}/timeline`}${query}`, signal),
    [locationId, minuteMs, query],
  );
}

export function useChartLines(
  past: Past | undefined,
  live: LiveLines,
  timeline: LocationTimeline | undefined,
): ChartLines {
  return useMemo(() => {
    const { powerKw, buildingKw, occupiedKw, operatorKw, phasesA, phasesOf } = past ?? NOTHING;
    const { power, effectiveKw, stepMs } = past ?? NOTHING;
    const future = timeline === undefined ? { effectiveKw: [], inForceKw: [] } : futureLines(timeline);
    const known = [effectiveKw, lowerOf(effectiveKw, operatorKw)];
    const { inForceKw, lowestKw, highestKw } =
      power === undefined
        ? { inForceKw: live.inForceKw, lowestKw: [], highestKw: [] }
        : limitInForce(power, known, live.inForceKw);
    const followedKw = highestOfLast(inForceKw, Math.max(FOLLOWED_WITHIN_MS, stepMs));
    const end = (line: StepLine) => (timeline === undefined ? line : until(line, Date.parse(timeline.to)));
    return {
      powerKw: bridged(powerKw, live.powerKw, UNTOLD_AT_MOST_MS),
      effectiveKw: end(continued(effectiveKw, future.effectiveKw)),
      // For the current time, events are exact; the plan may lack a building or a grid operator.
      inForceKw: end(
        live.atMs === undefined
          ? continued(inForceKw, future.inForceKw)
          : thenPlanned(inForceKw, future.inForceKw, live.atMs),
      ),
      lowestKw,
      allowedKw: higherOf(followedKw, highestKw),
      buildingKw: bridged(buildingKw, live.buildingKw, UNTOLD_AT_MOST_MS),
      occupiedKw: bridged(occupiedKw, live.occupiedKw, UNTOLD_AT_MOST_MS),
      operatorKw: continued(operatorKw, live.operatorKw),
      phasesA,
      phasesOf,
    };
  }, [past, live, timeline]);
}

interface AskedSpan extends Span {
  readonly locationId: string;
}

async function readPast(
  client: ApiClient,
  signal: AbortSignal,
  { locationId, fromMs, toMs }: AskedSpan,
  { step, feeder }: { readonly step: number; readonly feeder: string | undefined },
): Promise<Omit<Past, 'operatorKw'>> {
  const span = queryOf({ fromMs, toMs });
  const ofFeeder = feeder === undefined ? '' : path`&feeder=${feeder}`;
  const [power, history] = await Promise.all([
    client.get<LocationPower>(
      `${path`/locations/${locationId}/power`}?${span}&step=${step}${ofFeeder}`,
      signal,
    ),
    readPages<LocationHistory>(
      client,
      signal,
      `${path`/locations/${locationId}/history`}?${span}`,
      (whole, page) => ({
        ...page,
        submissions: [...whole.submissions, ...page.submissions],
        permanentLimits: [...whole.permanentLimits, ...page.permanentLimits],
      }),
    ),
  ]);
  const firstSetAt = history.permanentLimits[0]?.setAt;
  return {
    ...pastLines(power),
    power,
    effectiveKw: effectiveHistory(history, { startsAtMs: fromMs, endsAtMs: toMs }),
    knownFromMs: firstSetAt === undefined ? toMs : Math.max(fromMs, Date.parse(firstSetAt)),
    stepMs: 1000 * step,
  };
}

async function readOperator(
  client: ApiClient,
  signal: AbortSignal,
  { locationId, ...span }: AskedSpan,
): Promise<StepLine> {
  const history = await readPages<OperatorHistory>(
    client,
    signal,
    `${path`/locations/${locationId}/operator-limit/history`}?${queryOf(span)}`,
    (whole, page) => ({ ...page, events: [...whole.events, ...page.events] }),
  );
  return operatorLine(history);
}

function queryOf({ fromMs, toMs }: Span): string {
  return path`from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`;
}

/** Reads all pages and combines them. */
async function readPages<Page extends { readonly nextCursor: string | null }>(
  client: ApiClient,
  signal: AbortSignal,
  address: string,
  joined: (whole: Page, page: Page) => Page,
): Promise<Page> {
  let whole = await client.get<Page>(address, signal);
  while (whole.nextCursor !== null) {
    const page = await client.get<Page>(`${address}&${path`cursor=${whole.nextCursor}`}`, signal);
    whole = joined(whole, page);
  }
  return whole;
}
