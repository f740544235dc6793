// Between the profile of a request, the profile of the domain, and the profile of an answer.

import { type ProfileHolder, statusOf } from '../../machines/limits/profile-holder.js';
import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import { DomainError } from '../../machines/values/errors.js';
import type { EpochMs, ProfileStatus } from '../../machines/values/time.js';
import { fromInstant, toInstant } from '../wire/instants.js';
import type { ProfileRequest, ProfileView } from '../wire/rest.js';

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

/** The profile as answers show it. */
export function viewOfProfile(profile: LimitProfile, status: ProfileStatus): ProfileView {
  return {
    priority: profile.priority,
    limitKw: profile.limitKw,
    startTime: toInstant(profile.startsAtMs),
    endTime: toInstant(profile.endsAtMs),
    status,
  };
}

/** The profiles of a stack as answers show them, each with the status its actor has. */
export function viewsOfProfiles(holder: ProfileHolder): ProfileView[] {
  return holder.stack.map((profile) => viewOfProfile(profile, statusOf(holder, profile)));
}
