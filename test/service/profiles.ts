// Limit profile requests relative to now.
import { systemClock } from '../../src/clock.js';
import type { ProfileRequest } from '../../src/features/profiles/contract.js';
import { toInstant } from '../../src/wire/instants.js';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

interface Span {
  readonly startsInMs?: number;
  readonly endsInMs?: number;
  readonly limitKw?: number;
  readonly priority?: number;
}

/** A profile request whose window is relative to `now`: active for an hour by default. */
export function profileAt(now: number, span: Span = {}): ProfileRequest {
  const { startsInMs = -MINUTE_MS, endsInMs = HOUR_MS, limitKw = 11, priority = 0 } = span;
  return { startTime: toInstant(now + startsInMs), endTime: toInstant(now + endsInMs), limitKw, priority };
}

/** A profile request relative to this machine's now. */
export function profile(span: Span = {}): ProfileRequest {
  return profileAt(systemClock.nowMs(), span);
}

/** The same without a priority, which the contract makes optional. */
export function profileWithoutPriority(span: Span = {}): Omit<ProfileRequest, 'priority'> {
  const { startTime, endTime, limitKw } = profile(span);
  return { startTime, endTime, limitKw };
}
