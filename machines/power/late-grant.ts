// A grant that waited for the disk: whether it may leave still.
import { isLocked } from './connector-control.js';
import type { DecidedGrant } from './grant-issuer.js';
import { addsNothing } from './ledger-room.js';
import { isLending } from './lent-phases.js';
import type { LocationSupervisor } from './location-supervisor.js';

/** No other was decided since, nor has the session ended that it is for. */
export function isNewest({ control, grant: { seq, lent } }: DecidedGrant): boolean {
  if (control.holding.lastSeq !== seq) return false;
  return lent === undefined || (isLending(control) && lent.session === control.session.id);
}

/**
 * It is the minimum of a lock, or there is room for it, or it adds nothing: what it was to prolong may have ended meanwhile, and its
 * charger have followed that.
 */
export function fitsStill(
  { control, grant: { limitTenthsA } }: DecidedGrant,
  { ledger, budgetW }: Pick<LocationSupervisor, 'ledger' | 'budgetW'>,
  nowMs: number,
): boolean {
  const { holding } = control;
  const isFloor = isLocked(control) && limitTenthsA <= holding.leastTenthsA;
  return isFloor || ledger.totalW <= budgetW || addsNothing(holding, nowMs);
}
