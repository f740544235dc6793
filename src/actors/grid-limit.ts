// The limit a location is held to, and which rule sets it: its own stack, a cluster, or the physical connection.
import { activeProfileAt, type LimitProfile } from '../../machines/profile-stack.js';
import type { EpochMs } from '../../machines/time.js';
import type { GridLimitCause } from '../wire/operator-locations.js';
import { toInstant } from '../wire/rest.js';
import type { LocationEntity } from './entities.js';

export interface GridLimit {
  readonly limitKw: number;
  readonly cause: GridLimitCause;
}

/**
 * The grid limit at `now`, kW: exact for the location's own stack, whatever a timer did; the shares are those in force.
 * Where several are equal, the location's own comes first, then a cluster's.
 */
export function gridLimitOf(location: LocationEntity, now: EpochMs): GridLimit {
  const { stack, permanentLimitKw, clusterSharesKw } = location.actor.getSnapshot().context;
  const active = activeProfileAt(stack, now);
  let least: GridLimit = { limitKw: active?.limitKw ?? permanentLimitKw, cause: causeOf(active) };
  for (const [clusterId, shareKw] of clusterSharesKw) {
    if (shareKw < least.limitKw) least = { limitKw: shareKw, cause: { kind: 'clusterShare', clusterId } };
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
