// Power budget of a location, and the lower limit ahead that leases must not outlast (power-safety.md, rule 3).
import {
  type LimitInForce,
  type LimitSegment,
  type LimitSources,
  limitInForceAt,
  limitsInForce,
  lowestLimitFrom,
  nextLimitChangeAfter,
} from '../limits/limit-in-force.js';
import { activeProfileAt, type ProfileStack } from '../limits/profile-stack.js';
import { LOOKS_AHEAD_MS } from '../policy/capacity-walk.js';
import type { Policy } from '../policy/policies.js';
import type { EpochMs } from '../values/time.js';
import { wattsOfLimit } from '../values/units.js';
import type { ConnectorActor } from './connector.machine.js';

/** Budget from profiles, cluster shares and the wall clock. Whole W. */
export interface Budget {
  /** The lowest limit in force within the notice (rule 3). */
  readonly budgetW: number;
  /** The limit in force now. */
  readonly limitW: number;
  /** Monotonic time at which a limit below `limitW` begins; now if no such limit is known. */
  readonly bindsFromMs: number;
  /**
   * A person or the grid operator set the binding limit. Such a limit falls in steps, and chargers get time to follow.
   */
  readonly isOrdered: boolean;
  /** The same for the limit in force now, which differs if a lower one is known to begin. */
  readonly isLimitOrdered: boolean;
  /** Monotonic time until which `budgetW` and `fall` hold. */
  readonly untilMs: number;
  /** Limits below `budgetW` that begin after the notice and before the longest lease ends; undefined without one. */
  readonly fall: LimitFall | undefined;
  /** The lowest limit that may pause locked connectors, W; infinite without one. */
  readonly pausingW: number;
  /** The lowest share that a cluster grants, W; infinite without a binding cluster. */
  readonly clusterShareW: number;
  /**
   * The entitlement that the clusters can carry, W. It matters if the minimum of the locks exceeds the shares. Infinite
   * without a binding cluster.
   */
  readonly clusterRoomW: number;
  /** Raises stop at this power, W. It is below `budgetW` while entitlements of cluster members exceed their shares. */
  readonly raisesToW: number;
  /** A cluster's share is the binding limit. */
  readonly isClusterBound: boolean;
  /** The lowest known limit, now or later. Fail-safes must fit it. */
  readonly lowestW: number;
  /** The lowest known limit of the location itself, W. Cluster shares do not count. */
  readonly lowestOwnW: number;
  /**
   * Load of the building on each phase of the connection, now and at most; undefined without a site meter or phase
   * data.
   */
  readonly building?: BuildingOnPhases | undefined;
  /** Order of service by the policy of the location; undefined if all cars share equally. */
  readonly service?: Ordering | undefined;
  /** A lock begins before the end of the longest lease that can be granted now. */
  isLockNear(key: string): boolean;
  /** A lock holds at that monotonic time. */
  isLockedAt(key: string, atMs: number): boolean;
  /** Highest limit of a lock that begins within the notice, kW; undefined without one (R52). */
  lockAheadKw(key: string): number | undefined;
  /** Monotonic time at which the notice of the next lock begins; infinite if no lock is known. */
  readonly lockNoticeAtMs: number;
}

/** Policy of a location, and the limits that it counts on. */
interface Ordering {
  readonly policy: Policy;
  readonly now: EpochMs;
  /** Limits from now on, in order and without gaps, as far as the location knows them and a policy looks. */
  limitsAhead(): readonly LimitSegment[];
}

/** Limits below the budget that are known to begin. */
export interface LimitFall
  extends Pick<Budget, 'budgetW' | 'bindsFromMs' | 'isOrdered' | 'isClusterBound' | 'raisesToW' | 'untilMs'> {
  /** Instant at which the first of them begins. */
  readonly beginsAt: Instant;
}

/** Load of the building beside the chargers on L1, L2 and L3 of the connection, tenths of an ampere. */
export interface BuildingOnPhases {
  readonly nowTenthsA: readonly number[];
  /** Applies while the site meter is unreliable. */
  readonly mostTenthsA: readonly number[];
}

