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
import {
  bridged,
  combined,
  continued,
  highestOfLast,
  type Step,
  type StepLine,
  since,
  until,
  valueAt,
} from './step-line.js';
import { type Span, spanOf, stepSecondsOf, type TimeView } from './time-view.js';
import type { LiveLines } from './use-live-lines.js';

// Derives the limit in force of the past from roll-ups. Each roll-up has the mean and the lowest limit of its interval,
// but not the instants of changes. A mean need not be a limit that ever applied: if a window of 22 kW begins within a
// minute, the mean of this minute may be 29 kW. Therefore steps come from lines with known steps, if these agree with
// the roll-up.

interface LimitInForce {
  /** Known steps, or the mean of a roll-up with unknown steps. */
  readonly inForceKw: StepLine;
  /** The lowest limit of roll-ups with unknown steps; null elsewhere. */
  readonly lowestKw: StepLine;
  /**
   * The highest limit of each roll-up with a change, for its whole duration, because only the mean of the power is
   * known. Null elsewhere.
   */
  readonly highestKw: StepLine;
}

/** Means are stored in whole watts. */
const ROUNDING_KW = 0.001;
/**
 * Usual upper bound of the delay between a boundary and the limit that follows from it: the time to the next decision.
 */
const LATE_MS = 1_000;
/**
 * Upper bound of the gap between stored roll-ups, which end with the last full minute, and events since the page
 * opened.
 */
const UNTOLD_AT_MOST_MS = 65_000;

interface RollUp {
  readonly fromMs: EpochMs;
  readonly toMs: EpochMs;
  readonly meanKw: number;
  readonly lowestKw: number;
}

/**
 * @param known exact lines that the limit in force may have followed, such as the effective limit
 * @param live the limit in force by events since the page opened
 */
export function limitInForce(power: LocationPower, known: readonly StepLine[], live: StepLine): LimitInForce {
  const rollUps = rollUpsOf(power);
  const inForce: Step[] = [];
  const lowest: Step[] = [];
  const highest: Step[] = [];
  let beforeKw: number | undefined;
  for (const [i, rollUp] of rollUps.entries()) {
    const { fromMs, toMs, meanKw, lowestKw } = rollUp;
    if (inForce.length > 0 && rollUps[i - 1]?.toMs !== fromMs) beforeKw = undefined;
    const afterKw = settledKwAfter(rollUps, i, live);
    const steps = isSettled(rollUp) ? flat(fromMs, meanKw) : stepsIn(rollUp, known, beforeKw, afterKw);
    inForce.push(...(steps ?? flat(fromMs, meanKw)), { atMs: toMs, value: null });
    if (steps === undefined) lowest.push({ atMs: fromMs, value: lowestKw }, { atMs: toMs, value: null });
    if (!isSettled(rollUp)) {
      const limitsKw = steps?.map(({ value }) => value ?? 0) ?? [meanKw, beforeKw ?? 0, afterKw ?? 0];
      highest.push({ atMs: fromMs, value: Math.max(...limitsKw) }, { atMs: toMs, value: null });
    }
    beforeKw = steps?.at(-1)?.value ?? undefined;
  }
  return {
    inForceKw: withLive(tidy(inForce), live, known),
    lowestKw: tidy(lowest),
    highestKw: tidy(highest),
  };
}

function rollUpsOf({ points, stepSeconds }: LocationPower): RollUp[] {
  return points.map(({ at, meanLimitKw, limitKw }) => {
    const fromMs = Date.parse(at);
    return { fromMs, toMs: fromMs + 1000 * stepSeconds, meanKw: meanLimitKw, lowestKw: limitKw };
  });
}

function isSettled({ meanKw, lowestKw }: RollUp): boolean {
  return Math.abs(meanKw - lowestKw) <= ROUNDING_KW;
}

/** The limit at the end of a roll-up: that of the next roll-up, or the first one by events. */
function settledKwAfter(rollUps: readonly RollUp[], i: number, live: StepLine): number | undefined {
  const [ended, next] = [rollUps[i], rollUps[i + 1]];
  if (ended === undefined) return undefined;
  if (next !== undefined) return next.fromMs === ended.toMs && isSettled(next) ? next.meanKw : undefined;
  const [first] = live;
  if (first === undefined || first.atMs - ended.toMs > UNTOLD_AT_MOST_MS) return undefined;
  return valueAt(live, Math.max(ended.toMs, first.atMs)) ?? undefined;
}

