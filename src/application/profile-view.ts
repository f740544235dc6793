// Converts profiles between requests, the domain and answers.

import { type ProfileHolder, statusOf } from '../../machines/limits/profile.machine.js';
import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import { DomainError } from '../../machines/values/errors.js';
import type { EpochMs, ProfileStatus, TimeWindow } from '../../machines/values/time.js';
import { fromInstant, toInstant } from '../wire/instants.js';
import type { ProfileRequest, ProfileView } from '../wire/rest.js';

/**
 * Checks the window against `now` (contract section 2.1).
 * @throws DomainError INVALID_REQUEST_BODY naming `endTime`
 */
export function profileOf(request: ProfileRequest, now: EpochMs): LimitProfile {
  const window = { startsAtMs: fromInstant(request.startTime), endsAtMs: fromInstant(request.endTime) };
  const broken = brokenWindowRule(window, now, 'startTime');
  if (broken !== undefined) throw new DomainError('INVALID_REQUEST_BODY', `endTime: ${broken}`);
  return { priority: request.priority, limitKw: request.limitKw, ...window };
}

/** The rule for its end that the window breaks; undefined if the profile can be submitted. */
export function brokenWindowRule(
  { startsAtMs, endsAtMs }: TimeWindow,
  now: EpochMs,
  startName: string,
): string | undefined {
  if (endsAtMs <= startsAtMs) return `must be after ${startName}`;
  return endsAtMs <= now ? 'must be in the future' : undefined;
}

export function viewOfProfile(profile: LimitProfile, status: ProfileStatus): ProfileView {
  return {
    priority: profile.priority,
    limitKw: profile.limitKw,
    startTime: toInstant(profile.startsAtMs),
    endTime: toInstant(profile.endsAtMs),
    status,
  };
}

/** Each profile with the status of its actor. */
export function viewsOfProfiles(holder: ProfileHolder): ProfileView[] {
  return holder.stack.map((profile) => viewOfProfile(profile, statusOf(holder, profile)));
}
