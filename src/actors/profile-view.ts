// Between the profile of a request, the profile of the domain, and the profile of an answer.
import { DomainError } from '../../machines/errors.js';
import type { LimitProfile } from '../../machines/profile-stack.js';
import { type EpochMs, statusAt } from '../../machines/time.js';
import { fromInstant, type ProfileRequest, type ProfileView, toInstant } from '../wire/rest.js';

/**
 * The profile a request asks for, its window checked against `now` (section 2.1).
 * @throws DomainError INVALID_REQUEST_BODY naming `endTime`
 */
export function profileOf(request: ProfileRequest, now: EpochMs): LimitProfile {
  const startsAtMs = fromInstant(request.startTime);
  const endsAtMs = fromInstant(request.endTime);
  if (endsAtMs <= startsAtMs)
    throw new DomainError('INVALID_REQUEST_BODY', 'endTime: must be after startTime');
  if (endsAtMs <= now) throw new DomainError('INVALID_REQUEST_BODY', 'endTime: must be in the future');
  return { priority: request.priority, limitKw: request.limitKw, startsAtMs, endsAtMs };
}

/** The profile as answers show it, with its status at `now`. */
export function viewOfProfile(profile: LimitProfile, now: EpochMs): ProfileView {
  return {
    priority: profile.priority,
    limitKw: profile.limitKw,
    startTime: toInstant(profile.startsAtMs),
    endTime: toInstant(profile.endsAtMs),
    status: statusAt(profile, now),
  };
}
