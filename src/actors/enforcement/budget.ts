// What a location may use from now to the end of the longest lease that could be given now: rule 3, looking ahead.
import type { LocationContext } from '../../../machines/location.machine.js';
import type { Budget } from '../../../machines/location-supervisor.js';
import { effectiveLimitKwAt, nextBoundaryAfter, type ProfileStack } from '../../../machines/profile-stack.js';
import { type EpochMs, statusAt } from '../../../machines/time.js';
import { wattsOfLimit } from '../../../machines/units.js';

/** Both clocks at one instant, and how far a lease reaches, ms. */
export interface Horizon {
  readonly now: EpochMs;
  readonly monotonicMs: number;
  readonly horizonMs: number;
}

/** @param shareW the smallest share that its clusters have granted; undefined where none binds it. */
export function budgetOf(context: LocationContext, shareW: number | undefined, horizon: Horizon): Budget {
  const { now, monotonicMs, horizonMs } = horizon;
  const { stack, permanentLimitKw, connectionLimitKw, connectors } = context;
  const untilInstant = now + horizonMs;
  const standingW = Math.min(
    shareW ?? Number.POSITIVE_INFINITY,
    wattsOfLimit(connectionLimitKw ?? Number.MAX_VALUE),
  );
  const limitAtW = (instant: EpochMs) => wattsOfLimit(effectiveLimitKwAt(stack, permanentLimitKw, instant));
  const ownW = limitAtW(now);
  let aheadW = ownW;
  let boundary = nextBoundaryAfter(stack, now);
  while (boundary !== undefined && boundary <= untilInstant) {
    aheadW = Math.min(aheadW, limitAtW(boundary));
    boundary = nextBoundaryAfter(stack, boundary);
  }
  return {
    budgetW: Math.min(aheadW, standingW),
    limitW: Math.min(ownW, standingW),
    // From then on the boundary behind the horizon is inside it.
    untilMs: boundary === undefined ? Number.POSITIVE_INFINITY : monotonicMs + (boundary - untilInstant),
    // Of equals the location's own limit is named, as in its live view: a share of scale 1 binds nobody.
    isClusterBound: shareW !== undefined && shareW < aheadW && shareW <= standingW,
    lowestW: Math.min(lowestEverW(context, now), standingW),
    isLockNear(key) {
      const lockStack = connectors.get(key)?.getSnapshot().context.stack;
      return lockStack !== undefined && beginsWithin(lockStack, now, untilInstant);
    },
  };
}

function lowestEverW({ stack, permanentLimitKw }: LocationContext, now: EpochMs): number {
  let lowestKw = permanentLimitKw;
  for (const profile of stack) {
    if (statusAt(profile, now) !== 'EXPIRED') lowestKw = Math.min(lowestKw, profile.limitKw);
  }
  return wattsOfLimit(lowestKw);
}

function beginsWithin(stack: ProfileStack, now: EpochMs, until: EpochMs): boolean {
  for (const { startsAtMs } of stack) if (startsAtMs > now && startsAtMs <= until) return true;
  return false;
}
