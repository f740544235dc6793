// Converts answers of the service to lines of the chart: the past from roll-ups and submissions, the future from the
// timeline.
import { compositeTimeline, EMPTY_STACK, putProfile } from '../../machines/limits/profile-stack.js';
import { GRID_PHASES } from '../../machines/power/fuses.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import type { OperatorHistory } from '../../src/wire/grid-operator.js';
import type { LocationHistory, LocationPower } from '../../src/wire/operator-history.js';
import type { LocationTimeline } from '../../src/wire/operator-timeline.js';
import type { Step, StepLine } from './step-line.js';

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
export function operatorLine({ events }: Pick<OperatorHistory, 'events'>): StepLine {
  return events.map(({ recordedAt, limitKw }) => ({ atMs: Date.parse(recordedAt), value: limitKw }));
}

/** The planned effective limit, and the planned limit in force. */
export function futureLines({ segments }: Pick<LocationTimeline, 'segments'>): {
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
