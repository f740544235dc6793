// Limit in force at a location: the lowest of its own limit, its cluster shares, external limits and its connection.

import type { EpochMs, TimeWindow } from '../values/time.js';
import { wattsOfLimit } from '../values/units.js';
import type { GrantedShare } from './cluster-shares.js';
import { compositeTimeline, type LimitProfile, type ProfileStack } from './profile-stack.js';

/** Rule that sets the limit in force. Of equal limits the first in this order is named. */
export type LimitCause =
  | { readonly kind: 'permanentLimit' }
  | { readonly kind: 'profile'; readonly profile: LimitProfile }
  | { readonly kind: 'clusterShare'; readonly clusterId: string }
  | { readonly kind: 'operatorLimit' }
  | { readonly kind: 'peakShaving' }
  | { readonly kind: 'building' }
  | { readonly kind: 'physicalConnection' };

export interface LimitInForce {
  readonly limitKw: number;
  readonly cause: LimitCause;
  /** From the location's own profiles and permanent limit alone, kW. */
  readonly effectiveLimitKw: number;
}

/** Limits of a location at one instant. */
export interface LimitParts {
  /** The deciding profile; undefined if none is active. */
  readonly activeProfile: LimitProfile | undefined;
  readonly permanentLimitKw: number;
  /** By cluster id; only clusters that limit the location. */
  readonly clusterShares: Iterable<readonly [clusterId: string, share: Pick<GrantedShare, 'shareW'>]>;
  /** Limit of the grid operator; undefined without one. No priority lifts it. */
  readonly operatorLimitKw: number | undefined;
  /** Power that the billed average leaves for the chargers; undefined without such an average. */
  readonly peakShavingKw: number | undefined;
  /** Undefined without a known physical connection. */
  readonly connectionLimitKw: number | undefined;
  /** Remaining capacity of the connection beside the building; undefined without a meter. */
  readonly buildingLeavesKw: number | undefined;
}

export const LIMIT_CAUSES = [
  'permanentLimit',
  'profile',
  'clusterShare',
  'operatorLimit',
  'peakShaving',
  'building',
  'physicalConnection',
] as const satisfies readonly LimitCause['kind'][];

const PERMANENT_LIMIT: LimitCause = { kind: 'permanentLimit' };
const OPERATOR_LIMIT: LimitCause = { kind: 'operatorLimit' };
const PEAK_SHAVING: LimitCause = { kind: 'peakShaving' };
const BUILDING: LimitCause = { kind: 'building' };
const PHYSICAL_CONNECTION: LimitCause = { kind: 'physicalConnection' };

/**
 * The lowest of all parts. The remaining capacity beside the building replaces the connection: it is larger than that
 * if the site feeds back and chargers may use it. A share counts in whole watts, as granted. A share that lowers the
 * limit by less than a watt has no effect.
 */
export function limitInForce(parts: LimitParts): LimitInForce {
  const { activeProfile, permanentLimitKw, clusterShares, operatorLimitKw, peakShavingKw } = parts;
  const connectionLimitKw = parts.buildingLeavesKw ?? parts.connectionLimitKw;
  const effectiveLimitKw = activeProfile?.limitKw ?? permanentLimitKw;
  let limitKw = effectiveLimitKw;
  let cause: LimitCause =
    activeProfile === undefined ? PERMANENT_LIMIT : { kind: 'profile', profile: activeProfile };
  let limitW = wattsOfLimit(limitKw);
  for (const [clusterId, { shareW }] of clusterShares) {
    if (shareW >= limitW) continue;
    limitW = shareW;
    limitKw = shareW / 1000;
    cause = { kind: 'clusterShare', clusterId };
  }
  if (operatorLimitKw !== undefined && operatorLimitKw < limitKw) {
    limitKw = operatorLimitKw;
    cause = OPERATOR_LIMIT;
  }
  if (peakShavingKw !== undefined && peakShavingKw < limitKw) {
    limitKw = peakShavingKw;
    cause = PEAK_SHAVING;
  }
  if (connectionLimitKw !== undefined && connectionLimitKw < limitKw) {
    limitKw = connectionLimitKw;
    cause = parts.buildingLeavesKw === undefined ? PHYSICAL_CONNECTION : BUILDING;
  }
  return { limitKw, cause, effectiveLimitKw };
}

/** From `atMs` on, a cluster's members get their effective limit times `scale`. */
export interface ScaleStep {
  readonly atMs: EpochMs;
  readonly scale: number;
}

/** Known scales of a cluster in order of time. The first applies from the start of the requested time. */
export interface ClusterOutlook {
  readonly clusterId: string;
  readonly steps: readonly ScaleStep[];
}

/** Limits of a location over time, without shares of clusters. */
export interface OwnLimits {
  readonly stack: ProfileStack;
  readonly permanentLimitKw: number;
  readonly operatorLimit: LimitOutlook | undefined;
  readonly peakShaving: LimitOutlook | undefined;
  readonly connectionLimitKw: number | undefined;
  /** Remaining capacity of the connection beside the building. */
  readonly buildingLeaves: LimitOutlook | undefined;
}

