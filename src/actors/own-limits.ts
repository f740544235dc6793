// A location's own limits: as they are, or as a caller assumes them to ask what would follow.
import type { ProfileStack } from '../../machines/profile-stack.js';
import type { LocationEntity } from './entities.js';

/** The profiles of a location and the limit where none is active, kW. */
export interface OwnLimits {
  readonly stack: ProfileStack;
  readonly permanentLimitKw: number;
}

/** That `location` has these limits; all others have what they have. */
export interface Assumption extends OwnLimits {
  readonly location: LocationEntity;
}

export function ownLimitsOf(location: LocationEntity, assumption?: Assumption): OwnLimits {
  return assumption?.location === location ? assumption : location.actor.getSnapshot().context;
}
