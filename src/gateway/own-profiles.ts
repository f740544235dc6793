// Ids of the charging profiles that a gateway sets, in every version of OCPP.
import type { ProfileSlot } from '../../machines/session/gateway-request.js';

/** Nobody else assigns ids from here on. */
const FIRST_PROFILE_ID = 774_000_000;
const SLOTS: readonly ProfileSlot[] = ['failsafe', 'default', 'transaction'];
/** Start of a schedule without end: before any clock of a charger. */
export const ALWAYS = '1970-01-01T00:00:00.000Z';

export function isOwnProfileId(id: number): boolean {
  return id >= FIRST_PROFILE_ID && id < FIRST_PROFILE_ID + 1_000_000;
}

export function profileIdOf(evse: number, slot: ProfileSlot): number {
  return FIRST_PROFILE_ID + 10 * evse + SLOTS.indexOf(slot);
}

/** A whole second of the charger's own clock, rounded down. */
export function startOf(ownMs: number): string {
  return new Date(1000 * Math.floor(ownMs / 1000)).toISOString();
}