/** The part of a location that determines its budget. */
export interface LimitedLocation {
  readonly sources: LimitSources;
  /** As of the last event. */
  readonly limit: LimitInForce;
  readonly buildingOnPhases: BuildingOnPhases | undefined;
  /** undefined if all cars share equally. */
  readonly policy?: Policy | undefined;
  readonly connectors: ReadonlyMap<string, ConnectorActor>;
}

/** One instant on two clocks, ms: `now` on the wall clock, `nowMs` on the monotonic clock. */
export interface Instant {
  readonly now: EpochMs;
  readonly nowMs: number;
}

/** Spans of a location's look-ahead, whole ms. */
export interface LookAhead {
  /** A decrease leaves this long before it must have taken effect. */
  readonly noticeMs: number;
  /** Time from now to the end of the longest lease that is granted now. */
  readonly horizonMs: number;
}

export function budgetOf(
  location: LimitedLocation,
  { now, nowMs }: Instant,
  { noticeMs, horizonMs }: LookAhead,
): Budget {
  const { sources, limit } = location;
  const lockStacks = lockStacksOf(location.connectors);
  const toMonotonic = (atMs: EpochMs) => nowMs + (atMs - now);
  let clusterRoomW = Number.POSITIVE_INFINITY;
  let sharedRaisesToW = Number.POSITIVE_INFINITY;
  for (const { share } of sources) {
    if (share === undefined) continue;
    clusterRoomW = Math.min(clusterRoomW, share.roomW);
    sharedRaisesToW = Math.min(sharedRaisesToW, share.raisesToW);
  }
  const lowestOf = (lowest: LimitInForce, bindsFrom: EpochMs, untilMs: number) => {
    const budgetW = wattsOfLimit(lowest.limitKw);
    return {
      budgetW,
      bindsFromMs: toMonotonic(bindsFrom),
      isOrdered: lowest.source.isOrdered === true,
      isClusterBound: lowest.source.share !== undefined,
      raisesToW: Math.min(budgetW, sharedRaisesToW),
      untilMs,
    };
  };
  const [noticeEnd, horizonEnd] = [now + noticeMs, now + Math.max(noticeMs, horizonMs)];
  let [lowest, bindsFrom] = [limit, now];
  let near: { readonly lowest: LimitInForce; readonly bindsFrom: EpochMs } | undefined;
  let fallFrom: EpochMs | undefined;
  let firstBoundary: EpochMs | undefined;
  let boundary = nextLimitChangeAfter(sources, now);
  for (; boundary <= horizonEnd; boundary = nextLimitChangeAfter(sources, boundary)) {
    if (boundary > noticeEnd) {
      near ??= { lowest, bindsFrom };
      firstBoundary ??= boundary;
    }
    const ahead = limitInForceAt(sources, boundary);
    if (wattsOfLimit(ahead.limitKw) >= wattsOfLimit(lowest.limitKw)) continue;
    if (bindsFrom === now) bindsFrom = boundary;
    if (near !== undefined) fallFrom ??= boundary;
    lowest = ahead;
  }
  // From that time on, the next boundary lies within the horizon.
  const foreseenUntilMs = toMonotonic(boundary - (horizonEnd - now));
  const noticedAtMs = toMonotonic((firstBoundary ?? Number.POSITIVE_INFINITY) - noticeMs);
  const { budgetW, bindsFromMs, isOrdered, isClusterBound, raisesToW, untilMs } =
    near === undefined
      ? lowestOf(lowest, bindsFrom, foreseenUntilMs)
      : lowestOf(near.lowest, near.bindsFrom, Math.min(foreseenUntilMs, noticedAtMs));
  const fall =
    fallFrom === undefined
      ? undefined
      : {
          ...lowestOf(lowest, bindsFrom, foreseenUntilMs),
          beginsAt: { now: fallFrom, nowMs: toMonotonic(fallFrom) },
        };
  // Each field by itself: code that meets many shapes is slow, and a spread makes new ones.
  return {
    budgetW,
    bindsFromMs,
    isOrdered,
    isClusterBound,
    raisesToW,
    untilMs,
    fall,
    limitW: wattsOfLimit(limit.limitKw),
    isLimitOrdered: limit.source.isOrdered === true,
    pausingW: pausingWOf(sources),
    clusterShareW: leastShareWOf(sources),
    clusterRoomW,
    lowestW: wattsOfLimit(lowestLimitFrom(sources, now).limitKw),
    lowestOwnW: wattsOfLimit(lowestLimitFrom(ownSourcesOf(sources), now).limitKw),
    building: location.buildingOnPhases,
    service: location.policy && {
      policy: location.policy,
      now,
      limitsAhead: () => limitsInForce(sources, [{ startsAtMs: now, endsAtMs: now + LOOKS_AHEAD_MS }]),
    },
    isLockNear(key) {
      const lockStack = lockStacks?.get(key);
      return lockStack !== undefined && beginsWithin(lockStack, now, horizonEnd);
    },
    isLockedAt(key, atMs) {
      const lockStack = lockStacks?.get(key);
      return lockStack !== undefined && activeProfileAt(lockStack, now + (atMs - nowMs)) !== undefined;
    },
    lockAheadKw(key) {
      const lockStack = lockStacks?.get(key);
      return lockStack && highestLockWithin(lockStack, now, noticeEnd);
    },
    lockNoticeAtMs: toMonotonic(nextLockAfter(lockStacks?.values() ?? [], noticeEnd) - noticeMs),
  };
}

