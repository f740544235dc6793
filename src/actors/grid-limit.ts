// The limit a location is held to, and which rule sets it: its own stack, a cluster, or the physical connection.
import { activeProfileAt, type LimitProfile } from '../../machines/profile-stack.js';
import type { EpochMs } from '../../machines/time.js';
import { wattsOfLimit } from '../../machines/units.js';
import type { GridLimitCause } from '../wire/operator-locations.js';
import { toInstant } from '../wire/rest.js';
import type { LocationEntity } from './entities.js';

export interface GridLimit {
  readonly limitKw: number;
  readonly cause: GridLimitCause;
}

/**
 * The grid limit at `now`, kW: exact for the location's own stack, whatever a timer did; of a cluster's share, what was
 * granted so far. Where several are equal, the location's own comes first, then a cluster's.
 */
export function gridLimitOf(location: LocationEntity, now: EpochMs): GridLimit {
  const { stack, permanentLimitKw } = location.actor.getSnapshot().context;
  const active = activeProfileAt(stack, now);
  const limitKw = active?.limitKw ?? permanentLimitKw;
  let least: GridLimit = { limitKw, cause: causeOf(active) };
  // Shares are whole watts: one that is the whole of the location's own limit takes nothing from it.
  let leastW = wattsOfLimit(limitKw);
  for (const [clusterId, { shareW }] of location.enforcement.shares) {
    if (shareW >= leastW) continue;
    leastW = shareW;
    least = { limitKw: shareW / 1000, cause: { kind: 'clusterShare', clusterId } };
  }
  return underConnection(location, least);
}

/** What the location's own profile, or its permanent limit where there is none, is called. */
export function causeOf(profile: LimitProfile | undefined): GridLimitCause {
  if (profile === undefined) return { kind: 'permanentLimit' };
  return {
    kind: 'profile',
    priority: profile.priority,
    startTime: toInstant(profile.startsAtMs),
    endTime: toInstant(profile.endsAtMs),
  };
}

/** The physical connection instead, where it is the tighter one. */
export function underConnection(location: LocationEntity, limit: GridLimit): GridLimit {
  const { gridLimitKw } = location.record;
  if (gridLimitKw === null || gridLimitKw >= limit.limitKw) return limit;
  return { limitKw: gridLimitKw, cause: { kind: 'physicalConnection' } };
}
