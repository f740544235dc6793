// A location's own limits: as they are, or as a caller assumes them to ask what would follow.
import type { OwnLimits } from '../../machines/limits/limit-in-force.js';
import { operatorOutlookOf } from '../../machines/limits/operator.machine.js';
import { siteMeterOutlookOf } from '../../machines/limits/site-meter.machine.js';
import type { LocationEntity } from '../actors/entities.js';

/** That `location` has these limits; all others have what they have. */
export interface Assumption extends OwnLimits {
  readonly location: LocationEntity;
}

export function ownLimitsOf(location: LocationEntity, assumption?: Assumption): OwnLimits {
  if (assumption?.location === location) return assumption;
  const { context } = location.actor.getSnapshot();
  const { operator, siteMeter } = context;
  return {
    ...context,
    operatorLimit: operator && operatorOutlookOf(operator),
    buildingLeaves: siteMeter && siteMeterOutlookOf(siteMeter),
  };
}