/** Sources without the shares of clusters. */
function ownSourcesOf(sources: LimitSources): LimitSources {
  if (sources.every(({ share }) => share === undefined)) return sources;
  const [own, ...others] = sources;
  return [own, ...others.filter(({ share }) => share === undefined)];
}

/** The lowest share among a location's clusters, W; infinite if the location is in no cluster. */
export function leastShareWOf(sources: LimitSources): number {
  let leastW = Number.POSITIVE_INFINITY;
  for (const { share } of sources) if (share !== undefined && share.shareW < leastW) leastW = share.shareW;
  return leastW;
}

/** The lowest limit that may pause locked connectors, W; infinite without one. */
function pausingWOf(sources: LimitSources): number {
  let leastW = Number.POSITIVE_INFINITY;
  for (const { current, mayPauseLocks } of sources)
    if (mayPauseLocks && current !== undefined) leastW = Math.min(leastW, wattsOfLimit(current.limitKw));
  return leastW;
}

function highestLockWithin(stack: ProfileStack, now: EpochMs, until: EpochMs): number | undefined {
  let highestKw: number | undefined;
  for (const { startsAtMs } of stack) {
    if (startsAtMs <= now || startsAtMs > until) continue;
    const lockKw = activeProfileAt(stack, startsAtMs)?.limitKw ?? 0;
    highestKw = Math.max(highestKw ?? 0, lockKw);
  }
  return highestKw;
}

/** Profiles of the connectors that have any, by key; undefined if none has, as a rule. */
function lockStacksOf(
  connectors: ReadonlyMap<string, ConnectorActor>,
): ReadonlyMap<string, ProfileStack> | undefined {
  let stacks: Map<string, ProfileStack> | undefined;
  for (const [key, connector] of connectors) {
    const { stack } = connector.getSnapshot().context;
    if (stack.length === 0) continue;
    stacks ??= new Map();
    stacks.set(key, stack);
  }
  return stacks;
}

/** The first start of a lock after `atMs`; infinite without one. */
function nextLockAfter(stacks: Iterable<ProfileStack>, atMs: EpochMs): EpochMs {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const stack of stacks)
    for (const { startsAtMs } of stack) if (startsAtMs > atMs && startsAtMs < nextMs) nextMs = startsAtMs;
  return nextMs;
}

function beginsWithin(stack: ProfileStack, now: EpochMs, until: EpochMs): boolean {
  for (const { startsAtMs } of stack) if (startsAtMs > now && startsAtMs <= until) return true;
  return false;
}
