// Start of the next page of a long answer: text for use by the issuing endpoint alone.
import type { DomainError } from '../../machines/values/errors.js';
import { wrongParameter } from '../wire/plain-errors.js';

/** A place among alarms, newest first: `skip` alarms that began at `beganAtMs` were already returned. */
export interface AlarmPlace {
  readonly beganAtMs: number;
  readonly skip: number;
}

const OFFSET = /^\d{1,9}$/;
const ALARM_PLACE = /^(-?\d{1,15})-(\d{1,6})$/;

/** Number of rows that were already returned; 0 without a cursor. @throws DomainError INVALID_REQUEST_BODY */
export function offsetOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (!OFFSET.test(cursor)) throw unknownCursor();
  return Number(cursor);
}

/** Undefined without a cursor. @throws DomainError INVALID_REQUEST_BODY */
export function alarmPlaceOf(cursor: string | undefined): AlarmPlace | undefined {
  if (cursor === undefined) return undefined;
  const [, beganAtMs, skip] = ALARM_PLACE.exec(cursor) ?? [];
  if (beganAtMs === undefined || skip === undefined) throw unknownCursor();
  return { beganAtMs: Number(beganAtMs), skip: Number(skip) };
}

export function alarmCursorOf({ beganAtMs, skip }: AlarmPlace): string {
  return `${beganAtMs}-${skip}`;
}

export function unknownCursor(): DomainError {
  return wrongParameter('cursor', 'must be a nextCursor of this endpoint; leave it out for the first page');
}
