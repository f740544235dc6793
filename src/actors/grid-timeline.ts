// The grid limit of a location over a span: its own stack, then its clusters, then its physical connection.
import { isDeepStrictEqual } from 'node:util';
import { compositeTimeline } from '../../machines/profile-stack.js';
import type { EpochMs, TimeWindow } from '../../machines/time.js';
import { clusterScales } from './cluster-scales.js';
import type { LocationEntity } from './entities.js';
import { causeOf, type GridLimit, underConnection } from './grid-limit.js';
import { type Assumption, ownLimitsOf } from './own-limits.js';

export interface GridSegment extends TimeWindow, GridLimit {
  /** By the location's own profiles alone, kW. */
  readonly effectiveLimitKw: number;
}

/**
 * Segments in order, without gaps, neighbours differing. It tells what follows from the profiles and clusters that are
 * known now, or from `assumption` where there is one; a share that is still on its way to the location is counted as there.
 * Where there would be more than `most` segments, it ends earlier.
 */
export function gridTimeline(
  location: LocationEntity,
  window: TimeWindow,
  most: number,
  assumption?: Assumption,
): readonly GridSegment[] {
  const { stack, permanentLimitKw } = ownLimitsOf(location, assumption);
  const own = compositeTimeline(stack, permanentLimitKw, window);
  const clusters = [...location.clusters].map((cluster) => ({
    clusterId: cluster.record.clusterId,
    steps: clusterScales(cluster, window, assumption),
  }));
  const instants = new Set([
    ...own.map(({ startsAtMs }) => startsAtMs),
    ...clusters.flatMap(({ steps }) => steps.map(({ atMs }) => atMs)),
  ]);
  const ownAt = follow(own, ({ startsAtMs }) => startsAtMs);
  const scaleAt = clusters.map(({ clusterId, steps }) => ({
    clusterId,
    at: follow(steps, ({ atMs }) => atMs),
  }));

  const segments: GridSegment[] = [];
  for (const startsAtMs of [...instants].sort((a, b) => a - b)) {
    const { priority, limitKw: effectiveLimitKw = permanentLimitKw } = ownAt(startsAtMs) ?? {};
    const profile = stack.find((held) => held.priority === priority);
    let least: GridLimit = { limitKw: effectiveLimitKw, cause: causeOf(profile) };
    for (const { clusterId, at } of scaleAt) {
      const shareKw = effectiveLimitKw * (at(startsAtMs)?.scale ?? 1);
      if (shareKw < least.limitKw) least = { limitKw: shareKw, cause: { kind: 'clusterShare', clusterId } };
    }
    if (segments.length > most) break;
    extend(segments, { ...underConnection(location, least), effectiveLimitKw, startsAtMs }, window.endsAtMs);
  }
  return segments.slice(0, most);
}

/** Appends a segment that lasts until `endsAtMs` for now, or lets the last one go on where nothing differs. */
function extend(
  segments: GridSegment[],
  { startsAtMs, ...limits }: Omit<GridSegment, 'endsAtMs'>,
  endsAtMs: EpochMs,
): void {
  const last = segments.at(-1);
  if (last !== undefined) {
    const { startsAtMs: _, endsAtMs: __, ...before } = last;
    if (isDeepStrictEqual(before, limits)) return;
    segments[segments.length - 1] = { ...last, endsAtMs: startsAtMs };
  }
  segments.push({ ...limits, startsAtMs, endsAtMs });
}

/** The last of `steps`, which are in order, that begins by the instant asked for; instants are asked in order. */
function follow<T>(steps: readonly T[], startOf: (step: T) => EpochMs): (atMs: EpochMs) => T | undefined {
  let next = 0;
  return (atMs) => {
    for (let step = steps[next]; step !== undefined && startOf(step) <= atMs; step = steps[next]) next++;
    return steps[next - 1];
  };
}
