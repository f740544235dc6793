// The limit in force at a location: the lowest of its own limit, its cluster shares, those from outside and its connection.

import type { EpochMs, TimeWindow } from '../values/time.js';
import { wattsOfLimit } from '../values/units.js';
import type { GrantedShare } from './cluster-shares.js';
import { compositeTimeline, type LimitProfile, type ProfileStack } from './profile-stack.js';

/** Which rule sets the limit in force. Of equal limits the first in this order is named. */
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
  /** By the location's own profiles and permanent limit alone, kW. */
  readonly effectiveLimitKw: number;
}

/** What may limit a location at one instant. */
export interface LimitParts {
  /** The profile that decides; undefined where none is active. */
  readonly activeProfile: LimitProfile | undefined;
  readonly permanentLimitKw: number;
  /** By cluster id: only clusters that bind the location. */
  readonly clusterShares: Iterable<readonly [clusterId: string, share: Pick<GrantedShare, 'shareW'>]>;
  /** What the grid operator lets the location use; undefined where it does not limit it. No priority lifts it. */
  readonly operatorLimitKw: number | undefined;
  /** What the average that the tariff bills leaves for the chargers; undefined where none is limited. */
  readonly peakShavingKw: number | undefined;
  /** undefined where no physical connection is known. */
  readonly connectionLimitKw: number | undefined;
  /** What the building beside the chargers leaves of it; undefined where no meter tells. */
  readonly buildingLeavesKw: number | undefined;
}

const PERMANENT_LIMIT: LimitCause = { kind: 'permanentLimit' };
const OPERATOR_LIMIT: LimitCause = { kind: 'operatorLimit' };
const PEAK_SHAVING: LimitCause = { kind: 'peakShaving' };
const BUILDING: LimitCause = { kind: 'building' };
const PHYSICAL_CONNECTION: LimitCause = { kind: 'physicalConnection' };

/**
 * The lowest of all parts. What the building leaves takes the place of the connection: where it feeds back, and that may be
 * used, it is more. A share counts in whole watts, as it is granted: one that takes less than a watt takes
 * nothing.
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

/** From `atMs` on, a cluster gives its members their effective limit times `scale`. */
export interface ScaleStep {
  readonly atMs: EpochMs;
  readonly scale: number;
}

/** A cluster as far as its windows are known now: its scales in order, the first by the beginning of what is asked. */
export interface ClusterOutlook {
  readonly clusterId: string;
  readonly steps: readonly ScaleStep[];
}

/** What limits a location over time, shares of clusters left aside. */
export interface OwnLimits {
  readonly stack: ProfileStack;
  readonly permanentLimitKw: number;
  readonly operatorLimit: LimitOutlook | undefined;
  readonly peakShaving: LimitOutlook | undefined;
  readonly connectionLimitKw: number | undefined;
  /** What the building leaves of the connection. */
  readonly buildingLeaves: LimitOutlook | undefined;
}

/** A limit that somebody outside sets, as far as it is known now. */
export interface LimitOutlook {
  readonly limitKw: number;
  /** Infinity where it names no end. */
  readonly endsAtMs: EpochMs;
  /** What it is from then on; left out where it is none. */
  readonly thenKw?: number;
}

/** A stretch of time with one limit. */
export interface LimitSegment extends TimeWindow, LimitInForce {}

/**
 * The limit in force throughout `spans`, which are in order and do not overlap, as follows from what is known now: a share
 * that is still on its way to the location counts as there. Segments in order, without gaps inside a span, neighbours of
 * one span differing. It ends early where there would be more than `most` segments.
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

/** undefined where it does not limit then. */
export function limitKwAt(outlook: LimitOutlook | undefined, atMs: EpochMs): number | undefined {
  return outlook !== undefined && atMs < outlook.endsAtMs ? outlook.limitKw : outlook?.thenKw;
}

/** When what is known of it ends, if that is after `atMs`. */
function endAfter(outlook: LimitOutlook | undefined, atMs: EpochMs): EpochMs {
  return outlook !== undefined && atMs < outlook.endsAtMs ? outlook.endsAtMs : Number.POSITIVE_INFINITY;
}

/** Lets the last segment go on where nothing but the time differs. */
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

/** Walks the scales of one cluster; instants are asked in order. */
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

  /** When the scale changes next after the instant that was asked last. */
  get nextAtMs(): EpochMs {
    return this.#steps[this.#next]?.atMs ?? Number.POSITIVE_INFINITY;
  }
}
