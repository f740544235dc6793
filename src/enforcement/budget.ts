// What a location may use from now to the end of the longest lease that could be given now: rule 3, looking ahead.
import { type LimitInForce, limitInForce } from '../../machines/limits/limit-in-force.js';
import {
  activeProfileAt,
  nextBoundaryAfter,
  type ProfileStack,
} from '../../machines/limits/profile-stack.js';
import { type LocationContext, partsOf } from '../../machines/power/location.machine.js';
import type { Budget } from '../../machines/power/location-supervisor.js';
import { type EpochMs, statusAt } from '../../machines/values/time.js';
import { wattsOfLimit } from '../../machines/values/units.js';

/** Both clocks at one instant, and how far a lease reaches, ms. */
export interface Horizon {
  readonly now: EpochMs;
  readonly monotonicMs: number;
  readonly horizonMs: number;
}

export function budgetOf(context: LocationContext, horizon: Horizon): Budget {
  const { now, monotonicMs, horizonMs } = horizon;
  const { stack, limit, connectors } = context;
  const untilInstant = now + horizonMs;
  const limitW = wattsOfLimit(limit.limitKw);
  let [lowest, lowestW] = [limit, limitW];
  let boundary = nextBoundaryAfter(stack, now);
  while (boundary !== undefined && boundary <= untilInstant) {
    const ahead = limitInForce({ ...partsOf(context), profile: activeProfileAt(stack, boundary) });
    if (wattsOfLimit(ahead.limitKw) < lowestW) [lowest, lowestW] = [ahead, wattsOfLimit(ahead.limitKw)];
    boundary = nextBoundaryAfter(stack, boundary);
  }
  return {
    budgetW: lowestW,
    limitW,
    // From then on the boundary behind the horizon is inside it.
    untilMs: boundary === undefined ? Number.POSITIVE_INFINITY : monotonicMs + (boundary - untilInstant),
    isClusterBound: lowest.cause.kind === 'clusterShare',
    lowestW: wattsOfLimit(lowestEver(context, now).limitKw),
    isLockNear(key) {
      const lockStack = connectors.get(key)?.getSnapshot().context.stack;
      return lockStack !== undefined && beginsWithin(lockStack, now, untilInstant);
    },
  };
}

/** The lowest limit known of, now or later, under the shares and the connection of now. */
function lowestEver(context: LocationContext, now: EpochMs): LimitInForce {
  const { stack, permanentLimitKw } = context;
  let lowestKw = permanentLimitKw;
  for (const profile of stack) {
    if (statusAt(profile, now) !== 'EXPIRED') lowestKw = Math.min(lowestKw, profile.limitKw);
  }
  return limitInForce({ ...partsOf(context), profile: undefined, permanentLimitKw: lowestKw });
}

function beginsWithin(stack: ProfileStack, now: EpochMs, until: EpochMs): boolean {
  for (const { startsAtMs } of stack) if (startsAtMs > now && startsAtMs <= until) return true;
  return false;
}