/** An external limit, as far as known now. */
export interface LimitOutlook {
  readonly limitKw: number;
  /** Infinity without a named end. */
  readonly endsAtMs: EpochMs;
  /** Limit from that end on; left out without one. */
  readonly thenKw?: number;
}

export interface LimitSegment extends TimeWindow, LimitInForce {}

/**
 * Limit in force throughout `spans`, by present information. A share on its way to the location counts as arrived.
 * @param spans in order and without overlap.
 * @param most the result ends early at this number of segments.
 * @returns segments in order, without gaps inside a span; neighbours of one span differ
 */
export function limitsInForce(
  own: OwnLimits,
  clusters: readonly ClusterOutlook[],
  spans: readonly TimeWindow[],
  most = Number.POSITIVE_INFINITY,
): readonly LimitSegment[] {
  const { permanentLimitKw, operatorLimit, peakShaving, connectionLimitKw, buildingLeaves } = own;
  const outlooks = [operatorLimit, peakShaving, buildingLeaves];
  const segments: LimitSegment[] = [];
  const scales = clusters.map(({ clusterId, steps }) => new ScaleCursor(clusterId, steps));
  for (const span of spans) {
    const firstOfSpan = segments.length;
    for (const { startsAtMs, endsAtMs, priority } of compositeTimeline(own.stack, undefined, span)) {
      const activeProfile = own.stack.find((held) => held.priority === priority);
      const effectiveLimitKw = activeProfile?.limitKw ?? permanentLimitKw;
      let atMs = startsAtMs;
      while (atMs < endsAtMs) {
        let untilMs = Math.min(endsAtMs, ...outlooks.map((outlook) => endAfter(outlook, atMs)));
        const clusterShares: [string, { shareW: number }][] = [];
        for (const cursor of scales) {
          const shareW = wattsOfLimit(effectiveLimitKw * cursor.scaleAt(atMs));
          clusterShares.push([cursor.clusterId, { shareW }]);
          untilMs = Math.min(untilMs, cursor.nextAtMs);
        }
        const parts = {
          activeProfile,
          permanentLimitKw,
          clusterShares,
          operatorLimitKw: limitKwAt(operatorLimit, atMs),
          peakShavingKw: limitKwAt(peakShaving, atMs),
          connectionLimitKw,
          buildingLeavesKw: limitKwAt(buildingLeaves, atMs),
        };
        const limit = limitInForce(parts);
        appendSegment(segments, firstOfSpan, { ...limit, startsAtMs: atMs, endsAtMs: untilMs });
        if (segments.length > most) return segments.slice(0, most);
        atMs = untilMs;
      }
    }
  }
  return segments;
}

/** Undefined if the outlook sets no limit then. */
export function limitKwAt(outlook: LimitOutlook | undefined, atMs: EpochMs): number | undefined {
  return outlook !== undefined && atMs < outlook.endsAtMs ? outlook.limitKw : outlook?.thenKw;
}

/** End of the present limit if it is after `atMs`; otherwise infinite. */
function endAfter(outlook: LimitOutlook | undefined, atMs: EpochMs): EpochMs {
  return outlook !== undefined && atMs < outlook.endsAtMs ? outlook.endsAtMs : Number.POSITIVE_INFINITY;
}

/** Extends the last segment if only the time differs. */
function appendSegment(segments: LimitSegment[], firstOfSpan: number, segment: LimitSegment): void {
  const last = segments.at(-1);
  const isSame =
    last !== undefined &&
    segments.length > firstOfSpan &&
    last.limitKw === segment.limitKw &&
    last.effectiveLimitKw === segment.effectiveLimitKw &&
    isSameCause(last.cause, segment.cause);
  if (isSame) segments[segments.length - 1] = { ...last, endsAtMs: segment.endsAtMs };
  else segments.push(segment);
}

function isSameCause(a: LimitCause, b: LimitCause): boolean {
  if (a.kind === 'profile') return b.kind === 'profile' && a.profile === b.profile;
  if (a.kind === 'clusterShare') return b.kind === 'clusterShare' && a.clusterId === b.clusterId;
  return a.kind === b.kind;
}

/** Walks the scales of one cluster; callers pass instants in order. */
class ScaleCursor {
  readonly clusterId: string;
  readonly #steps: readonly ScaleStep[];
  #next = 0;

  constructor(clusterId: string, steps: readonly ScaleStep[]) {
    this.clusterId = clusterId;
    this.#steps = steps;
  }

  scaleAt(atMs: EpochMs): number {
    while ((this.#steps[this.#next]?.atMs ?? Number.POSITIVE_INFINITY) <= atMs) this.#next++;
    return this.#steps[this.#next - 1]?.scale ?? 1;
  }

  /** Next change of the scale after the last passed instant. */
  get nextAtMs(): EpochMs {
    return this.#steps[this.#next]?.atMs ?? Number.POSITIVE_INFINITY;
  }
}
