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
 * It adds nothing, or its fuses carry it and there is room for it, which the minimum of a lock needs none of. What it was to prolong may
 * have ended meanwhile, and its charger have followed that.
 */
export function fitsStill(
  { control, grant: { limitTenthsA, thenTenthsA } }: DecidedGrant,
  { ledger, budgetW }: Pick<LocationSupervisor, 'ledger' | 'budgetW'>,
  nowMs: number,
): boolean {
  const { holding } = control;
  const mostTenthsA = Math.max(limitTenthsA, thenTenthsA);
  const isFloor = isLocked(control) && mostTenthsA <= holding.leastTenthsA;
  const isRoom = isFloor || ledger.totalW <= budgetW;
  return (isRoom && mostTenthsA <= ledger.carriableTenthsA(holding)) || addsNothing(holding, nowMs);
}
