// What a location may use from now to the end of the longest lease that could be given now: rule 3, looking ahead.
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

/** What a location may use, from its profiles, its cluster shares and the wall clock. Whole W. */
export interface Budget {
  /** The lowest limit in force from now to the end of the longest lease that could be given now (rule 3). */
  readonly budgetW: number;
  /** The limit in force now. */
  readonly limitW: number;
  /** From when on, on the monotonic clock, there is less than `limitW`: a lower limit is known to begin; now where none is. */
  readonly bindsFromMs: number;
  /** Somebody has set what binds, a grid operator too: it falls in steps, and chargers have a moment to follow. */
  readonly isOrdered: boolean;
  /** The same of the limit in force now, which is another where a lower one is known to begin. */
  readonly isLimitOrdered: boolean;
  /** Until when, on the monotonic clock, `budgetW` holds. */
  readonly untilMs: number;
  /** What the grid operator lets the location use, W; infinite where it does not limit it. */
  readonly operatorW: number;
  /** The least that a cluster leaves it, W; infinite where no cluster binds it. */
  readonly clusterShareW: number;
  /**
   * What its clusters have room for, W, where the minimum of its locks is more than its shares; infinite where no cluster binds it.
   */
  readonly clusterRoomW: number;
  /** Up to where limits may be raised now, W: less than `budgetW` while members of its clusters are entitled to more than their shares. */
  readonly raisesToW: number;
  /** A cluster's share is what binds. */
  readonly isClusterBound: boolean;
  /** The lowest limit known of, now or later: whether fail-safes fit is decided by it. */
  readonly lowestW: number;
  /** The lowest limit known of the location itself, W: shares of clusters do not count. */
  readonly lowestOwnW: number;
  /** What the building takes of each phase of the connection, and what it may take, tenths of an ampere; else undefined. */
  readonly building?: BuildingOnPhases | undefined;
  /** Whether a lock begins before the longest lease that could be given now has ended. */
  isLockNear(key: string): boolean;
}

/** What the building beside the chargers takes of each phase of the connection, tenths of an ampere of L1, L2 and L3. */
export interface BuildingOnPhases {
  readonly nowTenthsA: readonly number[];
  /** While its meter cannot be relied upon. */
  readonly mostTenthsA: readonly number[];
}

/** A location as far as it limits what its connectors may use. */
export interface LimitedLocation extends LimitParts {
  readonly stack: ProfileStack;
  /** What each cluster that binds it lets it use, by cluster id. */
  readonly clusterShares: ReadonlyMap<string, GrantedShare>;
  /** As of the last event. */
  readonly limit: LimitInForce;
  /** The least that the building ever leaves of the connection, kW; undefined where no meter tells what it leaves. */
  readonly buildingLeavesAtLeastKw: number | undefined;
  /** What the average that the tariff bills leaves now, and in the windows after this; undefined where none is limited. */
  readonly peakShaving: LimitOutlook | undefined;
  /** The least that it leaves in a window that begins. */
  readonly peakShavingAtLeastKw: number | undefined;
  readonly buildingOnPhases: BuildingOnPhases | undefined;
  readonly connectors: ReadonlyMap<string, ConnectorActor>;
}

const ORDERED: ReadonlySet<LimitInForce['cause']['kind']> = new Set([
  'permanentLimit',
  'profile',
  'operatorLimit',
]);

/** One instant on both clocks, ms: `now` of the wall clock, `nowMs` of the monotonic one. */
export interface Instant {
  readonly now: EpochMs;
  readonly nowMs: number;
}

/** @param horizonMs how far a lease that is given now reaches. */
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
    // From then on the boundary behind the horizon is inside it.
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

/** The least that any of its clusters leaves a location, W; infinite where it is in none. */
export function leastShareWOf(clusterShares: ReadonlyMap<string, GrantedShare>): number {
  return Math.min(...[...clusterShares.values()].map(({ shareW }) => shareW));
}

/** When a window of a profile begins or ends next, or the one that the tariff bills ends. */
function nextChangeAfter({ stack, peakShaving }: LimitedLocation, atMs: EpochMs): EpochMs | undefined {
  const boundary = nextBoundaryAfter(stack, atMs);
  if (peakShaving === undefined || peakShaving.endsAtMs <= atMs) return boundary;
  return Math.min(boundary ?? Number.POSITIVE_INFINITY, peakShaving.endsAtMs);
}

/** The limit in force with another profile and permanent limit, under everything else as of now. */
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

/** The lowest limit known of, now or later, under the shares and the operator's limit of now; the building may rise. */
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
