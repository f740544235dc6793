// Power budget of a location until the end of the longest lease that can be granted now (power-safety.md, rule 3).
import type { GrantedShare } from '../limits/cluster-shares.js';
import {
  type LimitInForce,
  type LimitOutlook,
  type LimitParts,
  limitInForce,
  limitKwAt,
} from '../limits/limit-in-force.js';
import {
  activeProfileAt,
  type LimitProfile,
  nextBoundaryAfter,
  type ProfileStack,
} from '../limits/profile-stack.js';
import { type EpochMs, statusAt } from '../values/time.js';
import { wattsOfLimit } from '../values/units.js';
import type { ConnectorActor } from './connector.machine.js';

/** Budget from profiles, cluster shares and the wall clock. Whole W. */
export interface Budget {
  /** The lowest limit in force until the end of the longest lease that can be granted now (rule 3). */
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
  /** Monotonic time until which `budgetW` holds. */
  readonly untilMs: number;
  /** The grid operator's limit, W; infinite without one. */
  readonly operatorW: number;
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
  /** A lock begins before the end of the longest lease that can be granted now. */
  isLockNear(key: string): boolean;
}

/** Load of the building beside the chargers on L1, L2 and L3 of the connection, tenths of an ampere. */
export interface BuildingOnPhases {
  readonly nowTenthsA: readonly number[];
  /** Applies while the site meter is unreliable. */
  readonly mostTenthsA: readonly number[];
}

/** The part of a location that determines its budget. */
export interface LimitedLocation extends LimitParts {
  readonly stack: ProfileStack;
  /** Share by cluster id, for each binding cluster. */
  readonly clusterShares: ReadonlyMap<string, GrantedShare>;
  /** As of the last event. */
  readonly limit: LimitInForce;
  /** The least that the building ever leaves of the connection, kW; undefined without a site meter. */
  readonly buildingLeavesAtLeastKw: number | undefined;
  /** Power that peak shaving leaves now and in the next billed windows; undefined without peak shaving. */
  readonly peakShaving: LimitOutlook | undefined;
  /** The least that peak shaving leaves in a new billed window. */
  readonly peakShavingAtLeastKw: number | undefined;
  readonly buildingOnPhases: BuildingOnPhases | undefined;
  readonly connectors: ReadonlyMap<string, ConnectorActor>;
}

const ORDERED: ReadonlySet<LimitInForce['cause']['kind']> = new Set([
  'permanentLimit',
  'profile',
  'operatorLimit',
]);

/** One instant on two clocks, ms: `now` on the wall clock, `nowMs` on the monotonic clock. */
export interface Instant {
  readonly now: EpochMs;
  readonly nowMs: number;
}

/** @param horizonMs time from now to the end of a lease that is granted now, ms */
export function budgetOf(location: LimitedLocation, { now, nowMs }: Instant, horizonMs: number): Budget {
  const { stack, limit, permanentLimitKw, operatorLimitKw, connectors } = location;
  const untilInstant = now + horizonMs;
  const limitW = wattsOfLimit(limit.limitKw);
  let [lowest, lowestW] = [limit, limitW];
  let bindsFromMs: number | undefined;
  let boundary = nextChangeAfter(location, now);
  while (boundary !== undefined && boundary <= untilInstant) {
    const parts = { ...location, peakShavingKw: limitKwAt(location.peakShaving, boundary) };
    const ahead = limitWith(parts, activeProfileAt(stack, boundary), permanentLimitKw);
    if (wattsOfLimit(ahead.limitKw) < lowestW) {
      [lowest, lowestW] = [ahead, wattsOfLimit(ahead.limitKw)];
      bindsFromMs ??= nowMs + (boundary - now);
    }
    boundary = nextChangeAfter(location, boundary);
  }
  return {
    budgetW: lowestW,
    limitW,
    bindsFromMs: bindsFromMs ?? nowMs,
    isOrdered: ORDERED.has(lowest.cause.kind),
    isLimitOrdered: ORDERED.has(limit.cause.kind),
    // From that time on, the next boundary lies within the horizon.
    untilMs: boundary === undefined ? Number.POSITIVE_INFINITY : nowMs + (boundary - untilInstant),
    operatorW: operatorLimitKw === undefined ? Number.POSITIVE_INFINITY : wattsOfLimit(operatorLimitKw),
    clusterShareW: leastShareWOf(location.clusterShares),
    clusterRoomW: Math.min(...[...location.clusterShares.values()].map(({ roomW }) => roomW)),
    raisesToW: Math.min(lowestW, ...[...location.clusterShares.values()].map(({ raisesToW }) => raisesToW)),
    isClusterBound: lowest.cause.kind === 'clusterShare',
    lowestW: wattsOfLimit(lowestEver(location, now).limitKw),
    lowestOwnW: wattsOfLimit(lowestEver({ ...location, clusterShares: NO_SHARES }, now).limitKw),
    building: location.buildingOnPhases,
    isLockNear(key) {
      const lockStack = connectors.get(key)?.getSnapshot().context.stack;
      return lockStack !== undefined && beginsWithin(lockStack, now, untilInstant);
    },
  };
}

/** The lowest share among a location's clusters, W; infinite if the location is in no cluster. */
export function leastShareWOf(clusterShares: ReadonlyMap<string, GrantedShare>): number {
  return Math.min(...[...clusterShares.values()].map(({ shareW }) => shareW));
}

/** The next start or end of a profile window, or the end of the billed window. */
function nextChangeAfter({ stack, peakShaving }: LimitedLocation, atMs: EpochMs): EpochMs | undefined {
  const boundary = nextBoundaryAfter(stack, atMs);
  if (peakShaving === undefined || peakShaving.endsAtMs <= atMs) return boundary;
  return Math.min(boundary ?? Number.POSITIVE_INFINITY, peakShaving.endsAtMs);
}

/** The limit in force for another profile and permanent limit; all other limits stay as they are now. */
function limitWith(
  { clusterShares, operatorLimitKw, peakShavingKw, connectionLimitKw, buildingLeavesKw }: LimitParts,
  activeProfile: LimitProfile | undefined,
  permanentLimitKw: number,
): LimitInForce {
  return limitInForce({
    activeProfile,
    permanentLimitKw,
    clusterShares,
    operatorLimitKw,
    peakShavingKw,
    connectionLimitKw,
    buildingLeavesKw,
  });
}

const NO_SHARES: LimitedLocation['clusterShares'] = new Map();

/**
 * The lowest known limit, now or later, under the current shares and operator limit. The building load counts at its
 * maximum.
 */
function lowestEver(location: LimitedLocation, now: EpochMs): LimitInForce {
  let lowestKw = location.permanentLimitKw;
  for (const profile of location.stack) {
    if (statusAt(profile, now) !== 'EXPIRED') lowestKw = Math.min(lowestKw, profile.limitKw);
  }
  const { buildingLeavesAtLeastKw: buildingLeavesKw, peakShavingAtLeastKw } = location;
  const peakShavingKw =
    peakShavingAtLeastKw && Math.min(peakShavingAtLeastKw, location.peakShavingKw ?? peakShavingAtLeastKw);
  return limitWith({ ...location, buildingLeavesKw, peakShavingKw }, undefined, lowestKw);
}

function beginsWithin(stack: ProfileStack, now: EpochMs, until: EpochMs): boolean {
  for (const { startsAtMs } of stack) if (startsAtMs > now && startsAtMs <= until) return true;
  return false;
}
