// Checks of a grant that has been stored: it may leave only if it is still current and still fits.
import { isLocked } from './connector-control.js';
import type { DecidedGrant } from './grant-issuer.js';
import { addsNothing } from './ledger-capacity.js';
import type { LocationSupervisor } from './location-supervisor.js';
import { isReallocating } from './reallocated-phases.js';

/** No newer grant was decided, and the grant's session has not ended. */
export function isNewest({ control, grant: { seq, reallocated } }: DecidedGrant): boolean {
  if (control.account.lastSeq !== seq) return false;
  return reallocated === undefined || (isReallocating(control) && reallocated.session === control.session.id);
}

/**
 * The grant adds nothing, or it fits its fuses and the budget. The minimum of a lock needs no budget. The grant that it
 * was to extend may have ended meanwhile, and its charger may have followed that.
 */
export function fitsStill(
  { control, grant: { limitTenthsA, thenTenthsA } }: DecidedGrant,
  { ledger, budgetW }: Pick<LocationSupervisor, 'ledger' | 'budgetW'>,
  nowMs: number,
): boolean {
  const { account } = control;
  const mostTenthsA = Math.max(limitTenthsA, thenTenthsA);
  const isFloor = isLocked(control) && mostTenthsA <= account.leastTenthsA;
  const isRoom = isFloor || ledger.totalW <= budgetW;
  return (isRoom && mostTenthsA <= ledger.carriableTenthsA(account)) || addsNothing(account, nowMs);
}