/** Undefined if no known line agrees with the roll-up. */
function stepsIn(
  rollUp: RollUp,
  known: readonly StepLine[],
  beforeKw: number | undefined,
  afterKw: number | undefined,
): StepLine | undefined {
  const capKw = Math.max(beforeKw ?? 0, afterKw ?? 0);
  for (const line of known)
    for (const atMostKw of [Number.POSITIVE_INFINITY, capKw]) {
      const steps = stepsOf(line, rollUp, atMostKw);
      if (steps !== undefined && agrees(steps, rollUp)) return steps;
    }
  return oneStep(rollUp, beforeKw, afterKw);
}

function stepsOf(line: StepLine, { fromMs, toMs }: RollUp, atMostKw: number): StepLine | undefined {
  const steps = since(line, fromMs).filter(({ atMs }) => atMs < toMs);
  if (steps.some(({ value }) => value === null)) return undefined;
  return steps.map(({ atMs, value }) => ({ atMs, value: Math.min(value ?? 0, atMostKw) }));
}

/** True if mean and lowest value equal those of the roll-up, apart from the delay of each change. */
function agrees(steps: StepLine, { fromMs, toMs, meanKw, lowestKw }: RollUp): boolean {
  let sum = 0;
  let late = 0;
  for (const [i, { atMs, value }] of steps.entries()) {
    sum += (value ?? 0) * ((steps[i + 1]?.atMs ?? toMs) - atMs);
    if (i > 0) late += Math.abs((value ?? 0) - (steps[i - 1]?.value ?? 0)) * LATE_MS;
  }
  const lengthMs = toMs - fromMs;
  const least = Math.min(...steps.map(({ value }) => value ?? 0));
  return (
    Math.abs(least - lowestKw) <= ROUNDING_KW &&
    Math.abs(sum / lengthMs - meanKw) <= ROUNDING_KW + late / lengthMs
  );
}

/** For a single change from the previous to the next limit, the mean determines its instant. */
function oneStep(
  { fromMs, toMs, meanKw, lowestKw }: RollUp,
  beforeKw: number | undefined,
  afterKw: number | undefined,
): StepLine | undefined {
  if (beforeKw === undefined || afterKw === undefined || beforeKw === afterKw) return undefined;
  if (Math.abs(Math.min(beforeKw, afterKw) - lowestKw) > ROUNDING_KW) return undefined;
  const share = (meanKw - afterKw) / (beforeKw - afterKw);
  if (share < 0 || share > 1) return undefined;
  const atMs = Math.round(fromMs + share * (toMs - fromMs));
  return [
    { atMs: fromMs, value: beforeKw },
    { atMs, value: afterKw },
  ];
}

/**
 * Appends the limits by events to the roll-ups. In the gap between them, a known line applies if it agrees on both
 * sides.
 */
function withLive(stored: StepLine, live: StepLine, known: readonly StepLine[]): StepLine {
  const [first] = live;
  const end = stored.at(-1);
  const held = stored.at(-2)?.value ?? null;
  if (first === undefined || end === undefined || held === null) return continued(stored, live);
  if (first.atMs <= end.atMs || first.atMs - end.atMs > UNTOLD_AT_MOST_MS) return continued(stored, live);
  const gap = { fromMs: end.atMs, toMs: first.atMs, meanKw: 0, lowestKw: 0 };
  const capKw = Math.max(held, first.value ?? 0);
  for (const line of known)
    for (const atMostKw of [Number.POSITIVE_INFINITY, capKw]) {
      const steps = stepsOf(line, gap, atMostKw);
      const isRight = steps?.[0]?.value === held && steps.at(-1)?.value === first.value;
      if (steps !== undefined && isRight) return [...stored.slice(0, -1), ...steps.slice(1), ...live];
    }
  return [...stored.slice(0, -1), ...live];
}

function flat(atMs: EpochMs, value: number): StepLine {
  return [{ atMs, value }];
}

/** Removes the end of a roll-up if the next one begins at the same instant. */
function tidy(steps: readonly Step[]): StepLine {
  return steps.filter(({ atMs }, i) => steps[i + 1]?.atMs !== atMs);
}

/** The lower value, because two limits apply at once; if only one is known, that one. */
export function lowerOf(one: StepLine, other: StepLine): StepLine {
  return combined(one, other, (a, b) => (a === null || b === null ? (a ?? b) : Math.min(a, b)));
}

/** The higher value; if only one is known, that one. */
function higherOf(one: StepLine, other: StepLine): StepLine {
  return combined(one, other, (a, b) => (a === null || b === null ? (a ?? b) : Math.max(a, b)));
}

/** `known` until `atMs`, and afterwards the steps of `planned`. */
export function thenPlanned(known: StepLine, planned: StepLine, atMs: EpochMs): StepLine {
  return [...known.filter((step) => step.atMs <= atMs), ...planned.filter((step) => step.atMs > atMs)];
}

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
